"""Live sources into one session: conditions are asked for at every life, and one bad source stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from specmon.errors import SourceLost
from specmon.feeds.conditions import fingerprint_of
from specmon.feeds.live import LOOKS_AFTER_LAUNCH_S, Channel, LiveFeed, Seen
from specmon.feeds.trails import writer_of
from specmon.monitor.session import Session
from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint
from specmon.sources.discovery import DiscoveredServer
from specmon.sources.events import Chunk, Connected, Refused, SourceEvent

LAUNCH = b"[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, speculative_algorithm=None)\n"
DECODE = (
    b"[2026-02-26 16:40:01 TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, cuda graph: True, "
    b"gen throughput (token/s): 62.90, #queue-req: 0\n"
)


class Told:
    """A source that says what it was given, and then ends."""

    def __init__(self, *events: SourceEvent) -> None:
        self._events = events

    @property
    def name(self) -> str:
        return "told"

    async def events(self) -> AsyncIterator[SourceEvent]:
        for event in self._events:
            yield event
            await asyncio.sleep(0)
            await asyncio.sleep(0)


class Asked:
    """Conditions that count how often they are asked for."""

    def __init__(self, *answers: Seen | SourceLost) -> None:
        self._answers = list(answers)
        self.times = 0

    async def read(self) -> Seen:
        answer = self._answers[min(self.times, len(self._answers) - 1)]
        self.times += 1
        if isinstance(answer, SourceLost):
            raise answer
        return answer


async def no_wait(_: float) -> None:
    await asyncio.sleep(0)


async def run(*channels: Channel) -> tuple[Session, LiveFeed]:
    session = Session()
    for channel in channels:
        session.add(channel.key, channel.source.name)
    feed = LiveFeed(session, channels, clock=lambda: 0.0, sleep=no_wait)
    await asyncio.wait_for(feed.run(), 10)
    return session, feed


def chunks(*texts: bytes) -> list[SourceEvent]:
    offset, found = 0, []
    for text in texts:
        found.append(Chunk(0.0, offset, text))
        offset += len(text)
    return [Connected(0.0, 0), *found]


async def test_conditions_are_read_again_for_every_life() -> None:
    asked = Asked(Seen(Fingerprint(env={"NCCL_PROTO": "LL"})), Seen(Fingerprint(env={})))
    source = Told(*chunks(LAUNCH, DECODE), *[Chunk(0.0, len(LAUNCH + DECODE), LAUNCH)], *chunks()[1:])
    session, _ = await run(Channel("1", source, asked))
    assert asked.times >= 2
    assert len(session.server("1").lives) == 2


async def test_host_that_does_not_answer_about_processes_stops_nothing() -> None:
    asked = Asked(SourceLost("gpu1: no answer"))
    session, feed = await run(Channel("1", Told(*chunks(LAUNCH, DECODE, DECODE)), asked))
    assert asked.times >= 1
    assert session.server("1").samples == 2
    assert feed.refusals == []


async def test_environment_that_may_not_be_read_is_told_once() -> None:
    asked = Asked(Seen(Fingerprint(env=None), "no permission to read the environment of process 7"))
    session, _ = await run(Channel("1", Told(*chunks(LAUNCH, *[DECODE] * 20)), asked))
    told = [event.text for event in session.snapshot(0.0).events if "permission" in event.text]
    assert told == ["no permission to read the environment of process 7"]


async def test_host_that_never_answered_about_processes_is_told_once_after_the_last_look() -> None:
    asked = Asked(SourceLost("gpu1: no answer in time"))
    session, _ = await run(Channel("1", Told(*chunks(LAUNCH, *[DECODE] * 20)), asked))
    told = [event.text for event in session.snapshot(0.0).events if "gpu1" in event.text]
    assert asked.times >= len(LOOKS_AFTER_LAUNCH_S)
    assert told == ["not read: launch flags, environment, versions and GPUs: gpu1: no answer in time"]


@pytest.mark.parametrize(
    ("reason", "late"), [("", []), ("not read: engine version: nobody listens yet", [60.0, 300.0])]
)
async def test_later_looks_are_for_what_is_still_missing(reason: str, late: list[float]) -> None:
    slept: list[float] = []

    async def sleep(delay_s: float) -> None:
        slept.append(delay_s)
        await asyncio.sleep(0)

    session = Session()
    session.add("1", "told")
    asked = Asked(Seen(Fingerprint(env={}), reason, "7 5.0"))
    channel = Channel("1", Told(*chunks(LAUNCH, *[DECODE] * 40)), asked)
    await asyncio.wait_for(LiveFeed(session, [channel], clock=lambda: 0.0, sleep=sleep).run(), 10)
    assert slept[-3 - len(late) :] == [0.0, 3.0, 15.0, *late]


async def test_host_that_answers_at_last_is_told_nothing_of() -> None:
    asked = Asked(SourceLost("gpu1: no answer in time"), Seen(Fingerprint(env={}), "", "7 5.0"))
    session, _ = await run(Channel("1", Told(*chunks(LAUNCH, *[DECODE] * 20)), asked))
    assert not [event.text for event in session.snapshot(0.0).events if "gpu1" in event.text]
    assert session.server("1").lives[-1].process == "7 5.0"


async def test_refused_source_is_remembered_and_the_others_go_on() -> None:
    refused = Channel("1", Told(Refused(0.0, "gpu1: host key unknown. Run `ssh gpu1` once.")))
    session, feed = await run(refused, Channel("2", Told(*chunks(DECODE))))
    assert feed.refusals == ["gpu1: host key unknown. Run `ssh gpu1` once."]
    assert session.server("2").samples == 1


async def test_session_that_is_over_ends_sources_that_would_go_on_for_ever() -> None:
    class Endless(Told):
        async def events(self) -> AsyncIterator[SourceEvent]:
            yield Connected(0.0, 0)
            await asyncio.Event().wait()

    session = Session()
    session.add("1", "endless")
    feed = LiveFeed(
        session, [Channel("1", Endless())], clock=lambda: 0.0, sleep=no_wait, is_over=lambda: True, told=lambda: "note"
    )
    await asyncio.wait_for(feed.run(), 10)
    assert session.is_finished
    assert feed.snapshot().demo_note == "note"


def server(pid: int, log: str, env_reason: str = "") -> DiscoveredServer:
    return DiscoveredServer(
        pid, "sglang", (), {}, "baseline", 30000, None, float(pid), log, "", {"NCCL_PROTO": "LL"}, env_reason
    )


def test_newest_process_that_writes_the_log_is_the_server() -> None:
    found: Sequence[DiscoveredServer] = [server(1, "/a"), server(3, "/b"), server(2, "/a")]
    writer = writer_of("/a", found)
    assert writer is not None
    assert writer.pid == 2
    assert writer_of("/c", found) is None


def test_environment_that_could_be_read_in_part_proves_no_absence() -> None:
    whole, part = fingerprint_of(server(1, "/a")), fingerprint_of(server(1, "/a", "no permission"))
    assert whole is not None
    assert part is not None
    assert (whole.env, whole.env_is_partial, whole.unread) == ({"NCCL_PROTO": "LL"}, False, ())
    assert (part.env, part.env_is_partial, part.unread) == ({"NCCL_PROTO": "LL"}, True, ("environment: no permission",))
    reference = Fingerprint(env={"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"})
    assert [difference.name for difference in compare(reference, whole)] == ["NCCL_PROTO", "NCCL_ALGO"]
    assert [difference.name for difference in compare(reference, part)] == ["NCCL_PROTO"]
    assert fingerprint_of(None) is None
