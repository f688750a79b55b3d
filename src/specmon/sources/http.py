"""As much of HTTP/1.1 as a question to one of a server's pages needs: pure, bytes in and out."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: [^\r\n]*)?\r\n")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,9}) *\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked *\r\n", re.IGNORECASE)
_LONGEST_LINE = 64  # of a chunk's size


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A response: its status and its body, as far as it came."""

    status: int
    body: bytes
    is_whole: bool


def get(path: str, host: str, port: int, *, accept: str = "application/json") -> bytes:
    """The request for a page. No key is ever sent."""
    name = f"[{host}]" if ":" in host else host
    return (
        f"GET {path} HTTP/1.1\r\nHost: {name}:{port}\r\nAccept: {accept}\r\n"
        "User-Agent: specmon\r\nConnection: close\r\n\r\n"
    ).encode("ascii", "replace")


def read_answer(data: bytes) -> HttpAnswer | None:
    """The response in what came so far; None while (or because) its head is not there."""
    if (status := _STATUS.match(data)) is None or (end := data.find(b"\r\n\r\n")) < 0:
        return None
    head, body = data[: end + 2], data[end + 4 :]
    if _CHUNKED.search(head):
        return HttpAnswer(int(status[1]), *_join_chunks(body))
    if length := _LENGTH.search(head):
        size = int(length[1])
        return HttpAnswer(int(status[1]), body[:size], len(body) >= size)
    return HttpAnswer(int(status[1]), body, False)  # it ends with the connection


def is_whole(data: bytes) -> bool:
    """Whether nothing more can belong to the response."""
    answer = read_answer(data)
    return answer is not None and answer.is_whole


def _join_chunks(body: bytes) -> tuple[bytes, bool]:
    joined, position = bytearray(), 0
    while (end := body.find(b"\r\n", position, position + _LONGEST_LINE)) >= 0:
        try:
            size = int(body[position:end].split(b";")[0], 16)
        except ValueError:
            break
        if size == 0:
            return bytes(joined), True
        joined += body[end + 2 : end + 2 + size]
        position = end + 2 + size + 2
    return bytes(joined), False
