"""The metrics page of a running server, asked for again and again while its log is followed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from tests.conftest import Sshd

from specmon.errors import SourceLost, SpecmonError
from specmon.feeds.counters import MetricsPage
from specmon.feeds.live import (
    COUNTERS_EVERY_S,
    NO_COUNTERS_EVERY_S,
    NOT_READ,
    Channel,
    Conditions,
    CounterLook,
    LiveFeed,
    Seen,
)
from specmon.monitor.session import Session
from specmon.references.fingerprint import Fingerprint
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Chunk, Connected, SourceEvent
from specmon.sources.machine import CommandResult, ForwardingRefused, IsWhole, PortClosed, ThisMachine
from specmon.sources.page import Door
from specmon.sources.ssh import SshHost
from specmon.sources.tls import TlsCheck, TlsFailed

VLLM_PAGE = Path(__file__).parents[1] / "data" / "metrics" / "vllm-0.32.0-cpu-baseline-json-formatter.metrics-after.txt"
LAUNCH = (
    b"[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, host='0.0.0.0', port=30007, "
    b"speculative_algorithm=None)\n"
)
DECODE = (
    b"[2026-02-26 16:40:01 TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, cuda graph: True, "
    b"gen throughput (token/s): 250.00, #queue-req: 0\n"
)


def page(looks: int) -> bytes:
    """After so many looks: 250 passes a second of 3.6 ms."""
    passes = looks * COUNTERS_EVERY_S * 250
    return (
        f'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",tp_rank="0"}} {passes}\n'
        f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {passes}\n'
        f'sglang:forward_execution_seconds_total{{category="decode",tp_rank="0"}} {passes * 0.0036}\n'
        'sglang:num_running_reqs{tp_rank="0"} 1\n'
    ).encode()


def response(status: int, body: bytes) -> bytes:
    return f"HTTP/1.1 {status} words\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Serving:
    """A machine whose ports give these answers; the last one for ever."""

    name = "gpu1"

    def __init__(self, *answers: bytes | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int, bytes]] = []

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
        self.asked.append((host, port, request))
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Growing(Serving):
    """A server that serves."""

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
        self.asked.append((host, port, request))
        return response(200, page(len(self.asked)))


class Held:
    """A source whose log is there, and that then stays open until it is let go."""

    name = "held"

    def __init__(self, *texts: bytes) -> None:
        self._texts = texts
        self.is_over = asyncio.Event()

    async def events(self) -> AsyncIterator[SourceEvent]:
        yield Connected(0.0, 0)
        offset = 0
        for text in self._texts:
            yield Chunk(0.0, offset, text)
            offset += len(text)
        await self.is_over.wait()


async def follow(
    machine: Serving, *texts: bytes, looks: int, fingerprint: Fingerprint | None = None
) -> tuple[Session, list[float]]:
    """The session after so many turns of the counters, and how long was waited between them."""
    session, waits, now = Session(), [], [1000.0]
    source = Held(*texts)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds
        if len(waits) >= looks:
            source.is_over.set()
            await asyncio.sleep(3600)
        await asyncio.sleep(0)

    session.add("1", "held")
    if fingerprint is not None:
        session.feed("1", Chunk(0.0, 0, DECODE))
        session.attach_fingerprint("1", fingerprint)
    feed = LiveFeed(session, [Channel("1", source, counters=MetricsPage(machine))], clock=lambda: now[0], sleep=sleep)
    await asyncio.wait_for(feed.run(), 10)
    return session, waits


def texts_of(session: Session) -> list[str]:
    return [event.text for event in session.snapshot(0.0).events]


async def test_looks_at_the_page_become_phases_while_the_log_is_followed() -> None:
    machine = Growing()
    session, waits = await follow(machine, LAUNCH, DECODE * 20, looks=12)
    life = session.server("1").life
    assert life is not None
    assert life.phases is not None
    assert life.phases.source == "metrics"
    assert life.phases.by_running[1].ms == {"decode": pytest.approx(3.6)}
    assert {(host, port) for host, port, _ in machine.asked} == {("127.0.0.1", 30007)}
    assert waits[-3:] == [COUNTERS_EVERY_S] * 3


async def test_question_holds_no_key_and_asks_for_text() -> None:
    machine = Growing()
    await follow(machine, LAUNCH, looks=3)
    assert machine.asked
    request = machine.asked[0][2]
    assert request.startswith(b"GET /metrics HTTP/1.1\r\n")
    assert b"Accept: text/plain; version=0.0.4\r\n" in request
    assert b"authorization" not in request.lower()


async def test_port_comes_from_the_process_where_the_log_lacks_the_launch() -> None:
    machine = Growing()
    await follow(machine, looks=3, fingerprint=Fingerprint(flags={"port": 31000}))
    assert {port for _, port, _ in machine.asked} == {31000}


async def test_server_whose_port_nobody_knows_is_not_asked() -> None:
    machine = Growing()
    await follow(machine, DECODE, looks=5)
    assert machine.asked == []


async def test_server_that_has_ended_is_not_asked() -> None:
    machine = Growing()
    end = b"[2026-02-26 16:40:09] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...\n"
    await follow(machine, LAUNCH + DECODE + end, looks=5)
    assert len(machine.asked) <= 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            response(401, b""),
            "/metrics on port 30007 wants an API key (put the header value, as `Bearer KEY`, into a variable NAME and "
            "give --metrics-header-env gpu1=NAME)",
        ),
        (response(500, b""), "/metrics on port 30007 answers with status 500"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "/metrics on port 30007 does not speak HTTP"),
        (b"", "/metrics on port 30007 does not speak HTTP: it hangs up"),
        (SourceLost("gpu1: no answer in time"), "/metrics on port 30007 gave no answer: gpu1: no answer in time"),
        (
            ForwardingRefused("gpu1: forwards nothing"),
            "/metrics on port 30007 gave no answer: gpu1: forwards nothing",
        ),
    ],
)
async def test_page_that_does_not_come_is_told_once_and_asked_for_less_often(
    answer: bytes | Exception, said: str
) -> None:
    session, waits = await follow(Serving(answer), LAUNCH, DECODE, looks=5)
    assert [text for text in texts_of(session) if "/metrics" in text] == [said]
    assert waits[-2:] == [NO_COUNTERS_EVERY_S] * 2


async def test_reasons_that_take_turns_are_told_once_each() -> None:
    errors = [response(status, b"") for status in (500, 503, 500, 503, 500)]
    session, _ = await follow(Serving(*errors), LAUNCH, DECODE, looks=8)
    told = sorted(text for text in texts_of(session) if "/metrics" in text)
    assert told == [f"/metrics on port 30007 answers with status {status}" for status in (500, 503)]


@pytest.mark.parametrize("answer", [response(404, b"{}"), response(501, b"{}"), PortClosed("gpu1: nobody listens")])
async def test_server_without_the_page_is_no_fault(answer: bytes | Exception) -> None:
    session, _ = await follow(Serving(answer), LAUNCH, DECODE, looks=5)
    assert not [text for text in texts_of(session) if "metrics" in text]


async def test_page_that_comes_back_after_a_restart_is_used_again() -> None:
    machine = Serving(PortClosed("gpu1: nobody listens"), response(200, page(1)), response(200, page(2)))
    session, _ = await follow(machine, LAUNCH, DECODE, looks=8)
    life = session.server("1").life
    assert life is not None
    assert life.counters.totals is not None
    assert life.counters.totals.tokens == COUNTERS_EVERY_S * 250


@pytest.mark.parametrize(
    ("body", "look"),
    [
        (page(1), None),
        (b"<html>", CounterLook(PageRefused(None, "html"))),
        (page(1)[:-4], CounterLook(PageRefused(None, "cut"))),
        (b"", CounterLook(None)),
    ],
)
async def test_page_is_read_or_refused(body: bytes, look: CounterLook | None) -> None:
    found = await MetricsPage(Serving(response(200, body))).read(Door(None, 30000), 7.0)
    if look is None:
        assert isinstance(found.page, Scrape)
        assert found.page.at == 7.0
    else:
        assert found == look


@asynccontextmanager
async def serving(body: bytes) -> AsyncIterator[int]:
    """A port of this machine that answers with a page in chunks, as uvicorn does."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 10_000):
            part = body[start : start + 10_000]
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.sshd
async def test_genuine_page_comes_over_the_ssh_connection(sshd: Sshd) -> None:
    body = VLLM_PAGE.read_bytes()
    async with serving(body) as port, SshHost("127.0.0.1", sshd.settings) as machine:
        found = await MetricsPage(machine).read(Door("0.0.0.0", port), 7.0)
    assert isinstance(found.page, Scrape)
    assert found.page.at == 7.0
    assert {"vllm:generation_tokens_total", "vllm:num_requests_running"} <= {s.name for s in found.page.samples}


