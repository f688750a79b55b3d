"""Servers whose output no file has: in a real container, at a real terminal, in a control group like a unit's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from specmon.feeds.conditions import ProcessConditions
from specmon.feeds.trails import ProgramTrail
from specmon.sources.discovery import discover_local
from specmon.sources.machine import ThisMachine
from specmon.sources.whereabouts import Whereabouts, of_unit
from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log, options_of, servers
from tests.cli.test_connect import running, wait_for
from tests.conftest import Sshd, only_servers, running_sshd

pytestmark = pytest.mark.sshd

HOST = "127.0.0.1"
PORT = 30017
REFERENCE = (
    'name = "tuned"\n[[level]]\nrunning = 1\ntok_s = 88.8\n[fingerprint.env]\nNCCL_PROTO = "LL"\nNCCL_ALGO = "Ring"\n'
)
PYTHON = "/usr/bin/python3"  # a container sees the machine's own /usr
WORDS = ["-m", "sglang.launch_server", "--model-path", "/m", "--port", str(PORT)]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.toml"
    path.write_text(REFERENCE)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a server that prints a log and stays."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sglang").mkdir()
    (folder / "sglang" / "__init__.py").touch()
    code = f"import sys, time\nsys.stderr.write({baseline_log()!r})\nsys.stderr.flush()\ntime.sleep(300)\n"
    (folder / "sglang" / "launch_server.py").write_text(code)
    return folder


# -- docker ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dockerd:
    """A docker daemon of the test's own."""

    address: str

    def run(self, *words: str) -> str:
        env = {**os.environ, "DOCKER_HOST": self.address}
        return subprocess.run(
            ["docker", *words], env=env, check=True, capture_output=True, text=True, timeout=60
        ).stdout


@pytest.fixture(scope="module")
def dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dockerd]:
    program = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None or shutil.which("docker") is None or os.geteuid() != 0:
        pytest.skip("no dockerd here (install docker.io), or not root")
    if not Path(PYTHON).exists():
        pytest.skip(f"no {PYTHON} to run in a container")
    folder = tmp_path_factory.mktemp("docker")
    socket = folder / "docker.sock"
    command = [program, "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec"), "-p",
               str(folder / "pid"), "-H", f"unix://{socket}", "--iptables=false", "--bridge=none",
               "--storage-driver=vfs"]  # fmt: skip
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    daemon = Dockerd(f"unix://{socket}")
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.skip(f"dockerd does not start here: {log.read_text()[-300:]}")
            if socket.exists() and b"API listen" in log.read_bytes():
                break
            time.sleep(0.1)
        else:
            pytest.skip("dockerd does not come up here in 60 s")
        empty = folder / "empty.tar"
        subprocess.run(["tar", "-cf", str(empty), "-T", "/dev/null"], check=True)
        daemon.run("import", str(empty), "tiny")
        yield daemon
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def container(daemon: Dockerd, site: Path) -> Iterator[str]:
    """A server in a container; its id."""
    mounts = [f"-v{folder}:{folder}:ro" for folder in ("/usr", "/bin", "/lib", "/lib64") if Path(folder).exists()]
    environment = ["-ePYTHONPATH=/srv", "-eNCCL_ALGO=Ring", "-eHF_TOKEN=sesame"]
    with only_servers():
        try:
            identity = daemon.run("run", "-d", "--name", "spec", "--network", "none", *mounts, f"-v{site}:/srv:ro",
                                  *environment, "tiny", PYTHON, *WORDS).strip()  # fmt: skip
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no container can be run here: {error.stderr[-300:]}")
        try:
            yield identity[:12]
        finally:
            daemon.run("rm", "-f", "spec")


def test_server_in_a_container_is_followed_and_its_lost_variable_is_named(
    dockerd: Dockerd, site: Path, specmon: Specmon, environment: dict[str, str], tmp_path: Path, reference: Path
) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    path = f"{Path(shutil.which('docker') or '').parent}:/usr/bin:/bin"
    with (
        running_sshd(folder, f"SetEnv DOCKER_HOST={dockerd.address} PATH={path}") as sshd,
        container(dockerd, site) as identity,
    ):
        to_sshd = options_of(sshd)
        told = specmon("discover", HOST, *to_sshd).out
        assert f"container {identity} keeps it" in told
        assert f"{HOST}:docker:{identity}" in told
        doctor = specmon("doctor", HOST, *to_sshd).out
        assert f"read as {HOST}:docker:{identity}" in doctor
        assert "sglang lines with decode statistics" in doctor
        by_port = specmon("summary", f"{HOST}:{PORT}", *to_sshd)
        assert f"{HOST}:docker:{identity}" in by_port.out, by_port.err
        assert "62.9" in by_port.out
        # Found by its process, named by its container's name: the same conditions.
        for more in ((), ("--baseline", "docker:spec")):
            args = ("connect", HOST, *to_sshd, "--reference", str(reference), "--plain", "--interval", "0.2", *more)
            with running(args, environment, tmp_path) as process:
                text = wait_for(process, "BASELINE NOT TRUSTED", "NCCL_PROTO", seconds=60)
                assert "NCCL_ALGO" not in text


