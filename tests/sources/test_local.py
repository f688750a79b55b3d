"""Files of this machine, and stdin."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from specmon.errors import UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, Waiting
from specmon.sources.files import expand_glob, look_at
from specmon.sources.follow import Pace
from specmon.sources.local import LocalFile, LocalReach
from specmon.sources.stdin import StdinSource

from .reading import Heard, Listening

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FAST = LocalReach(poll_s=0.005, tick_s=0.02)


def numbered(first: int, count: int) -> bytes:
    return b"".join(b"line %06d of the log\n" % number for number in range(first, first + count))


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def following(path: Path, backfill_bytes: int | None = None) -> Listening:
    return Listening(LocalFile(str(path), follow=True, backfill_bytes=backfill_bytes, reach=FAST).events())


async def read(path: Path) -> Heard:
    heard = Heard()
    await heard.listen(LocalFile(str(path), pace=Pace(clock=lambda: 5.0)).events())
    return heard


async def test_reads_to_the_end_and_stops(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 100_000))
    heard = await read(log)
    assert heard.data == numbered(0, 100_000)
    status = log.stat()
    assert isinstance(heard.events[0], Connected)
    assert (heard.events[0].offset, heard.events[0].size) == (0, status.st_size)
    assert heard.events[-1] == CaughtUp(5.0)
    assert [chunk.offset for chunk in heard.of(Chunk)][:2] == [0, 1024 * 1024]


async def test_empty_file_ends_at_once(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.touch()
    assert [type(event) for event in (await read(log)).events] == [Connected, CaughtUp]


PACKERS = [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd.compress)]


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
async def test_compressed_file_is_read_as_it_is(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    log = tmp_path / f"a.log{suffix}"
    log.write_bytes(pack(numbered(0, 60_000)))
    heard = await read(log)
    assert heard.data == numbered(0, 60_000)
    assert isinstance(heard.events[-1], CaughtUp)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
async def test_broken_compressed_file_is_unreadable(tmp_path: Path, suffix: str) -> None:
    log = tmp_path / f"a.log{suffix}"
    log.write_bytes(b"this is not compressed")
    with pytest.raises(UnreadableInput, match="cannot be unpacked"):
        await read(log)


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
async def test_cut_compressed_file_gives_what_can_be_read_and_a_sentence(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    log = tmp_path / f"a.log{suffix}"
    whole = b"".join(b"%d %b\n" % (number, os.urandom(12).hex().encode()) for number in range(60_000))
    log.write_bytes(pack(whole)[:-5000])
    heard = await read(log)
    assert whole.startswith(heard.data)
    assert len(heard.data) > len(whole) / 4
    (gap,) = [event for event in heard.events if isinstance(event, Gap)]
    assert gap.reason.startswith(f"{log} is cut off or damaged: ")
    assert isinstance(heard.events[-1], CaughtUp)


@pytest.mark.parametrize(("name", "words"), [("none.log", "no such file"), (".", "is a directory, not a log")])
async def test_what_cannot_be_opened_is_told_in_a_sentence(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        await read(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {words}. Name a log file that can be read."


async def test_pipe_at_the_path_is_told_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableInput, match="is a pipe"):
        await read(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_unreadable_file_is_told(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.touch(mode=0)
    with pytest.raises(UnreadableInput, match="no permission"):
        await read(log)


async def test_following_hands_out_new_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 10) + b"half")
    async with following(log, backfill_bytes=0) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        add(log, b" line\n" + numbered(10, 5))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(10, 5)))
    assert heard.data == numbered(10, 5)  # the line that began before is left out


async def test_missing_file_is_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    async with following(log, backfill_bytes=0) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        log.write_bytes(numbered(0, 5))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 5)))
    assert heard.data == numbered(0, 5)
    assert heard.of(Waiting)[0].reason == f"{log}: no such file"


async def test_directory_is_refused_when_following(tmp_path: Path) -> None:
    heard = Heard()
    await heard.listen(LocalFile(str(tmp_path), follow=True).events())
    assert [type(event) for event in heard.events] == [Refused]


async def test_truncated_file_starts_over(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 100))
    async with following(log) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        log.write_bytes(numbered(100, 5))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 105)))
    assert heard.data == numbered(0, 105)
    assert [event.reason for event in heard.of(Rotated)] == ["truncated"]
    assert heard.of(Chunk)[-1].offset == 0


async def test_file_overwritten_by_a_longer_one_starts_over(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 10))
    async with following(log) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        other = tmp_path / "other"
        other.write_bytes(numbered(10, 100))
        other.replace(log)
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 110)))
    assert heard.data == numbered(0, 110)
    assert [event.reason for event in heard.of(Rotated)] == ["replaced"]


async def test_renamed_file_is_read_to_its_end_first(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(numbered(0, 10))
    async with following(log) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        log.rename(tmp_path / "a.log.1")
        log.write_bytes(numbered(20, 10))
        add(tmp_path / "a.log.1", numbered(10, 10))
        await heard.until(lambda heard: len(heard.data) >= len(numbered(0, 30)))
    assert heard.data == numbered(0, 30)
    assert [event.reason for event in heard.of(Rotated)] == ["renamed"]
    assert not heard.of(Gap)


def test_glob_means_its_files_in_order_of_age(tmp_path: Path) -> None:
    for age, name in enumerate(["b.log", "a.log"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    assert expand_glob(str(tmp_path / "*.log")) == [str(tmp_path / "b.log"), str(tmp_path / "a.log")]
    (tmp_path / "[x].log").touch()
    assert expand_glob(str(tmp_path / "[x].log")) == [str(tmp_path / "[x].log")]
    with pytest.raises(UnreadableInput, match="no file matches"):
        expand_glob(str(tmp_path / "*.txt"))


async def test_stdin_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    heard = Heard()
    try:
        os.write(writing, b"one\ntwo")
        os.close(writing)
        await heard.listen(StdinSource(descriptor=reading).events())
    finally:
        os.close(reading)
    assert heard.data == b"one\ntwo"
    assert [type(event) for event in heard.events] == [Connected, Chunk, CaughtUp]


async def test_closed_stdin_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UnreadableInput, match="stdin is closed"):
        await Heard().listen(StdinSource().events())
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    with pytest.raises(UnreadableInput, match="stdin is closed"):
        await Heard().listen(StdinSource(descriptor=reading).events())


async def test_pipe_is_refused_where_it_would_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    (event,) = [event async for event in LocalFile(str(path), follow=True, reach=FAST).events()]
    assert isinstance(event, Refused)
    assert "is a pipe, which can be read once and not be followed. Name a log file instead." in event.reason


def test_looking_at_a_pipe_does_not_take_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    look_at(str(path))
    with pytest.raises(OSError, match="No such device"):  # a reader was there, or still is: no error
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)
