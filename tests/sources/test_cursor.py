"""What the cursor decides after each look."""

from __future__ import annotations

import pytest

from specmon.sources.cursor import Cursor
from specmon.sources.events import FileIdentity, Gap, Rotated
from specmon.sources.follow import backoff_s
from specmon.sources.looks import Batch, Compare, Evidence, FoundFile, Look, MovedFile, NoFile, ReadFrom

PATH = "a.log"


def found(inode: int, size: int, head: bytes = b"first") -> FoundFile:
    return FoundFile(FileIdentity(1, inode, head), size)


def batch(
    size: int, data: bytes = b"", *, inode: int = 7, at_path: FoundFile | None = None, head: bytes = b""
) -> Batch:
    """What is read of file 7 while it has a size; by default it is at its path."""
    evidence = (Evidence(0, head),) if head else ()
    return Batch(data, found(inode, size, b""), at_path or found(inode, size, b""), evidence)


def begun(size: int = 100, *, backfill_bytes: int | None = None) -> Cursor:
    """A cursor that has read a file to its end."""
    cursor = Cursor(backfill_bytes=backfill_bytes)
    plan = cursor.plan(PATH, Look(found(7, size)), 0.0)
    assert isinstance(plan, ReadFrom)
    assert cursor.judge(batch(size), 0.0) == "stay"
    assert cursor.judge(batch(size, (b"first" + b"x" * size)[plan.offset : size]), 0.0) == "stay"
    assert cursor.judge(batch(size), 0.0) == "stay"
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


def test_equal_beginning_with_other_bytes_before_the_position_is_another_life() -> None:
    cursor = begun()
    assert replan(cursor, Look(found(7, 500))).offset == 100
    seen = Batch(b"", found(7, 500, b""), found(7, 500, b""), (Evidence(90, b"other line"),))
    assert cursor.judge(seen, 0.0) == "drop"
    plan = replan(cursor, Look(found(7, 500)))
    assert plan.offset == 0
    assert plan.announce[0] == Gap(5.0, None, "the file was truncated while nobody could look")


def test_zeros_of_a_network_file_system_are_no_other_life() -> None:
    cursor = begun()
    assert cursor.judge(batch(120, b"\0" * 20), 0.0) == "stay"
    late = Batch(b"new", found(7, 123, b""), None, (Evidence(100, b"these bytes came late"[:20]),))
    assert cursor.judge(late, 0.0) == "stay"


def test_renamed_file_is_read_to_its_end_first() -> None:
    cursor = begun()
    moved = MovedFile("a.log.1", found(7, 150))
    new = found(8, 20, b"new")
    plan = replan(cursor, Look(new, moved))
    assert (plan.path, plan.offset, plan.announce) == ("a.log.1", 100, ())
    assert cursor.judge(batch(150, at_path=new), 10.0) == "stay"  # 50 bytes are still to come
    assert cursor.judge(batch(150, b"y" * 50, at_path=new), 10.1) == "stay"
    assert cursor.judge(batch(150, at_path=new), 11.0) == "stay"
    assert cursor.judge(batch(150, at_path=new), 11.2) == "leave"
    plan = replan(cursor, Look(found(8, 30, b"new"), moved))
    assert (plan.path, plan.offset) == (PATH, 0)
    assert plan.announce == (Rotated(5.0, FileIdentity(1, 8, b"new"), "renamed"),)


@pytest.mark.parametrize(("place", "is_ours"), [("a.log.1", True), ("b.log", False)])
def test_number_of_an_empty_file_that_another_name_has_now_proves_nothing(place: str, is_ours: bool) -> None:
    cursor = Cursor(backfill_bytes=None)
    assert isinstance(cursor.plan(PATH, Look(found(7, 0, b"")), 0.0), ReadFrom)
    plan = replan(cursor, Look(found(8, 30), MovedFile(place, found(7, 90, b"foreign"))))
    assert (plan.path == place) is is_ours


def test_writer_that_has_not_let_go_of_the_old_file_is_waited_for() -> None:
    cursor, new = begun(), found(8, 20, b"new")
    assert cursor.judge(batch(100, at_path=new), 0.0) == "stay"
    assert cursor.judge(batch(110, b"y" * 10, at_path=new), 2.0) == "stay"  # it grew
    assert cursor.judge(batch(110, at_path=new), 2.9) == "stay"
    assert cursor.judge(batch(110, at_path=new), 3.0) == "leave"


