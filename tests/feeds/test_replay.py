"""Replay: the logs' own clock, any speed, both directions, on a clock that the test turns."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from specmon.captures.manifest import Life
from specmon.captures.reader import Arrivals
from specmon.feeds.replay import LONGEST_SILENCE_S, ReplayFeed, ReplayLog
from specmon.feeds.timeline import Timeline, timeline_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import MarkKind, Role

FIRST = datetime(2026, 2, 26, 16, 40, tzinfo=UTC).timestamp()


def decode(second: float, tok_s: float = 88.8) -> bytes:
    stamp = datetime.fromtimestamp(FIRST + second, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"[{stamp} TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, cuda graph: True, "
        f"gen throughput (token/s): {tok_s:.2f}, #queue-req: 0\n"
    ).encode()


def write(path: Path, seconds: list[float]) -> Path:
    path.write_bytes(b"".join(decode(second) for second in seconds))
    return path


def timeline(path: Path, arrivals: Arrivals | None = None) -> Timeline:
    return timeline_of(path, arrivals)


class Hand:
    """A clock and a sleep that move only when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, _: float) -> None:
        await asyncio.sleep(0)

    async def turn(self, seconds: float = 0.0) -> None:
        self.now += seconds
        for _ in range(300):  # enough rounds of the loop for the longest advance of these tests
            await asyncio.sleep(0)


def replay(path: Path, hand: Hand, *, speed: float = 1.0, stays: bool = True) -> ReplayFeed:
    log = ReplayLog("1", path, timeline(path))
    return ReplayFeed(
        lambda: Session(mode="replay"), [log], speed=speed, clock=hand.clock, sleep=hand.sleep, stays=stays
    )


@asynccontextmanager
async def running(feed: ReplayFeed) -> AsyncIterator[None]:
    player = asyncio.ensure_future(feed.run())
    try:
        yield
    finally:
        player.cancel()
        await asyncio.gather(player, return_exceptions=True)


def seen(feed: ReplayFeed) -> int:
    """Samples that the session has got so far."""
    picture = feed.snapshot()
    server = picture.baseline or picture.speculative
    return 0 if server is None else server.samples


# --- when lines were written


def test_lines_of_one_second_are_spread_over_it(tmp_path: Path) -> None:
    moments = timeline(write(tmp_path / "a.log", [0, 0, 0, 0, 1])).arrivals.at
    assert [moment - FIRST for moment in moments] == [0, 0.25, 0.5, 0.75, 1]


def test_line_without_a_stamp_comes_with_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(decode(0) + b"Traceback\n  File\n" + decode(5))
    arrivals = timeline(path).arrivals
    assert arrivals.size_at(FIRST + 1) == len(decode(0) + b"Traceback\n  File\n")
    assert arrivals.size_at(FIRST + 5) == path.stat().st_size


def test_clock_that_steps_back_never_turns_the_replay_back(tmp_path: Path) -> None:
    moments = timeline(write(tmp_path / "a.log", [100, 0, 50, 101])).arrivals.at
    assert list(moments) == sorted(moments)


def test_log_without_any_stamp_is_there_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"hello\nworld\n")
    assert timeline(path).arrivals.size_at(0.0) == 12


def test_capture_plays_by_its_arrivals_and_not_by_its_stamps(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", [0, 1])
    size = path.stat().st_size
    found = timeline(path, Arrivals((size // 2, size), (10.0, 20.0)))
    assert found.samples == (10.0, 20.0)


# --- playing


async def test_lines_appear_when_their_moment_comes(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 4, 6]), hand)
    async with running(feed):
        await hand.turn()
        assert seen(feed) == 1
        await hand.turn(3.9)
        assert seen(feed) == 2
        await hand.turn(0.2)
        assert seen(feed) == 3


async def test_speed_multiplies_the_clock(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", list(range(0, 21, 2))), hand, speed=10)
    async with running(feed):
        await hand.turn()
        await hand.turn(1.0)
        assert seen(feed) == 6


async def test_as_fast_as_possible_is_there_at_once_and_ends(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", list(range(0, 500, 2))), hand, speed=math.inf, stays=False)
    await asyncio.wait_for(feed.run(), 10)
    assert seen(feed) == 250


async def test_paused_replay_stands_still(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 4]), hand)
    async with running(feed):
        await hand.turn()
        feed.toggle_pause()
        await hand.turn(60)
        assert seen(feed) == 1
        feed.toggle_pause()
        await hand.turn(2)
        assert seen(feed) == 2


async def test_seek_goes_back_as_well_as_forward(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 4, 6, 8]), hand)
    async with running(feed):
        for second, samples in ((7, 4), (1, 1), (99, 5), (-99, 1)):
            feed.seek(FIRST + second)
            await hand.turn()
            assert seen(feed) == samples


async def test_step_goes_to_the_next_sample_and_pauses(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 4]), hand)
    async with running(feed):
        await hand.turn()
        for step, samples in ((1, 2), (1, 3), (1, 3), (-1, 2), (-1, 1), (-1, 1)):
            feed.step(step)
            await hand.turn()
            assert (seen(feed), feed.snapshot().playback is not None) == (samples, True)
        await hand.turn(60)
        assert seen(feed) == 1


