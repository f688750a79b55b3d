"""One request and its answer over an open connection, whatever that runs through."""

from __future__ import annotations

from collections.abc import Callable

from specmon.sources.tls import Reader, TlsCheck, TlsStream, Writer

READ_BYTES = 65536

IsWhole = Callable[[bytes | bytearray], bool]


async def converse(
    reader: Reader,
    writer: Writer,
    request: bytes,
    answer: bytearray,
    *,
    is_whole: IsWhole,
    limit_bytes: int,
    tls: TlsCheck | None = None,
) -> None:
    """Send bytes and read into `answer` until it is whole, at its end or too long; nothing is sent to a stranger."""
    if tls is not None:
        stream = TlsStream(reader, writer, tls)
        await stream.begin()
        reader = writer = stream
    writer.write(request)
    while len(answer) < limit_bytes and not is_whole(answer):
        if not (part := await reader.read(READ_BYTES)):
            break
        answer += part
