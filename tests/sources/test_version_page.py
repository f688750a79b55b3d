"""Asking a server for its version: every way in which it may answer, or not, is a sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.errors import SourceLost
from specmon.sources.engines import LLAMA_CPP, SGLANG, VLLM
from specmon.sources.http import AnswerEnd, get, read_answer
from specmon.sources.machine import CommandResult, ForwardingRefused, IsWhole, PortClosed
from specmon.sources.page import Door, Pages
from specmon.sources.tls import TlsCheck, TlsFailed
from specmon.sources.version_page import VersionAnswer, ask_version


def response(status: int, body: bytes, *headers: str) -> bytes:
    head = "\r\n".join((f"HTTP/1.1 {status} words", "content-type: application/json", *headers))
    return head.encode() + b"\r\n\r\n" + body


def page(**values: object) -> bytes:
    body = json.dumps(values).encode()
    return response(200, body, f"Content-Length: {len(body)}")


WANTED = (
    "wants an API key (put the header value, as `Bearer KEY`, into a variable NAME and give "
    "--metrics-header-env gpu1=NAME)"
)


class Answering:
    """A machine whose ports give these answers, one after the other."""

    name = "gpu1"

    def __init__(self, *answers: bytes | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int, str]] = []

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        raise AssertionError(command)

    async def exchange(
        self,
        host: str,
        port: int,
        request: bytes,
        *,
        is_whole: IsWhole,
        limit_bytes: int,
        timeout_s: float,
        tls: TlsCheck | None = None,
    ) -> bytes:
        if tls is not None:
            raise TlsFailed("it speaks no TLS")
        self.asked.append((host, port, request.split(b" ")[1].decode()))
        assert b"authorization" not in request.lower()
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_version_and_model_come_from_the_page() -> None:
    machine = Answering(page(version="0.5.16", model_path="/m", internal_states=[{"x": 1}]))
    assert await ask_version(Pages(machine), SGLANG, Door("0.0.0.0", 30000)) == VersionAnswer("0.5.16", model="/m")
    assert machine.asked == [("127.0.0.1", 30000, "/server_info")]


async def test_older_page_is_asked_when_the_newer_is_not_there() -> None:
    machine = Answering(response(404, b"{}", "Content-Length: 2"), page(version="0.5.4"))
    assert (await ask_version(Pages(machine), SGLANG, Door(None, 30000))).version == "0.5.4"
    assert [path for _, _, path in machine.asked] == ["/server_info", "/get_server_info"]


async def test_llama_cpp_names_its_build() -> None:
    assert (
        await ask_version(Pages(Answering(page(build_info="b8681-Debian"))), LLAMA_CPP, Door(None, 8080))
    ).version == ("b8681-Debian")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (response(401, b""), f"/version on port 8000 {WANTED}"),
        (response(403, b""), f"/version on port 8000 {WANTED}"),
        (response(404, b""), "/version on port 8000 is not there"),
        (response(503, b""), "/version on port 8000 answers with status 503"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "/version on port 8000 does not speak HTTP"),
        (b"", "/version on port 8000 does not speak HTTP: it hangs up"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "/version on port 8000 does not speak HTTP"),
        (response(200, b"<html>"), "/version on port 8000 is no JSON"),
        (response(200, b"[" * 100000), "/version on port 8000 is no JSON"),
        (response(200, b"[1]"), "/version on port 8000 names no version"),
        (page(version=3), "/version on port 8000 names no version"),
        (page(version="x" * 81), "/version on port 8000 names no version"),
        (page(version="\x1b[2J"), "/version on port 8000 names no version"),
        (page(version="hf_AbCdEfGhIjKlMn"), "/version on port 8000 names no version"),
        (SourceLost("gpu1: no answer in time"), "/version on port 8000 gave no answer: gpu1: no answer in time"),
        (
            ForwardingRefused("gpu1: the SSH server allows no forwarding (AllowTcpForwarding)"),
            "/version on port 8000 gave no answer: gpu1: the SSH server allows no forwarding (AllowTcpForwarding)",
        ),
    ],
)
async def test_every_other_answer_is_a_reason(answer: bytes | Exception, reason: str) -> None:
    assert await ask_version(Pages(Answering(answer)), VLLM, Door(None, 8000)) == VersionAnswer(None, reason)


async def test_server_that_does_not_listen_yet_is_told_apart() -> None:
    answer = await ask_version(
        Pages(Answering(PortClosed("gpu1: nobody listens on port 8000"))), VLLM, Door(None, 8000)
    )
    assert answer == VersionAnswer(None, "nobody listens on port 8000 yet", is_closed=True)


def test_request_names_host_and_port() -> None:
    assert get("/version", "::1", 8000).startswith(b"GET /version HTTP/1.1\r\nHost: [::1]:8000\r\n")


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=10))
def test_chunks_are_joined_whatever_their_sizes(body: bytes, sizes: list[int]) -> None:
    parts, rest = [], body
    for size in sizes:
        part, rest = rest[:size], rest[size:]
        if part:
            parts.append(b"%x;note=1\r\n%s\r\n" % (len(part), part))
    if rest:
        parts.append(b"%X\r\n%s\r\n" % (len(rest), rest))
    data = response(200, b"".join(parts) + b"0\r\n\r\n", "Transfer-Encoding: chunked")
    answer = read_answer(data)
    assert answer is not None
    assert (answer.body, answer.is_whole) == (body, True)
    assert not any(AnswerEnd()(data[:end]) for end in range(len(data) - 6))


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading(data: bytes) -> None:
    for head in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        read_answer(head + data)


def test_body_ends_where_its_length_says() -> None:
    answer = read_answer(response(200, b"{}garbage", "Content-Length: 2"))
    assert answer is not None
    assert (answer.body, answer.is_whole) == (b"{}", True)
    assert not AnswerEnd()(response(200, b"{", "Content-Length: 2"))
    assert not AnswerEnd()(response(200, b"{}"))  # it ends with the connection