async def test_speed_goes_up_and_down_the_ladder_and_stays_on_it(tmp_path: Path) -> None:
    feed = replay(write(tmp_path / "a.log", [0, 2]), Hand(), speed=3.0)
    speeds = []
    for steps in (1, 1, -1, -1, -1, -1, 20):
        feed.change_speed(steps)
        playback = feed.snapshot().playback
        assert playback is not None
        speeds.append(playback.speed)
    assert speeds == [5, 10, 5, 2, 1, 1, math.inf]


async def test_nobody_waits_through_a_long_silence(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 2 + LONGEST_SILENCE_S * 100]), hand)
    async with running(feed):
        await hand.turn()
        await hand.turn(2)
        await hand.turn(0.1)
        await hand.turn(1.1)
        assert seen(feed) == 3


async def test_picture_has_a_new_version_whenever_something_changed(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 2, 4]), hand)
    async with running(feed):
        await hand.turn()
        before = feed.snapshot().version
        assert feed.snapshot().version == before
        feed.toggle_pause()
        assert feed.snapshot().version > before
        feed.seek(FIRST + 4)
        await hand.turn()
        late = feed.snapshot().version
        feed.seek(FIRST)
        await hand.turn()
        assert feed.snapshot().version > late


async def test_replay_of_an_empty_log_is_a_picture_without_data(tmp_path: Path) -> None:
    path = tmp_path / "empty.log"
    path.touch()
    feed = replay(path, Hand(), stays=False)
    await asyncio.wait_for(feed.run(), 10)
    assert feed.snapshot().comparison is None


@pytest.mark.parametrize("speed", [1.0, 7.0, math.inf])
async def test_every_speed_comes_to_the_same_end(tmp_path: Path, speed: float) -> None:
    hand = Hand()
    path = write(tmp_path / "a.log", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    feed = replay(path, hand, speed=speed)
    async with running(feed):
        for _ in range(12):
            await hand.turn(1.0)
        server = feed.snapshot().baseline
        assert server is not None
        assert (server.samples, server.clean) == (10, 9)


async def test_gaps_of_a_captured_fingerprint_are_told_once(tmp_path: Path) -> None:
    path, hand = write(tmp_path / "a.log", [0, 1, 2]), Hand()
    life = Life(started_at=FIRST - 5, env={}, unread=("GPUs: there is no nvidia-smi",))
    log = ReplayLog("1", path, timeline(path), (life,))
    feed = ReplayFeed(lambda: Session(mode="replay"), [log], speed=math.inf, clock=hand.clock, sleep=hand.sleep)
    async with running(feed):
        await hand.turn(1.0)
        for _ in range(2):
            told = [event.text for event in feed.snapshot().events if "GPUs" in event.text]
            assert told == ["not read: GPUs: there is no nvidia-smi"]
            feed.seek(FIRST)
            await hand.turn(1.0)


async def test_pair_that_was_chosen_stays_over_a_seek_back(tmp_path: Path) -> None:
    hand = Hand()
    paths = [write(tmp_path / f"{name}.log", [0, 1, 2, 3, 10]) for name in ("a", "b", "c")]
    logs = [ReplayLog(path.stem, path, timeline(path)) for path in paths]
    feed = ReplayFeed(lambda: Session(mode="replay"), logs, speed=1.0, clock=hand.clock, sleep=hand.sleep)
    async with running(feed):
        feed.put("b", Role.BASELINE)
        feed.put("c", Role.SPECULATIVE)
        for position in (FIRST + 9, FIRST + 2):
            feed.seek(position)
            await hand.turn()
            picture = feed.snapshot()
            assert picture.baseline is not None
            assert picture.speculative is not None
            assert (picture.baseline.key, picture.speculative.key) == ("b", "c")
            assert [row.key for row in picture.fleet] == ["a", "b", "c"]


# --- what is still to come


async def test_a_replay_knows_restarts_that_are_still_to_come() -> None:
    hand, path = Hand(), Path(__file__).parents[2] / "fixtures/story/base.log"
    feed = replay(path, hand)
    async with running(feed):
        while not (playback := feed.snapshot().playback) or not playback.moments:  # ends when the log has been read
            await hand.turn()
        restart = next(moment for moment in playback.moments if moment.kind is MarkKind.RESTART)
        assert playback.position < restart.at < playback.end
        before = feed.snapshot().baseline
        assert before is None or not before.marks
        feed.seek(restart.at + 1)
        await hand.turn()
        picture = feed.snapshot()
        after = picture.baseline or picture.speculative or picture.others[0]
        assert [mark.at for mark in after.marks] == [restart.at]


async def test_a_replay_that_ends_by_itself_is_read_once(tmp_path: Path) -> None:
    hand = Hand()
    feed = replay(write(tmp_path / "a.log", [0, 1, 2]), hand, speed=math.inf, stays=False)
    await feed.run()
    playback = feed.snapshot().playback
    assert playback is not None
    assert playback.moments == ()
