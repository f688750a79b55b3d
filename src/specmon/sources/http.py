"""As much of HTTP/1.1 as a question to one of a server's pages needs: pure, bytes in and out."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: [^\r\n]*)?\r\n")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*\bchunked[ \t]*\r\n", re.IGNORECASE)
_PACKED = re.compile(rb"\r\ncontent-encoding:[ \t]*([^\r\n]*?)[ \t]*\r\n", re.IGNORECASE)
# Digits alone: int() would also take a sign, and a chunk of less than nothing goes back instead of on.
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\r\n]{0,256})?\r\n")
_LONGEST_CHUNK_LINE = 280  # bytes, what `_CHUNK` matches at most
_LONGEST_HEAD = 1 << 16  # bytes
_MOST_UNPACKED = 16 << 20  # bytes; a page that gets longer is refused by whoever reads it

Data = bytes | bytearray


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response: its status and its body, as far as it came."""

    status: int
    body: bytes
    is_whole: bool  # all that was announced is here; False too where the end of the connection is the end
    is_cut: bool = False  # more was announced than came
    fault: str = ""  # why the body cannot be used, as "is packed as br"


def get(
    path: str, host: str, port: int, *, accept: str = "application/json", authorization: str | None = None
) -> bytes:
    """The request for a page. `authorization` is a whole header value, and printable ASCII."""
    name = f"[{host}]" if ":" in host else host
    key = "" if authorization is None else f"Authorization: {authorization}\r\n"
    return (
        f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nAccept: {accept}\r\nAccept-Encoding: identity\r\n"
        f"User-Agent: specmon\r\n{key}Connection: close\r\n\r\n"
    ).encode("ascii", "replace")


def read_answer(data: Data) -> HttpAnswer | None:
    """The response in what came so far; None while (or because) its head is not there."""
    if (status := _STATUS.match(data)) is None or (end := data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)) < 0:
        return None
    head, body = bytes(data[: end + 2]), bytes(data[end + 4 :])
    number = int(status[1])
    if _CHUNKED.search(head):
        body, is_whole, fault = _join_chunks(body)
        answer = HttpAnswer(number, body, is_whole, not is_whole, fault)
    elif length := _LENGTH.search(head):
        size = int(length[1])
        is_whole = len(body) >= size
        answer = HttpAnswer(number, body[:size], is_whole, not is_whole)
    else:
        answer = HttpAnswer(number, body, False)  # it ends with the connection
    packing = _PACKED.search(head)
    if packing is None or answer.fault or (name := packing[1].lower()) in (b"", b"identity"):
        return answer
    return _unpacked(answer, name)


class AnswerEnd:
    """Whether nothing more can belong to the response that comes in piece by piece: one of these for each response.

    It remembers how far it has looked, so that a page in a million small chunks costs no more than its bytes.
    """

    def __init__(self) -> None:
        self._position = -1  # behind the last chunk that was seen; -1: the head is not there yet
        self._size: int | None = None  # of the whole response, where the head tells
        self._is_chunked = False

    def __call__(self, data: Data) -> bool:
        """With all that came so far."""
        if self._position < 0:
            end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
            if _STATUS.match(data[:_LONGEST_HEAD]) is None or end < 0:
                return len(data) >= _LONGEST_HEAD  # that is no answer, and never will be
            head = bytes(data[: end + 2])
            self._position = end + 4
            self._is_chunked = _CHUNKED.search(head) is not None
            if (length := _LENGTH.search(head)) is not None:
                self._size = end + 4 + int(length[1])
        if self._is_chunked:
            return self._have_chunks_ended(data)
        return self._size is not None and len(data) >= self._size

    def _have_chunks_ended(self, data: Data) -> bool:
        while (chunk := _CHUNK.match(data, self._position)) is not None:
            size = int(chunk[1], 16)
            if size == 0:
                return True
            self._position = chunk.end() + size + 2
        # What cannot become a chunk's line any more is the end as well: nobody knows how to read on.
        return len(data) - self._position >= _LONGEST_CHUNK_LINE


def _join_chunks(body: bytes) -> tuple[bytes, bool, str]:
    """The body, whether its last chunk is there, and what is wrong with it."""
    parts: list[bytes] = []
    position = 0
    while (chunk := _CHUNK.match(body, position)) is not None:
        size = int(chunk[1], 16)
        if size == 0:
            return b"".join(parts), True, ""
        parts.append(body[chunk.end() : chunk.end() + size])
        position = chunk.end() + size + 2
    rest = body[position : position + _LONGEST_CHUNK_LINE]
    is_no_line = len(rest) == _LONGEST_CHUNK_LINE or b"\n" in rest
    return b"".join(parts), False, "comes in chunks of no readable size" if is_no_line else ""


def _unpacked(answer: HttpAnswer, name: bytes) -> HttpAnswer:
    """The body of a proxy that packs though it was asked not to."""
    if name not in (b"gzip", b"x-gzip", b"deflate"):
        told = name[:20].decode("ascii", "replace")
        return HttpAnswer(answer.status, b"", answer.is_whole, answer.is_cut, f"is packed as {told}")
    unpacker = zlib.decompressobj(47 if name != b"deflate" else 15)  # 47: the head of gzip or zlib
    try:
        body = unpacker.decompress(answer.body, _MOST_UNPACKED)
    except zlib.error:
        return HttpAnswer(answer.status, b"", answer.is_whole, answer.is_cut, "is packed and damaged")
    is_cut = answer.is_cut or not (unpacker.eof or unpacker.unconsumed_tail)
    return HttpAnswer(answer.status, body, answer.is_whole, is_cut)
