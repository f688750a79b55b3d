"""A real OpenSSH server for the tests: own keys, own configuration, a free port on the loopback, gone afterwards."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from specmon.sources.ssh import SshSettings

_SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Sshd:
    """A running sshd and what a client needs to reach it."""

    port: int
    folder: Path
    client_key: Path
    known_hosts: Path
    host_key_line: str
    pid: int

    @property
    def settings(self) -> SshSettings:
        """Settings that reach it without the user's own configuration, keys and agent."""
        return SshSettings(
            read_config=False,
            port=self.port,
            client_keys=(self.client_key,),
            use_agent=False,
            known_hosts=(self.known_hosts,),
        )

    def config(self, name: str, text: str) -> Path:
        """Write an SSH client configuration; PORT, KEY and KNOWN stand for this server's."""
        path = self.folder / name
        words = {"PORT": str(self.port), "KEY": str(self.client_key), "KNOWN": str(self.known_hosts)}
        for word, value in words.items():
            text = text.replace(word, value)
        path.write_text(text)
        return path

    def kill_sessions(self) -> int:
        """Kill every process of this sshd that serves a connection, as a crash or an out-of-memory kill does."""
        killed = 0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if parent == self.pid:
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
        return killed


def free_port() -> int:
    """A port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """One sshd for the whole run."""
    with running_sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@contextmanager
def running_sshd(folder: Path, *settings: str) -> Iterator[Sshd]:
    """An sshd with its files in a folder; `settings` are lines of its configuration that count before ours."""
    if _SSHD is None:
        pytest.skip("no sshd here (install openssh-server)")
    host_key, client_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    host_key.write_private_key(folder / "host_key")
    client_key.write_private_key(folder / "client_key")
    (folder / "authorized_keys").write_bytes(client_key.export_public_key())
    for name in ("host_key", "client_key"):
        (folder / name).chmod(0o600)
    port = free_port()
    public = host_key.export_public_key().decode().strip()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    (folder / "sshd_config").write_text(
        "".join(f"{line}\n" for line in settings)
        + f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile {folder}/sshd.pid\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nAllowTcpForwarding yes\nMaxStartups 100\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    log = folder / "sshd.log"
    process = subprocess.Popen([_SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(log)])
    try:
        _wait_for_port(port, process, log)
        yield Sshd(port, folder, folder / "client_key", folder / "known_hosts", public, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            pytest.skip(f"sshd does not start here: {log.read_text() if log.exists() else 'no log'}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    pytest.fail("sshd did not open its port within 4 s")


@pytest.fixture
def agent_socket(tmp_path: Path, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An ssh-agent that holds the client key, as the environment names it."""
    program, adder = shutil.which("ssh-agent"), shutil.which("ssh-add")
    if program is None or adder is None:
        pytest.skip("no ssh-agent here (install openssh-client)")
    path = tmp_path / "agent"
    process = subprocess.Popen(shlex.split(f"{program} -D -a {path}"), stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if path.exists():
                break
            time.sleep(0.01)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        subprocess.run([adder, "-q", str(sshd.client_key)], check=True, capture_output=True, timeout=10)
        yield path
    finally:
        process.terminate()
        process.wait(timeout=10)
