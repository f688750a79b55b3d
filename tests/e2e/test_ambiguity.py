"""Two baselines on a host, on a real terminal: the screen asks, and shows what was chosen."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.hosts import baseline_log, servers, speculative_log

from .test_terminal import TMUX, Terminal, terminal

pytestmark = [pytest.mark.skipif(TMUX is None, reason="no tmux here (install tmux)")]

__all__ = ["terminal"]


def test_screen_asks_which_baseline_is_meant(terminal: Terminal, tmp_path: Path) -> None:
    logs = {name: tmp_path / f"{name}.log" for name in ("one", "two", "spec")}
    logs["one"].write_text(baseline_log(tok_s=50.0))
    logs["two"].write_text(baseline_log(tok_s=62.9))
    logs["spec"].write_text(speculative_log(tok_s=75.9))
    with servers(tmp_path) as running:
        for port, name in enumerate(("one", "two"), start=30011):
            running.start(["sglang", "--model-path", "/m", "--port", f"{port}"], log=logs[name])
        words = ["--model-path", "/m", "--speculative-algorithm", "EAGLE3", "--port", "30013"]
        running.start(["sglang", *words], log=logs["spec"])
        terminal.type(f"{sys.executable} -m specmon connect local:", "Enter")
        asked = terminal.wait_for("2 baseline servers run. Which one is to be compared?")
        assert str(logs["two"]) in asked.replace("\n", "")
        terminal.type("2")
        terminal.wait_for("1.21×")  # 75.9 against 62.9, not against 50
        terminal.type("q")
        assert "Traceback" not in terminal.wait_for("prompt$")
