"""What takes a while is shown on a terminal, never in a pipe, and ends on Ctrl+C."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from specmon.commands.progress import Progress, progress_line
from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log


class ManualClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("what", "done", "total", "width", "line"),
    [
        ("reading base.log", 102_000_000, 300_000_000, 80, "reading base.log: 34 % of 300 MB (Ctrl+C ends it)"),
        ("reading base.log", 5_000, None, 80, "reading base.log: 5 kB (Ctrl+C ends it)"),
        ("reading grown.log", 12, 10, 80, "reading grown.log: 100 % of 0 kB (Ctrl+C ends it)"),
        ("reading /a/long/path.log", 1, 4_000_000, 45, "reading ....log: 0 % of 4 MB (Ctrl+C ends it)"),
    ],
)
def test_line_tells_what_is_read_and_how_far(what: str, done: int, total: int | None, width: int, line: str) -> None:
    assert progress_line(what, done, total, width) == line
    assert len(line) <= width


def test_line_comes_after_a_while_and_leaves_nothing_behind() -> None:
    clock, stream = ManualClock(), io.StringIO()
    shown = Progress("reading a", total=100, stream=stream, clock=clock)
    for at in (0.1, 0.2, 0.29):
        clock.now = at
        shown.advance(10)
    assert stream.getvalue() == ""
    clock.now = 0.31
    shown.advance(10)
    clock.now = 0.4
    shown.advance(10)
    assert stream.getvalue() == "\r\x1b[Kreading a: 40 % of 0 kB (Ctrl+C ends it)"
    shown.end()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_quick_work_shows_nothing() -> None:
    stream = io.StringIO()
    shown = Progress("reading a", total=1, stream=stream, clock=ManualClock())
    shown.advance(1)
    shown.end()
    assert stream.getvalue() == ""


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines that no dialect reads on arrays, so that reading them takes a while on every machine."""
    path = tmp_path_factory.mktemp("long") / "long.log"
    with path.open("w") as file:
        file.write(baseline_log())
        block = "".join(f"2026-02-26 16:40:00 INFO step {number} of nothing at all\n" for number in range(20_000))
        for _ in range(60):
            file.write(block)
    return path


@pytest.mark.parametrize("words", [("summary",), ("replay", "--plain", "--speed", "max")])
def test_long_reading_is_shown_on_a_terminal_and_ended_by_ctrl_c(
    words: tuple[str, ...], long_log: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    near, far = pty.openpty()
    command = [sys.executable, "-m", "specmon", *words, str(long_log)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=far, env=environment, cwd=tmp_path
    )
    os.close(far)
    try:
        seen = read_until(near, b"(Ctrl+C ends it)")
        assert b"/long.log: " in seen or b"reading long.log: " in seen
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=90) == 130
        rest = read_until(near, None)
        assert (seen + rest).rstrip(b"\r\n").endswith(b"\r\x1b[K")
        assert b"Traceback" not in seen + rest
    finally:
        process.kill()
        process.wait()
        os.close(near)


def test_nothing_of_it_is_in_a_pipe(specmon: Specmon, long_log: Path) -> None:
    done = specmon("summary", str(long_log))
    assert done.status == 0
    assert "Ctrl+C" not in done.out + done.err


def read_until(terminal: int, part: bytes | None) -> bytes:
    """What the terminal is sent, up to a part of it, or to its end."""
    seen = b""
    end = time.monotonic() + 90
    while time.monotonic() < end and (part is None or part not in seen):
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        seen += data
    return seen


def test_help_says_what_to_type_first(specmon: Specmon) -> None:
    done = specmon()
    assert done.status == 0
    last = done.out.rstrip().splitlines()[-5:]
    assert last[0].strip() == "Begin with one of these:"
    assert [line.split()[:2] for line in last[1:]] == [
        ["specmon", word] for word in ("demo", "discover", "connect", "summary")
    ]
