"""Commands of this machine: whoever is cancelled, at whatever moment, leaves neither a process nor a pipe behind."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
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
@pytest.mark.parametrize("times", [1, 2])
async def test_cancelled_command_leaves_nothing(is_streamed: bool, times: int) -> None:
    before = children()
    for ticks in range(0, 24, 2 * times):
        asking = listen("cat; exit 0") if is_streamed else ThisMachine().run("sleep 60")
        task = asyncio.ensure_future(asking)
        for _ in range(ticks):
            await asyncio.sleep(0 if ticks % 4 else 0.001)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert task.cancelled()
    assert children() <= before
    gc.collect()  # a pipe that was left open would say so now, which fails the test


def test_loop_that_ends_while_a_command_is_being_started_ends() -> None:
    program = """
import asyncio
from specmon.commands.loop import run_whole
from specmon.sources.machine import ThisMachine

async def main(ticks):
    task = asyncio.create_task(ThisMachine().run("true"))
    for _ in range(ticks):
        await asyncio.sleep(0)

for ticks in range(8):
    run_whole(main(ticks))
print("ended")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("ended\n", "")


async def test_stream_ends_when_its_stdin_is_let_go(tmp_path: Path) -> None:
    async with ThisMachine().stream(f"echo begun; cat; echo ended >{tmp_path}/end") as stream:
        assert await stream.read() == b"begun\n"
    assert (tmp_path / "end").read_text() == "ended\n"
