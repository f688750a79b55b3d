"""Lines come back exactly and in order, whatever was fed and whatever fell out; memory and disk stay bounded."""

from __future__ import annotations

import errno
import gc
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.logcolumns import Order, columns_of
from specmon.monitor.logstore import LogStore, Part, Trait
from specmon.monitor.spill import Spill
from specmon.monitor.stamps import stamp_of
from specmon.sources.events import Chunk

from .lines import START, decode, decodes, feed, launch, plain, prefill, ready, session_of

_LINES = st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b" "))


@given(pieces=st.lists(st.binary(max_size=60)), capacity=st.integers(1, 100), at_once=st.integers(1, 30))
def test_ring_gives_back_its_newest_bytes_and_never_others(pieces: list[bytes], capacity: int, at_once: int) -> None:
    spill = Spill(capacity, at_once=at_once)
    whole = b""
    for piece in pieces:
        assert spill.append(piece) == len(whole)
        whole += piece
        assert spill.end == len(whole)
        assert len(whole) - spill.first >= min(len(whole), capacity)
        for start in range(0, len(whole), 7):
            found = spill.read(start, 7)
            expected = whole[start : start + 7] if start >= spill.first and start + 7 <= len(whole) else None
            assert found == expected
    spill.close()


@given(pieces=st.lists(st.binary(max_size=60)), in_memory=st.integers(1, 100))
def test_without_a_file_the_newest_bytes_stay_in_memory(pieces: list[bytes], in_memory: int) -> None:
    spill = Spill(1000, folder="/nowhere/at/all", in_memory=in_memory, at_once=1)
    whole = b""
    for piece in pieces:
        spill.append(piece)
        whole += piece
        kept = min(len(whole), in_memory)
        assert spill.read(len(whole) - kept, kept) == whole[len(whole) - kept :]
        assert spill.end - spill.first <= in_memory
    assert bool(spill.fault) == bool(whole)


def test_file_has_no_name_and_belongs_to_its_user_alone(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    spill = Spill(100, folder=str(tmp_path), at_once=1)
    spill.append(b"a line")
    # The listing itself has a descriptor, too, but that is closed again.
    (opened,) = [int(path.name) for path in set(Path("/proc/self/fd").iterdir()) - before if path.exists()]
    assert list(tmp_path.iterdir()) == []
    assert os.fstat(opened).st_mode & 0o777 == 0o600
    assert os.fstat(opened).st_nlink == 0
    del spill
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened)


def test_full_disk_is_told_once_and_the_newest_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = LogStore(spill=Spill(10_000, in_memory=200, at_once=50))
    for number in range(20):
        store.add("a", number, None, b"line %d" % number)
    monkeypatch.setattr(os, "pwrite", full)
    for number in range(20, 60):
        store.add("a", number, None, b"line %d" % number)
    told = store.new_fault()
    assert "No space left on device" in told
    assert "TMPDIR" in told
    assert store.new_fault() == ""
    assert store.text(59) == b"line 59"
    assert store.text(0) is None


def test_full_disk_is_an_event_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    session = session_of(base=launch(0) + "".join(decodes(10 * part, 1000) for part in range(3)))
    events = [event.text for event in session.snapshot(START).events if "cannot be kept" in event.text]
    assert len(events) == 1


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.one_of(st.none(), st.integers(0, 50).map(float)),
            st.lists(_LINES, min_size=1, max_size=4),
            st.booleans(),
        ),
        max_size=30,
    ),
    held=st.integers(1, 30),
    capacity=st.integers(20, 400),
)
def test_lines_come_back_exactly_and_in_their_servers_order(
    steps: list[tuple[str, float | None, list[bytes], bool]], held: int, capacity: int
) -> None:
    store = LogStore(held, Spill(capacity, at_once=16), part_lines=4)
    fed: list[tuple[str, int, bytes]] = []
    places = dict.fromkeys("abc", 0)
    order = Order()
    for key, at, lines, is_block in steps:
        start = places[key]
        if is_block:
            store.add_text(
                key, b"".join(line + b"\n" for line in lines), start, [] if at is None else [(start, at)], at, []
            )
        for line in lines:
            if not is_block:
                store.add(key, places[key], at, line)
            fed.append((key, places[key], line))
            places[key] += len(line) + 1
        order.sync(store)
        assert store.end == len(fed)
        assert min(held, len(fed)) <= store.end - store.first <= held + 12
        assert sorted(order.numbers.tolist()) == list(range(store.first, store.end))
        assert (order.moments[1:] >= order.moments[:-1]).all()
        for name in "abc":
            mine = [number for number in order.numbers.tolist() if fed[number][0] == name]
            assert mine == sorted(mine)
        whole = [store.text(number) for number in range(store.first, store.end)]
        assert store.texts(store.first, store.end) == whole
        for number, text in enumerate(whole, start=store.first):
            part, index = store.place(number)
            assert (store.keys[part.server[index]], part.position[index]) == fed[number][:2]
            assert text in (None, fed[number][2])
        gone = [text is None for text in whole]
        assert gone == sorted(gone, reverse=True)  # only the oldest
    store_again = Order()
    store_again.sync(store)
    assert len(store_again.numbers) == len(order.numbers)


def test_lines_of_two_servers_are_merged_by_their_time_however_they_arrive() -> None:
    store, order = LogStore(), Order()
    for at in (1.0, 2.0, 3.0, 4.0):
        store.add("a", int(at), at, b"a%d" % at)
    order.sync(store)
    for at in (1.5, 2.5, 2.5, 5.0):
        store.add("b", int(at), at, b"b")
    order.sync(store)
    assert order.moments.tolist() == [1.0, 1.5, 2.0, 2.5, 2.5, 3.0, 4.0, 5.0]