async def test_server_that_listens_and_never_answers_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specmon.sources.page.LIMIT_S", 0.2)
    has_left = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()  # until the other side leaves
        writer.close()
        has_left.set()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
        found = await MetricsPage(ThisMachine()).read(Door(None, server.sockets[0].getsockname()[1]), 7.0)
        await asyncio.wait_for(has_left.wait(), 5)
    assert found.page is None
    assert found.reason.endswith("gave no answer: this machine: no answer in time")


INFO = json.loads((VLLM_PAGE.parent / "sglang-0.5.16-baseline-timer.server_info.json").read_text())
KNOWN_LAUNCH = LAUNCH.replace(b"model_path='/m'", b"model_path='/models/pycode-1b'")


class Talking(Serving):
    """A server that tells its version page, and its metrics."""

    def __init__(self, path: str, body: object) -> None:
        super().__init__()
        self._path = path
        self._body = json.dumps(body).encode()

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
        self.asked.append((host, port, request))
        return response(200, self._body) if request.startswith(f"GET {self._path} ".encode()) else response(404, b"")


class NoProcess:
    """Conditions of a server whose process nobody can see."""

    def __init__(self, answer: Seen | SpecmonError) -> None:
        self._answer = answer

    async def read(self) -> Seen:
        if isinstance(self._answer, SpecmonError):
            raise self._answer
        return self._answer


