"""The program in a real terminal (tmux): it draws, answers keys, fits every size and leaves the terminal clean."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
STORY = Path(__file__).resolve().parents[2] / "fixtures" / "story"
pytestmark = pytest.mark.skipif(TMUX is None, reason="no tmux here (install tmux)")


class Terminal:
    """One tmux session with a shell in it, on a server of its own."""

    def __init__(self, folder: Path, columns: int, rows: int) -> None:
        assert TMUX is not None
        self._tmux = [TMUX, "-S", str(folder / "tmux"), "-f", "/dev/null"]
        home = folder / "home"
        home.mkdir()
        kept = f"TMUX=$TMUX HOME={home} PATH={os.environ['PATH']}"
        shell = f"env -i {kept} TERM=screen-256color LANG=C.UTF-8 PS1='prompt$ ' sh"
        self._run("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder), shell)

    def _run(self, *args: str) -> str:
        done = subprocess.run([*self._tmux, *args], capture_output=True, text=True, timeout=90, check=True)
        return done.stdout

    def type(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def text(self) -> str:
        return self._run("capture-pane", "-p")

    def wait_for(self, part: str, seconds: float = 90) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if part in (text := self.text()):
                return text
            time.sleep(0.1)
        raise AssertionError(f"{part!r} did not appear:\n{self.text()}")

    def resize(self, columns: int, rows: int) -> None:
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def copied(self) -> str:
        """What tmux holds as copied last."""
        return self._run("show-buffer")

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=90, check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, 120, 40)
    try:
        yield opened
    finally:
        opened.close()


def test_demo_tells_its_story_on_a_real_terminal(terminal: Terminal) -> None:
    terminal.type(f"{sys.executable} -m specmon demo --speed 20", "Enter")
    terminal.wait_for("BASELINE NOT TRUSTED")
    terminal.wait_for("story is over")
    terminal.wait_for("0.85×")  # the last bytes may still be on their way when the clock has stopped
    text = terminal.wait_for("NCCL_PROTO")  # and the conditions
    assert "1.21×" in text
    for columns, rows in ((80, 24), (200, 60), (40, 12)):
        terminal.resize(columns, rows)
        time.sleep(0.6)  # tmux tells the program of the new size when it likes
        small = terminal.wait_for("NOT TRUSTED")
        assert "Traceback" not in small
        assert all(len(line) <= columns for line in small.splitlines())
    terminal.type("q")
    text = terminal.wait_for("prompt$")
    assert "Traceback" not in text


def test_quitting_leaves_a_usable_terminal(terminal: Terminal) -> None:
    terminal.type(f"{sys.executable} -m specmon demo", "Enter")
    terminal.wait_for("DEMO")
    terminal.type("q")
    terminal.wait_for("prompt$")
    terminal.type("echo still $((40 + 2))", "Enter")
    terminal.wait_for("still 42")


def test_verdict_is_copied_into_tmux_and_the_session_exported(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(f"{sys.executable} -m specmon replay {STORY} --speed max", "Enter")
    terminal.wait_for("1.21×")
    terminal.type("y")
    terminal.wait_for("Copied")
    assert terminal.copied().startswith("**")
    terminal.type("e")
    terminal.wait_for("Exported")
    (folder,) = tmp_path.glob("specmon-2*")
    assert {"report.md", "summary.json", "levels.csv", "samples.csv", "tok_s.svg", "screen.svg"} <= {
        path.name for path in folder.iterdir()
    }
    terminal.type("q")
    terminal.wait_for("prompt$")


@pytest.mark.parametrize("term", ["xterm-256color", "screen", "tmux-256color", "vt100", "no-such-terminal"])
def test_every_terminal_gets_the_screen(terminal: Terminal, term: str) -> None:
    terminal.type(f"TERM={term} {sys.executable} -m specmon replay {STORY} --speed max", "Enter")
    text = terminal.wait_for("SPECULATIVE WINS  1.21×")
    assert "⣿" in text
    terminal.type("q")
    assert "Traceback" not in terminal.wait_for("prompt$")


def test_terminal_without_utf8_gets_ascii(terminal: Terminal) -> None:
    words = f"env -u LC_ALL -u LC_CTYPE LANG=C {sys.executable} -m specmon"
    terminal.type(f"clear; {words} replay {STORY} --speed max", "Enter")
    text = terminal.wait_for("1.21x")
    assert text.isascii()
    assert "OK" in text
    terminal.type("q")
    assert "Traceback" not in terminal.wait_for("prompt$")


def test_dumb_terminal_gets_lines(terminal: Terminal) -> None:
    terminal.type(f"TERM=dumb {sys.executable} -m specmon replay {STORY} --speed max --interval 0.5", "Enter")
    text = terminal.wait_for("spec 75.9 tok/s")
    assert "SPECULATIVE WINS" in text
    assert "Traceback" not in terminal.wait_for("prompt$")
