"""Where a question about a password or a host key is asked: on the terminal before the screen, on the screen after."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from textual.widgets import Input

from specmon.commands.asking import UserPrompt
from specmon.sources.ssh import SshHost
from specmon.sources.ssh_login import Question
from specmon.ui.app import SpecmonApp
from specmon.ui.ask import AskScreen
from tests.cli.hosts import baseline_log, options_of
from tests.conftest import Sshd
from tests.sources.test_passwords import PASSWORD, _Server, listening
from tests.ui import pictures
from tests.ui.feeds import StillFeed

HOST = "127.0.0.1"


async def test_password_of_a_live_session_is_asked_for_on_the_screen(tmp_path: Path) -> None:
    prompt = UserPrompt()
    app = SpecmonApp(StillFeed(pictures.healthy()))
    async with (
        listening(tmp_path, _Server) as settings,
        SshHost(HOST, settings, prompt=prompt) as host,
        app.run_test(size=(100, 30)) as pilot,
    ):
        with prompt.on_screen(app.ask):
            dialling = asyncio.create_task(host.run("anything"))
            for _ in range(500):
                if isinstance(app.screen, AskScreen) and isinstance(app.focused, Input):
                    break
                await asyncio.sleep(0.01)
            await pilot.press(*(("space" if letter == " " else letter) for letter in PASSWORD), "enter")
            assert (await dialling).stdout == b"hello\n"


async def test_without_a_screen_and_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert await UserPrompt()(Question("gpu01", "password", "Password: ")) is None


class Terminal:
    """A program on a pseudo-terminal; its stdout may be a file all the same."""

    def __init__(self, args: list[str], env: dict[str, str], out: Path) -> None:
        self._master, slave = pty.openpty()
        self.seen = b""
        with out.open("wb") as stdout:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "specmon", *args],
                stdin=slave,
                stdout=stdout,
                stderr=slave,
                env=env,
                start_new_session=True,
            )
        os.close(slave)

    def wait_for(self, words: bytes, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while words not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self._master, 65536)
                except OSError:  # the other end is closed
                    break
        assert words in self.seen, self.seen

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.mark.sshd
@pytest.mark.parametrize(("word", "is_kept", "status"), [("remember", True, 0), ("once", False, 0), ("yes", False, 2)])
def test_unknown_host_key_is_asked_about_on_the_terminal_and_stdout_stays_clean(
    environment: dict[str, str], tmp_path: Path, sshd: Sshd, word: str, is_kept: bool, status: int
) -> None:
    known, out = tmp_path / "known", tmp_path / "out"
    known.touch()
    reach = ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(known))
    terminal = Terminal(["discover", HOST, *reach, "--format", "json"], environment, out)
    try:
        terminal.wait_for(b"Type `once`")
        assert b"SHA256:" in terminal.seen
        terminal.type(f"{word}\n")
        assert terminal.process.wait(timeout=90) == status
    finally:
        terminal.close()
    assert bool(known.read_text()) is is_kept
    told = out.read_text()
    assert "Type" not in told
    assert told.startswith("{") is (status == 0)


@pytest.mark.sshd
def test_nobody_to_ask_refuses_an_unknown_key_and_keeps_nothing(
    environment: dict[str, str], tmp_path: Path, sshd: Sshd
) -> None:
    known = tmp_path / "known"
    known.touch()
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    args = [word if word != str(sshd.known_hosts) else str(known) for word in options_of(sshd)]
    done = subprocess.run(
        [sys.executable, "-m", "specmon", "tail", f"{HOST}:{log}", *args],
        input=b"remember\n",
        capture_output=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert b"host key unknown" in done.stderr
    assert not known.read_text()
