"""Commands of this machine: whoever is cancelled, at whatever moment, leaves neither a process nor a pipe behind."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from specmon.sources.machine import ThisMachine


def children() -> set[str]:
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


async def listen(command: str) -> None:
    async with ThisMachine().stream(command) as stream:
        while await stream.read():
            pass


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc here")
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_cancelled_command_leaves_nothing(is_streamed: bool) -> None:
    before = children()
    for ticks in range(0, 24, 2):
        asking = listen("cat; exit 0") if is_streamed else ThisMachine().run("sleep 60")
        task = asyncio.ensure_future(asking)
        for _ in range(ticks):
            await asyncio.sleep(0 if ticks % 4 else 0.001)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert children() <= before
    gc.collect()  # a pipe that was left open would say so now, which fails the test


async def test_stream_ends_when_its_stdin_is_let_go(tmp_path: Path) -> None:
    async with ThisMachine().stream(f"echo begun; cat; echo ended >{tmp_path}/end") as stream:
        assert await stream.read() == b"begun\n"
    assert (tmp_path / "end").read_text() == "ended\n"
