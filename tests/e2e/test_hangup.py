"""A terminal that is closed takes the program with it."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

STORY = Path(__file__).resolve().parents[2] / "fixtures" / "story"


def waited_for(pid: int) -> int:
    """How a process ended, which it has to do by itself."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == pid:
            return status
        time.sleep(0.1)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("it outlived its terminal")


def test_closed_terminal_leaves_no_process_behind(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        words = ("-m", "specmon", "replay", str(STORY), "--speed", "10")
        os.execve(sys.executable, [sys.executable, *words], environment)
    shown, end = b"", time.monotonic() + 90
    while b"tok/s" not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 65536)
    assert b"tok/s" in shown
    os.close(terminal)
    waited_for(pid)


# The screen's loop as it is when the thread that writes for it has died with the terminal.
STANDS_STILL = """
import signal, sys, threading
from specmon.cli import main
from specmon.ui.app import SpecmonApp

async def stand_still(app):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    print("up", file=sys.stderr, flush=True)
    threading.Event().wait()

SpecmonApp.run_async = stand_still
main(["replay", sys.argv[1]])
"""


# The screen has ended, and a thread of its driver is left.
LEAVES_A_THREAD = """
import asyncio, signal, sys, threading
from specmon.cli import main
from specmon.ui.app import SpecmonApp

async def leave_a_thread(app):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=threading.Event().wait).start()
    print("up", file=sys.stderr, flush=True)
    while sys.stderr.isatty():
        await asyncio.sleep(0.01)

SpecmonApp.run_async = leave_a_thread
main(["replay", sys.argv[1]])
"""


@pytest.mark.parametrize("program", [STANDS_STILL, LEAVES_A_THREAD], ids=["loop stands still", "a thread is left"])
def test_closed_terminal_ends_a_program_that_cannot_end(program: str) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", program, str(STORY)])
    shown = b""
    while b"up\r\n" not in shown:  # to its end: a write that is under way when the terminal goes would fail
        shown += os.read(terminal, 1000)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(waited_for(pid)) == 129
