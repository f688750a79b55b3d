"""One page over HTTP, made anew for whoever asks: what a scraper needs, and nothing that a stranger could use.

h11 reads and writes the protocol. A connection carries one request, has a few seconds for it, and there are only so
many at a time, so that clients that never finish hold nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import h11

from specmon.sources.loopback import is_loopback, is_own_name

_PATIENCE_S = 10.0
_MOST_CONNECTIONS = 64
_MOST_HEADER_BYTES = 16_384
_READ_BYTES = 4096

Page = Callable[[str], tuple[bytes, str]]  # from an Accept header to the body and its type


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    more: tuple[tuple[str, str], ...] = ()


@asynccontextmanager
async def serving(page: Page, *, path: str, host: str, port: int) -> AsyncIterator[int]:
    """Serve `page` under `path` while the context lasts; the port is handed out, which matters for port 0.

    Raises OSError when the address cannot be had.
    """
    door = _Door(page, path, host)
    server = await asyncio.start_server(door.answer, host, port, limit=_MOST_HEADER_BYTES)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        door.close()


class _Door:
    """Answers every connection of one server."""

    def __init__(self, page: Page, path: str, host: str) -> None:
        self._page = page
        self._path = path
        self._host = host
        self._tasks: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its end."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, h11.LocalProtocolError):
                async with asyncio.timeout(_PATIENCE_S):
                    await self._talk(reader, writer)
        finally:
            self._tasks.discard(task)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # nobody reads it
            else:
                writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEADER_BYTES)
        try:
            request = await _request(connection, reader)
        except h11.RemoteProtocolError as error:
            status = HTTPStatus(error.error_status_hint)
            request, answer = None, _Answer(status, f"{status.phrase}.\n".encode())
        else:
            if request is None:
                return
            answer = self._answer_to(request)
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("Connection", "close"),
            ("X-Content-Type-Options", "nosniff"),
            *answer.more,
        ]
        head = h11.Response(status_code=answer.status, headers=headers, reason=answer.status.phrase)
        writer.write(connection.send(head) or b"")
        if request is None or request.method != b"HEAD":
            writer.write(connection.send(h11.Data(data=answer.body)) or b"")
        await writer.drain()
        writer.write_eof()
        # Who closes with bytes unread resets the connection, and the answer may be lost with it.
        while await reader.read(_READ_BYTES):
            pass

    def _answer_to(self, request: h11.Request) -> _Answer:
        headers = {bytes(name): bytes(value).decode("latin-1") for name, value in request.headers}
        if is_loopback(self._host) and not is_own_name(headers.get(b"host", "")):
            return _Answer(HTTPStatus.FORBIDDEN, b"specmon answers only under the names of this machine.\n")
        if request.method not in (b"GET", b"HEAD"):
            return _Answer(HTTPStatus.METHOD_NOT_ALLOWED, b"Only GET.\n", more=(("Allow", "GET, HEAD"),))
        target = bytes(request.target).partition(b"?")[0]
        if target != self._path.encode():
            return _Answer(HTTPStatus.NOT_FOUND, f"The figures are under {self._path}\n".encode())
        body, content_type = self._page(headers.get(b"accept", ""))
        return _Answer(HTTPStatus.OK, body, content_type)


async def _request(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """The head of the first request; None when the other side has gone before it was whole."""
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(_READ_BYTES))
    return event if isinstance(event, h11.Request) else None
