"""A real OpenSSH server for the tests: own keys, own configuration, a free port on the loopback, gone afterwards."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest
from hypothesis import settings

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
        return self.signal_sessions(signal.SIGKILL)

    def signal_sessions(self, number: signal.Signals) -> int:
        """Send a signal to every process of this sshd that serves a connection, and say to how many."""
        sent = 0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if parent == self.pid:
                os.kill(int(entry.name), number)
                sent += 1
        return sent


def free_port() -> int:
    """A port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# Hours of chance are run by hand (benchmarks/fuzz.py); here each property has a short form.
settings.register_profile("short", max_examples=40, deadline=None)  # a busy machine proves nothing
settings.load_profile("short")


def pytest_configure() -> None:
    """Ctrl-C reaches the programs under test also where the tests run in the background of a script.

    Such a shell has SIGINT ignored, and whoever is started there inherits that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """One sshd for the whole run."""
    with running_sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@contextmanager
def running_sshd(folder: Path, *settings: str, port: int | None = None) -> Iterator[Sshd]:
    """An sshd of one's own; `settings` are lines of its configuration that count before ours.

    In the same folder it has the same keys again.
    """
    if _SSHD is None:
        pytest.skip("no sshd here (install openssh-server)")
    for name in ("host_key", "client_key"):
        if not (folder / name).exists():
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(folder / name)
            key.write_public_key(folder / f"{name}.pub")
            (folder / name).chmod(0o600)
    port = port or free_port()
    public = (folder / "host_key.pub").read_text().strip()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    (folder / "sshd_config").write_text(
        "".join(f"{line}\n" for line in settings)
        + f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile {folder}/sshd.pid\n"
        f"AuthorizedKeysFile {folder}/client_key.pub\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nAllowTcpForwarding yes\n"
        + ("" if any("MaxStartups" in line for line in settings) else "MaxStartups 100\n")  # its last line counts
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
        process.wait(timeout=90)


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1500):
        if process.poll() is not None:
            pytest.skip(f"sshd does not start here: {log.read_text() if log.exists() else 'no log'}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    pytest.fail("sshd did not open its port within 30 s")


_IS_ALONE: list[bool] = []  # not empty while this process holds the lock


@contextmanager
def only_servers() -> Iterator[None]:
    """Processes that look like servers can be seen by every test of this machine: one test at a time starts some."""
    from specmon.sources.discovery import discover_local

    if _IS_ALONE:
        yield
        return
    with (Path(tempfile.gettempdir()) / "specmon-tests-servers.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(100):
            if not discover_local().servers:
                break
            time.sleep(0.1)
        else:
            pytest.skip("other LLM servers run on this machine")
        _IS_ALONE.append(True)
        try:
            yield
        finally:
            _IS_ALONE.clear()


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
        subprocess.run([adder, "-q", str(sshd.client_key)], check=True, capture_output=True, timeout=90)
        yield path
    finally:
        process.terminate()
        process.wait(timeout=90)
