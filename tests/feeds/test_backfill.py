"""The past of a followed log: read backwards beside it, joined exactly, and never in the way of what comes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Sshd
from tests.sources.faults import PACE

from specmon.feeds.backfill import Depth
from specmon.feeds.live import Channel, LiveFeed
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.references.fingerprint import Fingerprint
from specmon.reports.document import to_json
from specmon.sources.events import Chunk, FileIdentity, Source
from specmon.sources.local import LocalFile, LocalReach
from specmon.sources.looks import RangeRead
from specmon.sources.past import PastFile
from specmon.sources.remote_file import RemoteFile
from specmon.sources.ssh import SshHost

SMALL = Depth(most_bytes=None, piece_bytes=30_000, head_bytes=2_000, first_step_bytes=40_000)
TAIL_BYTES = 20_000

Follow = Callable[[Path], Source]


def launch(port: int = 30000, model: str = "/m") -> bytes:
    return (
        f"[2026-02-26 16:40:00] server_args=ServerArgs(model_path='{model}', port={port}, "
        "speculative_algorithm=None, decode_log_interval=40)\n"
    ).encode()


def decode(number: int) -> bytes:
    """A decode line with a time and a figure of its own."""
    minute, second = divmod(number, 60)
    hour, minute = divmod(minute, 60)
    return (
        f"[2026-02-27 {hour:02d}:{minute:02d}:{second:02d} TP0] Decode batch, #running-req: 1, #token: 512, "
        f"token usage: 0.00, cuda graph: True, gen throughput (token/s): {60 + number % 97 / 10:.2f}, #queue-req: 0\n"
    ).encode()


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def local(path: Path) -> Source:
    return LocalFile(str(path), follow=True, backfill_bytes=TAIL_BYTES, pace=PACE, reach=LocalReach(tick_s=0.05))


@asynccontextmanager
async def filling(source: Source, depth: Depth = SMALL) -> AsyncIterator[tuple[Session, LiveFeed]]:
    """A live session that follows one log and reads its past."""
    session = Session()
    session.add("1", source.name)
    feed = LiveFeed(session, [Channel("1", source)], clock=lambda: 0.0, past=depth)
    running = asyncio.create_task(feed.run())
    try:
        yield session, feed
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 (the condition may look at anything)
            await asyncio.sleep(0.01)


def is_filled(session: Session) -> bool:
    past = session.server("1").past
    return past is not None and not past.is_awaited


def samples(session: Session) -> int:
    return session.server("1").samples


def document(session: Session) -> object:
    """All that a report tells of a session, but for when it was made."""
    session.finish()
    told = json.loads(to_json(session))
    return {name: value for name, value in told.items() if name != "generated_at"}


def read_whole(source: str, data: bytes) -> Session:
    """What the log comes to, read from its first byte."""
    session = Session()
    session.add("1", source)
    session.feed("1", Chunk(0.0, 0, data))
    return session


@pytest.fixture(params=["here", "over ssh"])
async def follow(request: pytest.FixtureRequest) -> AsyncIterator[Follow]:
    if request.param == "here":
        yield local
        return
    sshd: Sshd = request.getfixturevalue("sshd")
    async with SshHost("127.0.0.1", replace(sshd.settings, waits_for_host=True)) as host:
        yield lambda path: RemoteFile(host, str(path), backfill_bytes=TAIL_BYTES, pace=PACE, interval_s=0.1)


async def test_past_and_followed_part_come_to_the_same_as_a_whole_reading(follow: Follow, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(1000))))
    source = follow(log)
    async with filling(source) as (session, _):
        await until(lambda: is_filled(session))
        add(log, b"".join(map(decode, range(1000, 1100))))
        await until(lambda: samples(session) >= 1100)
        found = document(session)
    assert found == document(read_whole(source.name, log.read_bytes()))


async def test_lines_that_come_while_the_past_is_read_are_there_once(follow: Follow, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(2000))))
    source = follow(log)
    number = 2000
    async with filling(source) as (session, _):
        while not is_filled(session) or number < 2100:
            add(log, decode(number))
            number += 1
            await asyncio.sleep(0.005)
        await until(lambda: samples(session) >= number)
        found = document(session)
    assert found == document(read_whole(source.name, log.read_bytes()))


@pytest.mark.parametrize("room_bytes", [1 << 20, 60_000])
async def test_lines_of_the_past_stand_in_the_log_once_and_in_order(tmp_path: Path, room_bytes: int) -> None:
    log = tmp_path / "a.log"
    # Several lines a second, so that only their places tell their order; and lines without a time.
    log.write_bytes(launch() + b"".join(decode(n // 3) + b"a remark\n" * (n % 50 == 0) for n in range(1500)))
    source = local(log)
    async with filling(source) as (session, _):
        session.log.past_room_bytes = room_bytes
        await until(lambda: is_filled(session))
        add(log, decode(501))
        await until(lambda: samples(session) >= 1501)
        book = session.open_log()
        book.sync()
        book.sync()
        texts = [row.line.text for row in book.rows(0, 10_000)]
        whole = log.read_text().splitlines()
        assert texts == whole[-len(texts) :]
        (server,) = book.servers
        size = len(log.read_bytes())
        assert server.before_bytes == sum(len(line) + 1 for line in whole[: -len(texts)])
        if room_bytes > size:
            assert len(texts) == len(whole)
        else:
            assert TAIL_BYTES < size - server.before_bytes <= TAIL_BYTES + room_bytes + 500


async def test_first_picture_waits_for_no_past(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(1000))))
    may_read = asyncio.Event()

    class Slow(LocalReach):
        async def read_range(self, path: str, start: int, size: int) -> RangeRead | None:
            await may_read.wait()
            return await super().read_range(path, start, size)

    source = LocalFile(str(log), follow=True, backfill_bytes=TAIL_BYTES, pace=PACE, reach=Slow(tick_s=0.05))
    async with filling(source) as (session, _):
        await until(lambda: samples(session) > 50)
        view = session.snapshot(0.0).baseline
        assert view is not None
        assert view.level is not None
        assert view.level.decode_tok_s is not None
        assert view.launch.note == "launch line not read yet"
        may_read.set()
        await until(lambda: is_filled(session))
        view = session.snapshot(0.0).baseline
        assert view is not None
        assert (view.launch.model, view.launch.note, view.samples) == ("/m", "", 1000)


async def test_launch_line_at_the_beginning_holds_when_the_log_is_not_read_back_so_far(
    follow: Follow, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch(port=30007) + b"".join(map(decode, range(2000))))
    async with filling(follow(log), replace(SMALL, most_bytes=60_000)) as (session, _):
        await until(lambda: is_filled(session))
        life = session.server("1").life
        assert life is not None
        assert life.address[1] == 30007
        assert life.role is Role.BASELINE
        assert 300 < samples(session) < 1000
        view = session.snapshot(0.0).baseline
        assert view is not None
        assert view.launch.note == "launch line of the log's beginning; 0 MB lie between"
        told = [event.text for event in session.snapshot(0.0).events]
        assert any("the launch line is that at the beginning of the log" in text for text in told)


async def test_launch_line_that_stands_nearer_counts_more_than_that_at_the_beginning(
    follow: Follow, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    lines = [launch(port=1), *map(decode, range(1000)), launch(port=2), *map(decode, range(1000, 1500))]
    log.write_bytes(b"".join(lines))
    async with filling(follow(log), replace(SMALL, most_bytes=130_000)) as (session, _):
        await until(lambda: is_filled(session))
        life = session.server("1").life
        assert life is not None
        assert life.address[1] == 2
        assert life.statistics.samples == 500
        assert not any("beginning of the log" in event.text for event in session.snapshot(0.0).events)


async def test_what_no_line_tells_is_said_with_how_much_was_not_read(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(map(decode, range(20_000))))
    async with filling(local(log), replace(SMALL, most_bytes=60_000)) as (session, _):
        await until(lambda: is_filled(session))
        view = session.snapshot(0.0).baseline
        assert view is not None
        assert view.launch.note == "no launch line read: 3 MB of the log lie before"


@pytest.mark.parametrize("fault", ["renamed", "truncated", "removed"])
async def test_log_that_is_rotated_while_its_past_is_read_disturbs_nothing(
    follow: Follow, tmp_path: Path, fault: str
) -> None:
    """Renamed, its past is read to the end; truncated or removed, what was read of it until then counts."""
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(3000))))
    async with filling(follow(log)) as (session, _):
        await until(lambda: samples(session) > 200)  # told again once
        if fault == "renamed":
            log.rename(tmp_path / "a.log.1")
        elif fault == "removed":
            log.unlink()
        data = launch(port=9) + b"".join(map(decode, range(4000, 4300)))
        log.write_bytes(data)
        await until(lambda: is_filled(session))
        await until(lambda: session.server("1").lives[-1].statistics.samples == 300)
        lives = session.server("1").lives
        assert [life.address[1] for life in lives][-1] == 9
        earlier = sum(life.statistics.samples for life in lives[:-1])
        assert earlier == 3000 if fault == "renamed" else 200 < earlier <= 3000
        level = lives[0].statistics.level_of("TP0", 1)
        assert level is not None
        times = list(level.clean.at)
        assert times == sorted(set(times))


async def test_link_that_breaks_while_the_past_is_read_costs_nothing(sshd: Sshd, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(3000))))
    async with SshHost("127.0.0.1", replace(sshd.settings, waits_for_host=True)) as host:
        source = RemoteFile(host, str(log), backfill_bytes=TAIL_BYTES, pace=PACE, interval_s=0.1)
        async with filling(source) as (session, _):
            await until(lambda: samples(session) > 200)
            assert sshd.kill_sessions() > 0
            add(log, decode(3000))
            await until(lambda: is_filled(session))
            await until(lambda: samples(session) >= 3001)
            assert samples(session) == 3001
            assert session.server("1").lines == 3002


async def test_what_came_of_a_server_meanwhile_is_still_known_of_it_afterwards(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(launch() + b"".join(map(decode, range(1000))))
    async with filling(local(log)) as (session, _):
        await until(lambda: samples(session) > 0)
        session.attach_fingerprint("1", Fingerprint(env={"NCCL_PROTO": "LL"}), "7 0")
        session.tell("1", 3.0, "something outside the log")
        await until(lambda: is_filled(session))
        life = session.server("1").life
        assert life is not None
        assert life.fingerprint is not None
        assert life.fingerprint.env == {"NCCL_PROTO": "LL"}
        texts = [event.text for event in session.snapshot(0.0).events]
        assert texts.count("something outside the log") == 1


@pytest.mark.parametrize("seed", range(8))
async def test_pieces_of_a_growing_file_join_exactly(tmp_path: Path, seed: int) -> None:
    """Any piece of a file, asked for at any time, is what stands there; of another life nothing is given."""
    chance = random.Random(seed)
    log = tmp_path / "a.log"
    data = chance.randbytes(200_000)
    log.write_bytes(data)
    status = log.stat()
    past = PastFile(LocalReach(), str(log), FileIdentity(status.st_dev, status.st_ino, data[:256]))
    end, read = 150_000, b""
    while end:
        start = max(0, end - chance.randrange(1, 40_000))
        add(log, chance.randbytes(10))
        read = await past.read(start, end, data[end : end + 256]) + read
        end = start
    assert read == data[:150_000]
