"""Whatever happens to a log and to the link, each byte comes once and in order, or a gap tells that it is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specmon.sources.events import Chunk, Gap, Refused, SourceEvent
from specmon.sources.follow import Pace, follow_file

from .disk import PATH, Disk, SimulatedReach

QUIET_STEPS = 400  # after the last happening; no log of these tests needs more to be read to its end
COUNTS = st.integers(1, 9)
HAPPENINGS = st.one_of(
    st.just("nothing"),
    st.tuples(st.just("write"), COUNTS),
    st.tuples(st.just("write late"), COUNTS),
    st.tuples(st.just("truncate and write"), st.integers(1, 20)),
    st.tuples(st.just("cut"), st.integers(1, 12)),
    st.sampled_from(["truncate", "rename", "create", "delete", "let go", "rotate", "replace"]),
)

GENTLE = st.one_of(
    st.just("nothing"),
    st.tuples(st.just("write"), COUNTS),
    st.tuples(st.just("cut"), st.integers(1, 12)),
    st.sampled_from(["rename", "create", "rotate", "let go"]),
)

FIRST_LOOK = ["nothing"] * 3  # nobody knows the log before


class BusyDisk(Disk):
    """With the happenings that come as one."""

    def nothing(self) -> None:
        """A moment passes."""

    def rotate(self) -> None:
        self.rename()
        self.create()

    def replace(self) -> None:
        """By another file, that is longer."""
        self.delete()
        self.create()
        self.write(12)


def follow(happenings: list[object], *, gives_both: bool) -> tuple[Disk, list[SourceEvent]]:
    """Everything that a follower says from the first byte on until long after the last happening."""
    disk = BusyDisk()
    disk.create()
    disk.write(7)
    reach = SimulatedReach(disk, happenings, gives_both=gives_both)
    pace = Pace(clock=lambda: reach.clock, sleep=reach.sleep, chance=lambda: 0.5)
    heard: list[SourceEvent] = []

    async def listen(events: AsyncGenerator[SourceEvent, None]) -> None:
        async for event in events:
            heard.append(event)

    listening = listen(follow_file(reach, PATH, PATH, backfill_bytes=None, pace=pace))
    steps = 0
    step = reach._step

    def counted(*, is_cut_off: bool = False) -> None:
        nonlocal steps
        step(is_cut_off=is_cut_off)
        steps += reach.is_over
        if steps > QUIET_STEPS:
            raise _Enough

    reach._step = counted  # type: ignore[method-assign]  # only here is it known when all is quiet
    with pytest.raises(_Enough):
        listening.send(None)
    return disk, heard


class _Enough(Exception):
    pass


@pytest.mark.parametrize("gives_both", [True, False], ids=["local", "remote"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(happenings=st.lists(HAPPENINGS, max_size=60))
def test_each_byte_comes_once_and_in_order_or_a_gap_tells(gives_both: bool, happenings: list[object]) -> None:
    disk, heard = follow(happenings, gives_both=gives_both)
    data = b"".join(event.data for event in heard if isinstance(event, Chunk))
    assert [byte for byte, times in Counter(data).items() if times > 1] == []
    lost = sizes = needed = 0
    for life in disk.lives:
        seen = bytes(byte for byte in data if byte in life.written)
        assert seen == bytes(byte for byte in life.written if byte in seen), "in order"
        missing = len(life.written) - len(seen)
        lost += missing
        if not missing or not life.is_opened:
            continue  # a file that came and went between two looks can be told by nobody
        if not life.is_over:
            assert life.left is not None, "the file that is followed is read to its end"
            assert bytes(life.written[: life.left]) == seen, "only what was written after the file was left is missing"
        sizes += max(0, life.confirmed - len(seen))
        needed += life.died_offline or life.confirmed > len(seen)
    assert not [event for event in heard if isinstance(event, Refused)]
    gaps = [event for event in heard if isinstance(event, Gap)]
    assert sizes <= sum(gap.size_bytes or 0 for gap in gaps) <= lost
    assert len(gaps) >= needed


@pytest.mark.parametrize("gives_both", [True, False], ids=["local", "remote"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(happenings=st.lists(GENTLE, max_size=60))
def test_nothing_is_lost_as_long_as_every_file_is_kept(gives_both: bool, happenings: list[object]) -> None:
    disk, heard = follow([*FIRST_LOOK, *happenings], gives_both=gives_both)
    data = b"".join(event.data for event in heard if isinstance(event, Chunk))
    assert data == b"".join(bytes(life.written) for life in disk.lives)
    assert not [event for event in heard if isinstance(event, Gap)]
