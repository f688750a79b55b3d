"""ProxyCommand against a real sshd, run as OpenSSH runs it: by a shell, its stderr apart, ended with the connection."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from specmon.errors import SourceRefused
from specmon.sources.ssh import SshHost, SshSettings
from tests.conftest import Sshd

pytestmark = pytest.mark.sshd

_RELAY = """\
import os, pathlib, socket, sys, threading
pathlib.Path(__file__).with_suffix(".pid").write_text(str(os.getpid()))
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def up():
    while part := os.read(0, 65536):
        link.sendall(part)
threading.Thread(target=up, daemon=True).start()
while part := link.recv(65536):
    os.write(1, part)
"""


@pytest.fixture
def relay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that carries bytes to the host and port that it is given, and writes down who it is."""
    monkeypatch.setenv("SHELL", "/bin/sh")
    path = tmp_path / "relay.py"
    path.write_text(_RELAY)
    return path


def _settings(sshd: Sshd, folder: Path, command: str) -> SshSettings:
    text = (
        f"Host gpu*\n  HostName 127.0.0.1\n  Port PORT\n  UserKnownHostsFile KNOWN\n  IdentityFile KEY\n  {command}\n"
    )
    path = folder / "config"
    path.write_text(sshd.config("proxied", text).read_text())
    return SshSettings(config_file=path, use_agent=False)


@pytest.mark.parametrize(
    "command",
    [
        "ProxyCommand {relay} %h %p 2>/dev/null",
        "ProxyCommand=env WORD='a b' {relay} %h %p | cat",
        'ProxyCommand sh -c \'echo careful >&2; {relay} "$0" "$1" | cat\' %h %p',
    ],
)
async def test_command_is_run_by_a_shell_and_ends_with_the_connection(
    sshd: Sshd, tmp_path: Path, relay: Path, command: str
) -> None:
    program = f"{sys.executable} {relay}"
    settings = _settings(sshd, tmp_path, command.format(relay=program))
    async with SshHost("gpu1", settings) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
        carrier = int(relay.with_suffix(".pid").read_text())
        os.kill(carrier, 0)
    assert not _runs(carrier)


def _runs(pid: int) -> bool:
    """One that has ended and that nobody has asked about has no open files."""
    files = Path(f"/proc/{pid}/fd")
    return files.exists() and any(files.iterdir())


async def test_last_words_of_a_command_that_ends_are_told(sshd: Sshd, tmp_path: Path, relay: Path) -> None:
    command = "ProxyCommand sh -c 'printf \"so\\033[2J\\nno \\007way\\n\" >&2; exit 3'"
    async with SshHost("gpu1", _settings(sshd, tmp_path, command)) as host:
        with pytest.raises(SourceRefused) as caught:
            await host.connect()
    assert str(caught.value).startswith(
        "gpu1: its ProxyCommand ends before a host has answered (no \x07way). Run `ssh "
    )


@pytest.mark.parametrize("name", ["gpu1;id", "a`id`@gpu1", "$(id)@gpu1", "gpu1|id"])
async def test_name_that_a_shell_would_obey_is_refused(sshd: Sshd, tmp_path: Path, relay: Path, name: str) -> None:
    settings = _settings(sshd, tmp_path, f"ProxyCommand {sys.executable} {relay} 127.0.0.1 %p # %n %r")
    async with SshHost(name, settings) as host:
        with pytest.raises(SourceRefused, match="would be obeyed by the shell"):
            await host.connect()
    assert not relay.with_suffix(".pid").exists()
