"""What the cursor decides after each look."""

from __future__ import annotations

import pytest

from specmon.sources.cursor import Cursor, FoundFile, Look, MovedFile, NoFile, ReadFrom, Tick
from specmon.sources.events import FileIdentity, Gap, Rotated
from specmon.sources.follow import backoff_s

PATH = "a.log"


def found(inode: int, size: int, head: bytes = b"first") -> FoundFile:
    return FoundFile(FileIdentity(1, inode, head), size)


def begun(size: int = 100, *, backfill_bytes: int | None = None, looks_lag: bool = False) -> Cursor:
    """A cursor that has read a file to its end."""
    cursor = Cursor(backfill_bytes=backfill_bytes, looks_lag=looks_lag)
    plan = cursor.plan(PATH, Look(found(7, size)), 0.0)
    assert isinstance(plan, ReadFrom)
    cursor.advance(size - plan.offset)
    assert cursor.judge(Tick(found(7, size, b""), found(7, size))) == "stay"
    return cursor


def replan(cursor: Cursor, look: Look) -> ReadFrom:
    plan = cursor.plan(PATH, look, 5.0)
    assert isinstance(plan, ReadFrom)
    return plan


@pytest.mark.parametrize(("backfill", "offset"), [(None, 0), (0, 100), (30, 70), (1000, 0)])
def test_start_leaves_out_what_is_too_old(backfill: int | None, offset: int) -> None:
    plan = Cursor(backfill_bytes=backfill).plan(PATH, Look(found(7, 100)), 0.0)
    assert isinstance(plan, ReadFrom)
    assert (plan.path, plan.offset, plan.announce, plan.is_resumed) == (PATH, offset, (), False)


def test_missing_file_is_waited_for_and_then_read_from_its_beginning() -> None:
    cursor = Cursor(backfill_bytes=0)
    assert cursor.plan(PATH, Look(NoFile("no such file")), 0.0) == NoFile("no such file")
    cursor.file_appears_later()
    assert replan(cursor, Look(found(7, 100))).offset == 0


def test_same_file_goes_on_at_the_byte() -> None:
    plan = replan(begun(), Look(found(7, 150, b"first and more")))
    assert (plan.offset, plan.announce, plan.is_resumed) == (100, (), True)


def test_shrunk_file_starts_over_and_the_hole_is_unknown() -> None:
    plan = replan(begun(), Look(found(7, 50)))
    assert plan.offset == 0
    assert [type(event) for event in plan.announce] == [Gap, Rotated]
    assert plan.announce[0] == Gap(5.0, None, "the file was truncated while nobody could look")


def test_same_inode_with_another_beginning_is_another_file() -> None:
    plan = replan(begun(), Look(found(7, 500, b"other")))
    assert plan.offset == 0
    assert plan.announce[-1] == Rotated(5.0, FileIdentity(1, 7, b"other"), "truncated")


def test_renamed_file_is_read_to_its_end_first() -> None:
    cursor = begun()
    moved = MovedFile("a.log.1", found(7, 150))
    plan = replan(cursor, Look(found(8, 20, b"new"), moved))
    assert (plan.path, plan.offset, plan.announce) == ("a.log.1", 100, ())
    ticks = [Tick(found(7, 150, b""), found(8, 20, b"new"))] * 2
    assert cursor.judge(ticks[0]) == "stay"  # 50 bytes are still to come
    cursor.advance(50)
    assert cursor.judge(ticks[1]) == "switch"
    plan = replan(cursor, Look(found(8, 30, b"new"), moved))
    assert (plan.path, plan.offset) == (PATH, 0)
    assert plan.announce == (Rotated(5.0, FileIdentity(1, 8, b"new"), "renamed"),)


def test_writer_that_has_not_let_go_of_the_old_file_is_waited_for() -> None:
    cursor = begun()
    new = found(8, 20, b"new")
    assert cursor.judge(Tick(found(7, 100, b""), new)) == "stay"
    cursor.advance(10)
    assert cursor.judge(Tick(found(7, 110, b""), new)) == "stay"  # it grew
    assert cursor.judge(Tick(found(7, 110, b""), new)) == "switch"


def test_renamed_file_without_a_successor_is_stayed_with() -> None:
    cursor = begun()
    for _ in range(3):
        assert cursor.judge(Tick(found(7, 100, b""), None)) == "stay"


def test_file_that_is_gone_after_an_outage_leaves_a_gap() -> None:
    plan = replan(begun(), Look(found(8, 20, b"new")))
    assert plan.announce == (
        Gap(5.0, None, "the file was replaced while nobody could look"),
        Rotated(5.0, FileIdentity(1, 8, b"new"), "replaced"),
    )


def test_gap_has_the_size_that_was_seen() -> None:
    cursor = begun()
    assert cursor.judge(Tick(found(7, 180, b""), found(7, 180))) == "stay"
    plan = replan(cursor, Look(found(8, 20, b"new")))
    assert plan.announce[0] == Gap(5.0, 80, "the file was replaced before its end was read")


def test_truncation_beside_the_open_file_is_seen() -> None:
    cursor = begun()
    assert cursor.judge(Tick(found(7, 40, b""), found(7, 40))) == "switch"
    plan = replan(cursor, Look(found(7, 500)))  # grown past the old position in the meantime
    assert plan.offset == 0
    assert plan.announce == (Rotated(5.0, FileIdentity(1, 7, b"first"), "truncated"),)


def test_look_that_is_older_than_the_bytes_is_no_truncation() -> None:
    cursor = begun(looks_lag=True)
    cursor.advance(50)  # bytes that were written after the look that comes now
    assert cursor.judge(Tick(found(7, 120, b""), found(7, 120))) == "stay"
    assert cursor.judge(Tick(found(7, 150, b""), found(7, 150))) == "stay"


def test_truncation_is_seen_although_looks_lag() -> None:
    cursor = begun(looks_lag=True)
    cursor.advance(50)
    assert cursor.judge(Tick(found(7, 120, b""), found(7, 120))) == "stay"
    assert cursor.judge(Tick(found(7, 130, b""), found(7, 130))) == "switch"


def test_another_file_was_opened_than_was_looked_at() -> None:
    cursor = begun()
    replan(cursor, Look(found(7, 100)))
    assert cursor.judge(Tick(found(9, 5, b""), found(9, 5))) == "switch"
    assert replan(cursor, Look(found(7, 100))).offset == 100


def test_backoff_grows_to_half_a_minute_and_is_spread() -> None:
    assert [backoff_s(attempt, lambda: 1.0) for attempt in (1, 2, 3, 7, 8, 1000)] == [0.5, 1.0, 2.0, 30.0, 30.0, 30.0]
    assert [backoff_s(attempt, lambda: 0.0) for attempt in (1, 2, 3, 8)] == [0.5, 0.5, 1.0, 15.0]
