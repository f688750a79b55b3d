"""A host that wants a password: asked for on the terminal first, and on the screen when the link was lost."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.cli.hosts import baseline_log
from tests.conftest import running_sshd
from tests.sources.accounts import PASSWORD, account

from .test_terminal import TMUX, Terminal, terminal

pytestmark = [pytest.mark.sshd, pytest.mark.skipif(TMUX is None, reason="no tmux here (install tmux)")]

__all__ = ["terminal"]


def test_password_is_asked_for_on_the_terminal_and_again_on_the_screen(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    log = Path("/tmp") / f"specmon-login-{time.time_ns()}.log"  # a folder that the account may enter
    with account() as user, running_sshd(folder, "PasswordAuthentication yes") as sshd:
        log.write_text(baseline_log(tok_s=62.9))
        try:
            options = f"-p {sshd.port} --known-hosts {sshd.known_hosts} --baseline {log}"
            terminal.type(f"{sys.executable} -m specmon connect {user}@127.0.0.1 {options}", "Enter")
            terminal.wait_for("Password for")
            terminal.type(PASSWORD, "Enter")
            assert PASSWORD not in terminal.wait_for("ONE SERVER")
            terminal.wait_for("62.9")
            assert sshd.kill_sessions() > 0
            terminal.wait_for("enter answers, esc does not")
            terminal.type(PASSWORD, "Enter")
            with log.open("a") as more:
                more.write(baseline_log(samples=40, tok_s=88.8))
            shown = terminal.wait_for("88.8")
            assert PASSWORD not in shown
            terminal.type("q")
            assert "Traceback" not in terminal.wait_for("prompt$")
        finally:
            log.unlink()