def test_old_file_that_grew_after_it_was_left_is_gone_back_to() -> None:
    cursor, new = begun(), found(8, 20, b"new")
    assert cursor.judge(batch(100, at_path=new), 0.0) == "stay"
    assert cursor.judge(batch(100, at_path=new), 1.0) == "leave"
    plan = replan(cursor, Look(new, MovedFile("a.log.1", found(7, 130))))
    assert (plan.path, plan.offset) == ("a.log.1", 100)


@pytest.mark.parametrize("successor", [None, found(8, 0, b"")])
def test_renamed_file_without_anything_in_its_successor_is_stayed_with(successor: FoundFile | None) -> None:
    cursor = begun()
    for second in range(5):
        assert cursor.judge(Batch(b"", found(7, 100, b""), successor), second) == "stay"


def test_file_that_is_gone_after_an_outage_leaves_a_gap() -> None:
    plan = replan(begun(), Look(found(8, 20, b"new")))
    assert plan.announce == (
        Gap(5.0, None, "the file was replaced while nobody could look"),
        Rotated(5.0, FileIdentity(1, 8, b"new"), "replaced"),
    )


def test_gap_has_the_size_that_was_seen() -> None:
    cursor = begun()
    assert cursor.judge(batch(180), 0.0) == "stay"
    assert cursor.judge(batch(180), 0.0) == "stay"  # only now it is sure that the size was of this life
    plan = replan(cursor, Look(found(8, 20, b"new")))
    assert plan.announce[0] == Gap(5.0, 80, "the file was replaced before its end was read")


@pytest.mark.parametrize("number", [9, 8])  # a file system gives the number of a removed file to the next one
def test_file_that_came_and_went_while_the_one_before_was_read_leaves_a_gap_of_its_size(number: int) -> None:
    cursor = begun()
    for size in (40, 60):
        assert cursor.judge(batch(100, at_path=found(8, size)), 1.0) == "stay"
    assert cursor.judge(batch(100, at_path=found(number, 10)), 1.5) == "stay"
    assert cursor.judge(batch(100, at_path=found(number, 30)), 9.0) == "leave"
    assert cursor.missed == ((found(8, 60).identity,) if number == 9 else ())  # else there is nothing to look for
    plan = replan(cursor, Look(found(number, 30)))
    gone = Gap(5.0, 60, "another file stood there, as long as that when last seen, and was gone before its turn")
    assert plan.announce == (gone, Rotated(5.0, found(number, 30).identity, "replaced"))
    assert not cursor.missed


def test_successor_with_the_number_of_one_that_was_removed_is_known_by_its_beginning() -> None:
    cursor = begun()
    assert cursor.judge(batch(100, at_path=found(8, 40, b"")), 1.0) == "stay"
    assert cursor.wants_look
    cursor.note_look(Look(found(8, 50, b"second")))
    assert not cursor.wants_look
    assert cursor.judge(batch(100, at_path=found(8, 45, b"")), 1.5) == "stay"  # said before the look
    assert cursor.judge(batch(100, at_path=found(8, 90, b"")), 9.0) == "leave"
    plan = replan(cursor, Look(found(8, 100, b"third")))
    assert [event.size_bytes for event in plan.announce if isinstance(event, Gap)] == [90]


def test_file_that_was_renamed_while_the_one_before_was_read_comes_in_its_turn() -> None:
    cursor = begun()
    assert cursor.judge(batch(100, at_path=found(8, 60)), 1.0) == "stay"
    assert cursor.judge(batch(100, at_path=found(9, 30)), 1.5) == "stay"
    assert cursor.judge(batch(100, at_path=found(9, 30)), 9.0) == "leave"
    later = MovedFile("a.log.1", found(8, 60))
    assert replan(cursor, Look(found(9, 30), later=later)).path == "a.log.1"
    assert not cursor.missed