async def conditions_by_page(machine: Serving, text: bytes, looking: Conditions) -> Session:
    session = Session()
    source = Held(text)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) >= 20:
            source.is_over.set()
            await asyncio.sleep(3600)
        await asyncio.sleep(0)

    session.add("1", "held")
    channel = Channel("1", source, conditions=looking, counters=MetricsPage(machine))
    await asyncio.wait_for(LiveFeed(session, [channel], clock=lambda: 1000.0, sleep=sleep).run(), 30)
    return session


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
@pytest.mark.parametrize(
    ("looking", "said"),
    [
        (NoProcess(Seen(None, f"{NOT_READ}: it is another user's")), ["not read: environment and GPUs: it is another"]),
        (NoProcess(SourceLost("gpu1: no shell")), ["not read: environment and GPUs: gpu1: no shell"]),
    ],
    ids=["another user's", "no shell"],
)
async def test_server_tells_its_version_and_flags_where_its_process_cannot_be_seen(
    path: str, looking: Conditions, said: list[str]
) -> None:
    machine = Talking(
        path, {**INFO, "api_key": "sk-5f0e8b7c6d5a4f3e2d1c", "hf_chat_template_name": "hf_AbCdEfGhIjKlMn"}
    )
    session = await conditions_by_page(machine, KNOWN_LAUNCH + DECODE, looking)
    life = session.server("1").life
    assert life is not None
    assert life.fingerprint is not None
    assert life.fingerprint.versions == {"engine": "0.5.16"}
    flags = life.fingerprint.flags
    assert flags is not None
    assert flags["mem_fraction_static"] == 0.6
    assert not {"api_key", "internal_states", "version", "status", "hf_chat_template_name"} & flags.keys()
    assert life.fingerprint.env is None
    assert "5f0e8b7c" not in repr(life.fingerprint)
    told = [text for text in texts_of(session) if text.startswith("not read")]
    assert [text[: len(part)] for text, part in zip(told, said, strict=True)] == said


async def test_server_of_another_model_on_the_port_tells_nothing() -> None:
    session = await conditions_by_page(Talking("/server_info", INFO), LAUNCH + DECODE, NoProcess(Seen(None)))
    life = session.server("1").life
    assert life is not None
    assert life.fingerprint is None
    assert "engine version: port 30007 answers for another model" in texts_of(session)


async def test_vllm_tells_its_version_alone() -> None:
    seen = await MetricsPage(Talking("/version", {"version": "0.32.0"})).conditions("vllm", Door(None, 8000), "/m")
    assert seen.fingerprint is not None
    assert (seen.fingerprint.flags, seen.fingerprint.versions) == (None, {"engine": "0.32.0"})


async def test_process_that_is_seen_later_takes_the_place_of_what_the_server_said() -> None:
    session = await conditions_by_page(Talking("/server_info", INFO), KNOWN_LAUNCH + DECODE, NoProcess(Seen(None)))
    by_process = Fingerprint(flags={"model_path": INFO["model_path"]}, env={"NCCL_PROTO": "LL"})
    session.attach_fingerprint("1", by_process, "42 1.0")
    life = session.server("1").life
    assert life is not None
    assert life.fingerprint == by_process
    other = Fingerprint(flags={"model_path": "/another"}, env={})
    session.attach_fingerprint("1", other, "43 2.0")
    assert life.fingerprint == by_process
