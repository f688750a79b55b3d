"""The one page of `export prometheus`, asked by clients that mean well and by others."""

from __future__ import annotations

import asyncio

import pytest

from specmon.commands import pageserver
from specmon.commands.pageserver import serving
from specmon.sources.loopback import is_own_name

OWN = "Host: localhost:9753\r\n"


async def asked(port: int, request: str | bytes) -> str:
    """Everything that comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode() if isinstance(request, str) else request)
    try:
        return (await asyncio.wait_for(reader.read(), 20)).decode()
    except ConnectionError:
        return ""
    finally:
        writer.close()


def page(accept: str) -> tuple[bytes, str]:
    return f"accepts {accept or 'anything'}\n".encode(), "text/plain"


@pytest.mark.parametrize(
    ("request_text", "status", "words"),
    [
        (f"GET /metrics HTTP/1.1\r\n{OWN}Accept: text/plain\r\n\r\n", 200, "accepts text/plain"),
        (f"GET /metrics?name[]=up HTTP/1.1\r\n{OWN}\r\n", 200, "accepts anything"),
        (f"HEAD /metrics HTTP/1.1\r\n{OWN}\r\n", 200, ""),
        (f"GET / HTTP/1.1\r\n{OWN}\r\n", 404, "/metrics"),
        (f"GET /../metrics HTTP/1.1\r\n{OWN}\r\n", 404, "/metrics"),
        (f"POST /metrics HTTP/1.1\r\n{OWN}Content-Length: 5\r\n\r\nhello", 405, "Only GET"),
        (f"DELETE /metrics HTTP/1.1\r\n{OWN}\r\n", 405, "Only GET"),
        ("GET /metrics HTTP/1.1\r\nHost: attacker.example\r\n\r\n", 403, "names of this machine"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.attacker.example\r\n\r\n", 403, "names of this machine"),
        ("GET /metrics HTTP/1.1\r\nHost: [::1\r\n\r\n", 403, "names of this machine"),
        ("GET /metrics HTTP/1.0\r\n\r\n", 403, "names of this machine"),
        ("GET /metrics HTTP/1.1\r\n\r\n", 400, "Bad Request"),
        (f"GET /metrics HTTP/1.1\r\n{OWN}{OWN}\r\n", 400, "Bad Request"),
        ("\x16\x03\x01 TLS\r\n\r\n", 400, "Bad Request"),
        (f"GET /metrics HTTP/1.1\r\n{OWN}X: {'a' * 70_000}\r\n\r\n", 431, "Too Large"),
    ],
)
async def test_answer_to_a_request(request_text: str, status: int, words: str) -> None:
    async with serving(page, path="/metrics", host="127.0.0.1", port=0) as port:
        answer = await asked(port, request_text)
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert words in body
    assert "connection: close" in head.lower()
    if "HEAD" in request_text:
        assert body == ""


async def test_clients_that_never_finish_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pageserver, "_PATIENCE_S", 0.3)
    async with serving(page, path="/metrics", host="127.0.0.1", port=0) as port:
        assert await asked(port, "GET /metr") == ""
        assert await asked(port, b"") == ""
        assert "200 OK" in await asked(port, f"GET /metrics HTTP/1.1\r\n{OWN}\r\n")


async def test_connections_beyond_the_most_are_closed_and_the_next_one_is_served() -> None:
    request = f"GET /metrics HTTP/1.1\r\n{OWN}\r\n"
    async with serving(page, path="/metrics", host="127.0.0.1", port=0) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(pageserver._MOST_CONNECTIONS)]
        assert await asked(port, request) == ""
        for _, writer in idle:
            writer.close()
        answers = [await asked(port, request) for _ in range(50)]  # the first ones may come before the others have gone
        assert "200 OK" in answers[-1]


async def test_client_that_does_not_read_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pageserver, "_PATIENCE_S", 0.3)
    big = b"x" * 50_000_000
    async with serving(lambda accept: (big, "text/plain"), path="/metrics", host="127.0.0.1", port=0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /metrics HTTP/1.1\r\n{OWN}\r\n".encode())
        await asyncio.sleep(0.5)
        taken = 0
        while chunk := await reader.read(1_000_000):
            taken += len(chunk)
        assert taken < len(big)  # what the system had not taken of it is gone
        writer.close()


@pytest.mark.parametrize(
    ("header", "is_own"),
    [("localhost", True), ("127.0.0.1:9753", True), ("[::1]:9753", True), ("127.8.9.1", True), ("gpu01:9753", False),
     ("", False), ("localhost.attacker.example", False), ("[", False)],
)  # fmt: skip
def test_own_names(header: str, is_own: bool) -> None:
    assert is_own_name(header) is is_own