def test_truncation_beside_the_open_file_is_seen() -> None:
    cursor = begun()
    assert cursor.judge(batch(40), 0.0) == "leave"
    plan = replan(cursor, Look(found(7, 500)))  # grown past the old position in the meantime
    assert plan.offset == 0
    assert plan.announce == (Rotated(5.0, FileIdentity(1, 7, b"first"), "truncated"),)


def test_bytes_before_a_truncation_are_handed_out() -> None:
    cursor = begun()
    assert cursor.judge(batch(40, b"the last line"), 0.0) == "leave"
    assert not cursor.is_in_doubt
    assert replan(cursor, Look(found(7, 40))).announce == (Rotated(5.0, FileIdentity(1, 7, b"first"), "truncated"),)


@pytest.mark.parametrize(
    ("now", "ours"),
    [(b"NEW LINES", b"old lines"), (b"old lines", b""), (b"", b"old lines")],
    ids=["of the old life", "of the new life", "gone again"],
)
def test_bytes_that_came_while_the_life_changed_are_told_apart_by_what_is_there_now(now: bytes, ours: bytes) -> None:
    cursor = begun()
    assert cursor.judge(batch(500, b"old lines", head=b"other"), 0.0) == "drop"
    assert cursor.is_in_doubt
    assert cursor.compare(PATH, Look(found(7, 600, b"other"))) == Compare(PATH, FileIdentity(1, 7, b"other"), 100, 9)
    assert cursor.settle(now) == (100, ours)
    assert not cursor.is_in_doubt
    plan = replan(cursor, Look(found(7, 600, b"other")))
    assert (plan.offset, plan.announce) == (0, (Rotated(5.0, FileIdentity(1, 7, b"other"), "truncated"),))


def test_batch_of_both_lives_is_parted_where_one_reading_ended() -> None:
    cursor = begun()
    old, new = b"o" * 65536, b"n" * 1000
    assert cursor.judge(batch(70_000, old + new, head=b"other"), 0.0) == "drop"
    assert cursor.settle(b"N" * 65536 + new) == (100, old)


def test_doubt_has_nothing_to_compare_with_when_the_file_is_gone_or_short() -> None:
    cursor = begun()
    assert cursor.judge(batch(500, b"old lines", head=b"other"), 0.0) == "drop"
    assert cursor.compare(PATH, Look(found(9, 500, b"other"))) is None
    assert cursor.compare(PATH, Look(found(7, 105, b"other"))) is None
    moved = MovedFile("a.log.1", found(7, 500, b"other"))
    assert cursor.compare(PATH, Look(NoFile("no such file"), moved)) == Compare(
        "a.log.1", FileIdentity(1, 7, b"other"), 100, 9
    )


def test_life_that_was_seen_but_never_read_leaves_a_gap_of_its_size() -> None:
    cursor = begun()
    assert cursor.judge(batch(40), 0.0) == "leave"
    plan = replan(cursor, Look(found(8, 5, b"new")))
    assert plan.announce == (
        Gap(5.0, 40, "the file was replaced before its end was read"),
        Rotated(5.0, FileIdentity(1, 8, b"new"), "replaced"),
    )


def test_size_of_the_new_life_is_not_taken_for_the_old_one() -> None:
    cursor = begun()
    # The evidence was read just before the truncation, the size just after it.
    assert cursor.judge(batch(900, head=b"first"), 0.0) == "stay"
    assert cursor.judge(batch(950, head=b"other"), 0.0) == "drop"
    assert replan(cursor, Look(found(7, 950, b"other"))).announce == (
        Rotated(5.0, FileIdentity(1, 7, b"other"), "truncated"),
    )


def test_another_file_was_opened_than_was_looked_at() -> None:
    cursor = begun()
    replan(cursor, Look(found(7, 100)))
    assert cursor.judge(batch(5, inode=9), 0.0) == "drop"
    assert replan(cursor, Look(found(7, 100))).offset == 100


def test_backoff_grows_to_half_a_minute_and_is_spread() -> None:
    assert [backoff_s(attempt, lambda: 1.0) for attempt in (1, 2, 3, 7, 8, 1000)] == [0.5, 1.0, 2.0, 30.0, 30.0, 30.0]
    assert [backoff_s(attempt, lambda: 0.0) for attempt in (1, 2, 3, 8)] == [0.5, 0.5, 1.0, 15.0]