def test_lines_before_the_first_stamp_of_a_log_stand_before_it() -> None:
    store, order = LogStore(), Order()
    store.add("a", 0, 100.0, b"a")
    store.add("b", 0, None, b"banner")
    order.sync(store)
    assert order.numbers.tolist() == [0, 1]  # nobody knows better
    store.add("b", 7, 50.0, b"b")
    order.sync(store)
    assert order.numbers.tolist() == [1, 2, 0]


def test_clock_that_steps_back_changes_no_order_of_a_log() -> None:
    store, order = LogStore(), Order()
    for position, at in enumerate((10.0, 3.0, 11.0)):
        store.add("a", position, at, b"a")
    store.add("b", 0, 5.0, b"b")
    order.sync(store)
    assert order.numbers.tolist() == [3, 0, 1, 2]


@pytest.mark.parametrize("cut", [10, 100_000], ids=["small_chunks", "one_block"])
def test_what_was_made_of_a_line_is_kept_however_it_came(cut: int) -> None:
    text = launch(0) + ready(1) + prefill(2) + decodes(3, 400) + plain(400, "Decode batch, #running-req: 1, broken")
    session = session_of()
    for start in range(0, len(text), cut * 10):
        session.feed("a", Chunk(START, start, text[start : start + cut * 10].encode()))
    store = session.log.store
    lines = text.splitlines()
    assert [store.text(number) for number in range(store.end)] == [line.encode() for line in lines]
    traits = [part.traits[index] for part, index in map(store.place, range(store.end))]
    assert traits == [0, 0, Trait.PREFILL, *[Trait.SAMPLE] * 400, Trait.UNPARSED]
    times = [part.at[index] for part, index in map(store.place, range(store.end))]
    assert times[3] == START + 3
    assert times == sorted(times)


def test_line_out_of_a_container_keeps_the_form_that_its_carrier_gave_it() -> None:
    session = session_of()
    inner = (launch(0) + decode(1) + decode(2)).splitlines()
    carried = [f"sglang-1  | {line}" for line in inner]
    feed(session, "a", "\n".join(carried) + "\n")
    store = session.log.store
    assert [store.text(number) for number in range(store.end)] == [line.encode() for line in inner]
    assert [store.carried(number) for number in range(store.end)] == [line.encode() for line in carried]


def test_lines_of_the_probe_are_statistics() -> None:
    session = session_of()
    phases = plain(1, "specmon-phase v1 cycles=40 running=1 decode_ms=15.7 cycle_ms=15.9", "TP0")
    feed(session, "a", launch(0) + decode(1) + phases + plain(2, "a remark"))
    book = session.open_log()
    book.sync()
    assert [row.line.is_stats for row in book.rows(0, 9)] == [False, True, True, False]


def test_three_hundred_thousand_lines_need_no_more_objects_than_three_thousand() -> None:
    def objects_after(lines: int) -> tuple[int, int]:
        store = LogStore(held=200_000, spill=Spill(1 << 20))
        for number in range(lines):
            store.add("a", number * 100, float(number), b"x" * 99)
        gc.collect()
        sizes = sum(len(getattr(part, name)) for part in store.parts for name in part.__slots__)
        return len(store.parts), sizes

    parts, entries = objects_after(300_000)
    assert parts <= 200_000 // 8192 + 2
    assert entries <= len(Part.__slots__) * (200_000 + 2 * 8192)


def test_session_of_three_hundred_thousand_lines_holds_a_bounded_number_of_objects() -> None:
    session = session_of(base=launch(0))
    store = session.log.store
    block = "".join(plain(5, 'INFO: 127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK') for _ in range(3000)).encode()
    offset = len(launch(0))
    counts = []
    for _ in range(100):
        session.feed("base", Chunk(START, offset, block))
        offset += len(block)
        counts.append(len(gc.get_objects()))
    assert store.end == 300_001
    assert max(counts[50:]) - max(counts[10:50]) < 500
    assert sum(map(len, store.parts)) == store.end - store.first


@pytest.mark.parametrize("lines", [1, 3000], ids=["few", "many"])
def test_line_that_no_dialect_dates_has_the_time_of_its_own_stamp(lines: int) -> None:
    text = launch(0) + decode(1) + plain(500, "something else") + "and its second line\n" + decode(600) * lines
    store = session_of(base=text).log.store
    times = [part.at[index] - START for part, index in map(store.place, range(5))]
    assert times == [0, 1, 500, 500, 600]


@given(moment=st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1)), sign=st.sampled_from("T "))
def test_stamps_are_read_alike_one_by_one_and_in_columns(moment: datetime, sign: str) -> None:
    stamp = moment.strftime(f"%Y-%m-%d{sign}%H:%M:%S").rjust(19, "0")
    lines = [f"[{stamp} TP0] x", f"{stamp} x", "no stamp", f"[{stamp[:-1]}x", "", f"x{stamp}"]
    expected = moment.replace(microsecond=0, tzinfo=UTC).timestamp()
    assert [stamp_of(line.encode()) for line in lines] == [expected, expected, None, None, None, None]
    columns = columns_of(("\n".join(lines) + "\n").encode(), 7, [], None, [])
    assert columns.at.tolist() == [expected] * 6
    columns = columns_of(("\n".join(lines[::-1]) + "\n").encode(), 7, [], 3.0, [])
    assert columns.at.tolist() == [3.0] * 4 + [expected] * 2
