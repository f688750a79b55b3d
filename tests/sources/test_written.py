"""Whoever reads a local log is told when it is written, and looks for himself where nothing tells."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specmon.sources import written
from specmon.sources.local import LocalReach
from specmon.sources.written import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
_LONG_S = 60.0  # a test that waits so long has failed


def _open(path: Path) -> int:
    path.touch()
    return os.open(path, os.O_RDONLY)


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_write_wakes_whoever_waits_and_only_those_of_that_file(tmp_path: Path) -> None:
    one, other = _open(tmp_path / "one"), _open(tmp_path / "other")
    watches = [Watch.of(one), Watch.of(one), Watch.of(other)]
    waiting = [asyncio.create_task(watch.wait(_LONG_S)) for watch in watches]
    await asyncio.sleep(0)
    (tmp_path / "one").write_text("line\n")
    await asyncio.gather(*waiting[:2])
    assert [watch.is_written for watch in watches] == [True, True, False]
    assert not waiting[2].done()
    waiting[2].cancel()
    for watch in watches:
        watch.close()
    os.close(one)
    os.close(other)


async def test_what_was_written_before_the_wait_ends_it_at_once(tmp_path: Path) -> None:
    descriptor = _open(tmp_path / "log")
    watch = Watch.of(descriptor)
    (tmp_path / "log").write_text("line\n")
    await watch.wait(_LONG_S)
    await watch.wait(_LONG_S)  # nobody has seen it yet
    watch.forget()
    began = time.monotonic()
    await watch.wait(0.01)
    assert time.monotonic() - began >= 0.01
    watch.close()
    os.close(descriptor)


async def test_a_file_that_moved_is_still_the_one_that_is_watched(tmp_path: Path) -> None:
    descriptor = _open(tmp_path / "log")
    (tmp_path / "log").rename(tmp_path / "log.1")
    watch = Watch.of(descriptor)
    with (tmp_path / "log.1").open("a") as file:
        file.write("late\n")
    await watch.wait(_LONG_S)
    assert watch.is_written
    watch.close()
    os.close(descriptor)


async def test_the_last_watch_takes_the_instance_with_it(tmp_path: Path) -> None:
    before = _open_files()
    descriptors = [_open(tmp_path / name) for name in "abc"]
    watches = [Watch.of(descriptor) for descriptor in descriptors]
    for watch, descriptor in zip(watches, descriptors, strict=True):
        (tmp_path / "a").unlink(missing_ok=True)  # the kernel forgets a watch with its file
        watch.close()
        watch.close()
        os.close(descriptor)
    assert _open_files() == before


def _refuse_to_begin(name: str, *_: int | bytes) -> int:
    raise OSError(24, name)


def _refuse_to_watch(name: str, *arguments: int | bytes) -> int:
    if name == "inotify_add_watch":
        raise OSError(28, name)
    return _CALLED(name, *arguments)


_CALLED = written._called


@pytest.mark.parametrize("refuse", [_refuse_to_begin, _refuse_to_watch], ids=["no instance left", "no watch left"])
async def test_without_word_from_the_kernel_the_file_is_looked_at(
    refuse: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "_called", refuse)
    before = _open_files()
    path = tmp_path / "log"
    path.write_text("one\n")
    async with LocalReach(poll_s=0.001, tick_s=_LONG_S).open(str(path), 4, str(path), 4) as opened:
        await opened.next()  # a look
        asyncio.get_running_loop().call_later(0.01, path.write_text, "one\ntwo\n")
        assert (await opened.next()).data == b"two\n"
    assert _open_files() == before


async def test_a_file_that_tells_is_not_looked_at_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_text("")
    looks = 0
    read = os.pread

    def count(descriptor: int, size: int, offset: int) -> bytes:
        nonlocal looks
        looks += size > 100_000
        return read(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", count)
    async with LocalReach(poll_s=0.001, tick_s=_LONG_S).open(str(path), 0, str(path), 0) as opened:
        await opened.next()
        for line in ("one\n", "two\n"):  # with the first one it turns out that they are told
            asyncio.get_running_loop().call_later(0.05, _append, path, line)
            looks = 0
            assert (await opened.next()).data.decode() == line
    assert looks <= 3


async def test_bytes_that_came_without_a_word_are_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_text("")
    async with LocalReach(poll_s=0.001, tick_s=0.05).open(str(path), 0, str(path), 0) as opened:
        await opened.next()
        asyncio.get_running_loop().call_soon(_append, path, "one\n")
        assert (await opened.next()).data == b"one\n"
        monkeypatch.setattr(Watch, "tell", lambda _: None)  # as where another machine writes
        for line in ("two\n", "three\n"):
            _append(path, line)
            while not (data := (await opened.next()).data):
                pass
            assert data.decode() == line


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)