# -- a terminal --------------------------------------------------------------------------------------------------------


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a tmux server of the test's own."""
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    folder = tmp_path / "tmux"
    folder.mkdir()
    env = {**os.environ, "TMUX_TMPDIR": str(folder)}
    env.pop("TMUX", None)
    yield env
    subprocess.run(["tmux", "kill-server"], env=env, capture_output=True, check=False, timeout=20)


def test_server_at_a_terminal_is_followed_through_its_pane(
    site: Path, tmux: dict[str, str], specmon: Specmon, environment: dict[str, str], tmp_path: Path, reference: Path
) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    words = [f"PYTHONPATH={site}", "NCCL_ALGO=Ring", sys.executable, *WORDS]
    with running_sshd(folder, f"SetEnv TMUX_TMPDIR={tmux['TMUX_TMPDIR']}") as sshd, only_servers():
        subprocess.run(
            ["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "spec", "-x", "250", "-y", "50", "env", *words],
            env=tmux, check=True, capture_output=True, timeout=20,
        )  # fmt: skip
        to_sshd = options_of(sshd)
        _wait_for_terminal()
        by_port = specmon("summary", f"{HOST}:{PORT}", *to_sshd)
        assert f"{HOST}:tmux:%" in by_port.out, by_port.err
        for more in ((), ("--baseline", "tmux:spec")):
            args = ("connect", HOST, *to_sshd, "--reference", str(reference), "--plain", "--interval", "0.2", *more)
            with running(args, environment, tmp_path) as process:
                text = wait_for(process, "BASELINE NOT TRUSTED", "NCCL_PROTO", seconds=60)
                assert "NCCL_ALGO" not in text
        subprocess.run(["tmux", "kill-server"], env=tmux, check=True, capture_output=True, timeout=20)


def _wait_for_terminal() -> None:
    for _ in range(200):
        if any(server.log.kind == "terminal" for server in discover_local().servers):
            return
        time.sleep(0.05)
    pytest.fail("the server at the terminal was not found")


def test_terminal_that_no_tmux_shows_is_told_with_the_next_step(
    specmon: Specmon, tmp_path: Path, sshd: Sshd, site: Path
) -> None:
    if shutil.which("script") is None:
        pytest.skip("no `script` here, which gives a terminal")
    command = f"exec env PYTHONPATH={site} {sys.executable} {' '.join(WORDS)}"
    with (
        only_servers(),
        subprocess.Popen(
            ["script", "-qfc", command, "/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as script,
    ):
        try:
            _wait_for_terminal()
            done = specmon("summary", f"{HOST}:{PORT}", *options_of(sshd))
            assert done.status == 2
            assert "goes to a terminal (/dev/pts/" in done.err
            assert "No tmux of this user shows that terminal. Start the server with `2>&1 | tee LOG`" in done.err
        finally:
            script.terminate()


# -- a unit ------------------------------------------------------------------------------------------------------------

_GROUPS = [Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")]


@contextmanager
def control_group(name: str) -> Iterator[Path]:
    """A control group of that name, as a service manager makes one."""
    root = next((root for root in _GROUPS if (root / "cgroup.procs").exists() and os.access(root, os.W_OK)), None)
    if root is None:
        pytest.skip("no control group can be made here")
    group = root / name
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield group
    finally:
        for _ in range(200):
            try:
                group.rmdir()
                break
            except OSError:  # its processes are still ending
                time.sleep(0.05)


async def test_server_of_a_unit_is_found_by_the_unit_s_name(tmp_path: Path) -> None:
    name = f"specmon-test-{os.getpid()}.service"
    with control_group(name) as group, servers(tmp_path) as started:
        process = started.start(["sglang", "--model-path", "/m"], env={"NCCL_ALGO": "Ring"})
        (group / "cgroup.procs").write_text(str(process.pid))

        async def unit() -> Whereabouts:
            return of_unit(name.removesuffix(".service"))

        seen = await ProcessConditions(ThisMachine(), ProgramTrail(unit)).read()
        assert seen.fingerprint is not None, seen.reason
        assert seen.fingerprint.env == {"NCCL_ALGO": "Ring"}
        process.kill()
        process.wait()
