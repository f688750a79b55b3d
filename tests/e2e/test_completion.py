"""The tab key in real shells: commands, hosts, sessions, references, themes, files near by and over SSH."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Sshd
from tests.e2e.test_terminal import TMUX, Terminal

START = {"bash": "exec bash --norc -i", "zsh": "exec zsh -f -i", "fish": "exec fish --no-config -i"}
SOURCE = {
    "bash": 'eval "$(specmon completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -u; eval "$(specmon completion zsh)"',
    "fish": "specmon completion fish | source",
}
pytestmark = pytest.mark.skipif(TMUX is None, reason="no tmux here (install tmux)")


@pytest.fixture(params=sorted(START))
def shell(request: pytest.FixtureRequest, tmp_path: Path, sshd: Sshd) -> Iterator[Terminal]:
    """A shell with completion, a home with an SSH configuration, a session and a reference, and logs."""
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here (install {name})")
    terminal = Terminal(tmp_path, 400, 40)
    try:
        fill(tmp_path, sshd)
        terminal.type(START[name], "Enter")
        programs = Path(sys.executable).parent
        terminal.type(f"set -x PATH {programs} $PATH" if name == "fish" else f"PATH={programs}:$PATH", "Enter")
        terminal.type(SOURCE[name], "Enter")
        sum_of_two = "(math 40 + 2)" if name == "fish" else "$((40 + 2))"
        terminal.type(f"echo completion is {sum_of_two}", "Enter")
        terminal.wait_for("completion is 42")
        terminal.type("C-l")
        wait_until_gone(terminal, "completion is")
        yield terminal
    finally:
        terminal.close()


def fill(folder: Path, sshd: Sshd) -> None:
    home = folder / "home"
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text(
        f"Host gpu01\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {sshd.client_key}\n"
        f"  UserKnownHostsFile {sshd.known_hosts}\nHost *.lab\n  User anna\nInclude more\n"
    )
    (home / ".ssh" / "more").write_text("Host=dead99\n  HostName 127.0.0.1\n  Port 1\n")
    settings = home / ".config" / "specmon"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('[sessions.kimi]\nhosts = ["gpu01"]\n')
    (folder / "references").mkdir()
    (folder / "references" / "nccl-tuned.toml").write_text("")
    (folder / "logs").mkdir()
    for name in ("base.log", "eagle 3.log"):
        (folder / "logs" / name).write_text("")


# What is typed before the tab key, and what the line then is.
NEAR = [
    ("specmon summ", "specmon summary"),
    ("specmon connect gp", "specmon connect gpu01"),
    ("specmon connect dea", "specmon connect dead99"),
    ("specmon connect @k", "specmon connect @kimi"),
    ("specmon connect anna@gp", "specmon connect anna@gpu01"),
    ("specmon demo --theme=specmon-li", "specmon demo --theme=specmon-light"),
    ("specmon check --reference ncc", "specmon check --reference nccl-tuned"),
    ("specmon summary logs/ba", "specmon summary logs/base.log"),
    ("specmon summary logs/ea", "specmon summary logs/eagle\\ 3.log"),
    ("specmon tail gp", "specmon tail gpu01:"),
]


def test_tab_completes_what_is_near(shell: Terminal) -> None:
    for typed, line in NEAR:
        complete(shell, typed, line)


@pytest.mark.sshd
def test_tab_completes_logs_over_ssh(shell: Terminal, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for front in ("tail gpu01:", "connect gpu01 --spec gpu01:", "connect gpu01 --baseline "):
        complete(shell, f"specmon {front}{logs}/ba", f"specmon {front}{logs}/base.log")
    complete(shell, f"specmon tail gpu01:{tmp_path}/log", f"specmon tail gpu01:{logs}/")
    complete(shell, f"specmon tail gpu01:{logs}/ea", f"specmon tail gpu01:{logs}/eagle\\ 3.log")


@pytest.mark.sshd
def test_host_that_does_not_answer_leaves_the_line_alone(shell: Terminal) -> None:
    shell.type("-l", "specmon tail dead99:/var/lo")
    shell.type("Tab")
    shell.type("-l", "X")
    text = shell.wait_for("specmon tail dead99:/var/loX")
    assert "Traceback" not in text
    assert "assword" not in text


def complete(shell: Terminal, typed: str, line: str) -> None:
    """Type, press the tab key and a sign that shows where the cursor then is."""
    shell.type("-l", typed)
    shell.wait_for(typed)
    shell.type("Tab")
    # Unless the word goes on, a blank stands behind it.
    shell.type("-l", "X")
    shell.wait_for(f"{line}X" if line.endswith(("/", ":")) else f"{line} X")
    shell.type("C-u", "C-l")  # keys, not a command: what is typed while one runs may be lost
    wait_until_gone(shell, line)


def wait_until_gone(shell: Terminal, line: str) -> None:
    end = time.monotonic() + 90
    while line in shell.text():
        assert time.monotonic() < end, shell.text()
        time.sleep(0.05)
