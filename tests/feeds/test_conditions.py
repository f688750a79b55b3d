"""The conditions of a running server, over a real SSH connection, from real processes and a real version page."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.conftest import Sshd, free_port, only_servers, running_sshd

from specmon.captures.reader import open_capture
from specmon.demo.server import demo_server
from specmon.demo.world import CaptureWorld
from specmon.errors import SourceLost
from specmon.feeds.conditions import ProcessConditions, checked, fingerprint_of, speaks_tls, versions_of, why_not_asked
from specmon.feeds.trails import FileTrail
from specmon.resources import bundled
from specmon.sources.discovery import find_servers
from specmon.sources.engines import SGLANG
from specmon.sources.gpus import Gpus
from specmon.sources.http import AnswerEnd, get
from specmon.sources.machine import CommandResult, Machine, PortClosed, ThisMachine
from specmon.sources.nccl_conf import ConfFile
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess
from specmon.sources.ssh import SshHost
from specmon.sources.surroundings import Surroundings
from specmon.sources.version_page import VersionAnswer

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")

SECRET = "sesame-open-4711"

# Opens its port, then starts a child that calls itself a scheduler: the order in which a real server does it.
SERVER = """
import http.server, json, os, subprocess, sys, time
port = int(sys.argv[sys.argv.index("--port") + 1])
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status = int(os.environ.get("PAGE_STATUS", "200"))
        told = {"version": "0.5.16", "model_path": "/m", "api_key": os.environ.get("SGLANG_API_KEY")}
        body = json.dumps(told).encode()
        self.send_response(status if self.path == "/server_info" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
child = subprocess.Popen(
    ["sglang::scheduler_TP0", "-c", "import time; time.sleep(60)"],
    executable=sys.executable,
    env={"A_LOST": "front", **os.environ, "NCCL_CUMEM_ENABLE": "0", "CUDA_DEVICE_MAX_CONNECTIONS": "8"},
)
print("ready", flush=True)
server.serve_forever()
"""

# Answers as driver 580.159.04 does, fields that it does not know included.
NVIDIA_SMI = r"""#!/bin/sh
case "$1" in
  *bogus*) printf 'Field "bogus" is not a valid field to query.\n\n'; exit 2;;
  *clocks.applications*)
    printf '0, GPU-1, NVIDIA H200, 580.159.04, 143771, 700.00, 1980, 3201, [N/A], [N/A], '
    printf 'Enabled, Disabled, 5, 16\n';;
  *) exit 2;;
esac
"""


@dataclass(frozen=True)
class Host:
    """A running server, its log, and the sshd of its machine."""

    folder: Path
    sshd: Sshd
    server: subprocess.Popen[bytes]
    port: int

    @property
    def log(self) -> Path:
        return self.folder / "server.log"


@contextmanager
def playing(folder: Path, port: int, *, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A server process and its child, in a Python installation that has the packages of a real one by name."""
    package = folder / "src" / "sglang"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text(SERVER)
    python = folder / "venv" / "bin" / "python3"
    if not python.exists():
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for name in ("sglang-0.5.15", "torch-2.9.1+cu130", "nvidia_nccl_cu13-2.28.3", "pip-25.0"):
            (folder / "venv" / "lib" / version / "site-packages" / f"{name}.dist-info").mkdir(parents=True)
    (folder / "my nccl.conf").write_text(f"NCCL_PROTO=Simple\nNCCL_BUFFSIZE=4194304\nNCCL_API_KEY={SECRET}\n")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(folder / "src"),
        "NCCL_PROTO": "LL",
        "NCCL_CONF_FILE": str(folder / "my nccl.conf"),
        "SGLANG_API_KEY": SECRET,
        "HF_TOKEN": SECRET,
        **(env or {}),
    }
    words = [
        *("--model-path", "/m", "--port", str(port), "--tp", "2", "--api-key", SECRET),
        f"--admin-api-key={SECRET}",
    ]
    with only_servers(), (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [str(python), "-m", "sglang.launch_server", *words], stdout=log, stderr=log, env=environment
        )
        try:
            _wait_for_child(folder / "server.log", server)
            yield server
        finally:
            subprocess.run(["kill", *_children(server.pid), str(server.pid)], check=False, capture_output=True)
            server.wait(timeout=90)


def _wait_for_child(log: Path, server: subprocess.Popen[bytes]) -> None:
    for _ in range(2000):
        assert server.poll() is None, log.read_text()
        if b"ready" in log.read_bytes():
            return
        time.sleep(0.02)
    pytest.fail("the playing server did not start in 40 s")


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A machine with a server, an nvidia-smi and an sshd."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc here")
    folder, port = tmp_path_factory.mktemp("host"), free_port()
    tools = folder / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(NVIDIA_SMI)
    (tools / "nvidia-smi").chmod(0o755)
    with (
        running_sshd(folder, f"SetEnv PATH={tools}:/usr/local/bin:/usr/bin:/bin") as sshd,
        playing(folder, port) as server,
    ):
        yield Host(folder, sshd, server, port)


@pytest.mark.sshd
async def test_one_connection_gives_flags_environment_versions_and_gpus(host: Host) -> None:
    async with SshHost("127.0.0.1", host.sshd.settings) as machine:
        seen = await ProcessConditions(machine, FileTrail(str(host.log))).read()
    found = seen.fingerprint
    assert found is not None
    assert seen.reason == ""
    assert found.flags == {"model_path": "/m", "port": host.port, "tp_size": 2}
    assert found.env == {
        "NCCL_PROTO": "LL",  # the launcher's, before the file's
        "NCCL_CONF_FILE": str(host.folder / "my nccl.conf"),
        "NCCL_BUFFSIZE": "4194304",  # the file's
        "NCCL_CUMEM_ENABLE": "0",  # the child's own
        "CUDA_DEVICE_MAX_CONNECTIONS": "8",
    }
    assert found.env_from == {"NCCL_BUFFSIZE": str(host.folder / "my nccl.conf")}
    assert not found.env_is_partial
    assert found.versions is not None
    assert found.versions.items() >= {"engine": "0.5.16", "torch": "2.9.1+cu130", "nccl": "2.28.3"}.items()
    assert "pip" not in found.versions
    assert found.gpu is not None
    assert (found.gpu["names"], found.gpu["power_limit_w"], found.gpu["count"]) == ("NVIDIA H200", 700.0, 1)
    assert "sm_clock_set_mhz" not in found.gpu  # [N/A]
    assert found.gpu["uuids"] == ["GPU-1"]
    assert found.unread == ()
    assert SECRET not in repr(seen)


@pytest.mark.sshd
async def test_log_is_found_through_a_link(host: Host) -> None:
    link = host.folder / "link to.log"
    link.symlink_to(host.log)
    async with SshHost("127.0.0.1", host.sshd.settings) as machine:
        seen = await ProcessConditions(machine, FileTrail(str(link))).read()
        other = await ProcessConditions(machine, FileTrail(str(host.folder / "other.log"))).read()
    assert seen.fingerprint is not None
    assert other.fingerprint is None
    assert other.reason.startswith(
        f"not read: launch flags, environment, versions and GPUs: no running server writes to {host.folder}/other.log"
    )


@pytest.mark.sshd
async def test_forwarding_that_is_forbidden_leaves_the_packages_version(host: Host, tmp_path: Path) -> None:
    with running_sshd(tmp_path, "AllowTcpForwarding no") as sshd:
        async with SshHost("127.0.0.1", sshd.settings) as machine:
            seen = await ProcessConditions(machine, FileTrail(str(host.log))).read()
            with pytest.raises(Exception, match="the SSH server allows no forwarding"):
                await machine.exchange("127.0.0.1", host.port, b"", is_whole=AnswerEnd(), limit_bytes=9, timeout_s=5)
    assert seen.fingerprint is not None
    assert seen.fingerprint.versions is not None
    assert seen.fingerprint.versions["engine"] == "0.5.15"
    assert "GPUs: there is no nvidia-smi" in seen.reason or shutil.which("nvidia-smi")


@pytest.mark.sshd
async def test_port_answers_over_the_connection_or_says_why_not(host: Host) -> None:
    async with SshHost("127.0.0.1", host.sshd.settings) as machine:
        page = get("/server_info", "127.0.0.1", host.port)
        answer = await machine.exchange(
            "127.0.0.1", host.port, page, is_whole=AnswerEnd(), limit_bytes=1 << 20, timeout_s=5
        )
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["version"] == "0.5.16"
        with pytest.raises(PortClosed, match="nobody listens on port"):
            await machine.exchange("127.0.0.1", free_port(), page, is_whole=AnswerEnd(), limit_bytes=9, timeout_s=5)
        with pytest.raises(SourceLost, match="no answer in time"):  # it waits for a request that never comes
            await machine.exchange("127.0.0.1", host.port, b"", is_whole=AnswerEnd(), limit_bytes=9, timeout_s=0.3)
        cut = await machine.exchange("127.0.0.1", host.port, page, is_whole=lambda _: False, limit_bytes=9, timeout_s=5)
        assert 9 <= len(cut) < 1 << 20
        assert (await machine.run("echo still here")).stdout == b"still here\n"


@pytest.mark.sshd
async def test_command_that_times_out_leaves_the_connection_as_it_was(host: Host) -> None:
    async with SshHost("127.0.0.1", host.sshd.settings) as machine:
        before = await machine.connect()
        with pytest.raises(SourceLost, match="no answer in time"):
            await machine.run("sleep 3", timeout_s=0.2)
        assert (await machine.run("echo still here")).stdout == b"still here\n"
        assert await machine.connect() is before


@needs_proc
async def test_local_server_is_asked_without_ssh_and_a_wanted_key_is_told(tmp_path: Path) -> None:
    with playing(tmp_path, free_port(), env={"PAGE_STATUS": "401"}):
        shutil.rmtree(tmp_path / "venv" / "lib")
        seen = await ProcessConditions(ThisMachine(), FileTrail(str(tmp_path / "server.log"))).read()
    assert seen.fingerprint is not None
    assert seen.fingerprint.versions is None or "engine" not in seen.fingerprint.versions
    assert "wants an API key (put the header value" in seen.reason
    assert SECRET not in repr(seen)


class Counting(ThisMachine):
    """Remembers which questions were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        self.asked.append("gpus" if "nvidia-smi" in command else "around" if "dist-info" in command else "other")
        if self.asked[-1] == "gpus":
            gpu = "status 0\nfields index,name\nanswer " + b"0, NVIDIA H200".hex()
            return CommandResult(gpu.encode(), b"", 0)
        return await super().run(command, timeout_s=timeout_s)


@needs_proc
async def test_versions_and_gpus_are_read_once_for_each_process(tmp_path: Path) -> None:
    machine, port = Counting(), free_port()
    conditions = ProcessConditions(machine, FileTrail(str(tmp_path / "server.log")))
    processes = set()
    for _ in range(2):
        with playing(tmp_path, port):
            for _ in range(3):
                seen = await conditions.read()
                assert seen.reason == ""
                processes.add(seen.process)
    assert len(processes) == 2
    assert (machine.asked.count("gpus"), machine.asked.count("around")) == (2, 2)


class Failing(ThisMachine):
    """One kind of question never comes back."""

    def __init__(self, word: str) -> None:
        self._word = word

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        if self._word in command:
            raise SourceLost("gpu1: no answer in time")
        return await super().run(command, timeout_s=timeout_s)


@needs_proc
@pytest.mark.parametrize(
    ("word", "reason", "engine"),
    [
        ("nvidia-smi", "GPUs: gpu1: no answer in time", "0.5.16"),
        ("dist-info", "versions: gpu1: no answer in time", "0.5.16"),
    ],
)
async def test_step_that_fails_loses_none_of_the_others(word: str, reason: str, engine: str, tmp_path: Path) -> None:
    with playing(tmp_path, free_port()):
        seen = await ProcessConditions(Failing(word), FileTrail(str(tmp_path / "server.log"))).read()
    found = seen.fingerprint
    assert found is not None
    assert reason in seen.reason
    assert found.flags is not None
    assert found.env is not None
    assert found.env["NCCL_PROTO"] == "LL"
    assert (found.versions or {}).get("engine") == engine


class AsNobody(ThisMachine):
    """Asks as a user who may see nothing of other users' processes."""

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", command]
        return await super().run(shlex.join(words), timeout_s=timeout_s)


@needs_proc
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
async def test_process_of_another_user_is_told_and_proves_nothing(tmp_path: Path) -> None:
    with playing(tmp_path, free_port()) as server:
        seen = await ProcessConditions(AsNobody(), FileTrail(str(tmp_path / "server.log"))).read()
    assert seen.fingerprint is None
    assert "another user's" in seen.reason
    assert str(server.pid) in seen.reason.partition("process ")[2].split()  # beside other servers of this machine


# -- what follows from what was found ------------------------------------------------------------------------------

LOG = OutputTarget("/var/log/s.log", True)


def server(*words: str, environ: tuple[tuple[str, str], ...] | None = ()) -> RunningProcess:
    return RunningProcess(7, 1, ("python3", "-m", "sglang.launch_server", *words), 5.0, environ, {1: LOG, 2: LOG})


def test_environment_nobody_may_read_is_partial_and_said() -> None:
    (only,) = find_servers(ProcessListing((server(environ=None),))).servers
    print_ = fingerprint_of(only, Surroundings(is_readable=False))
    assert print_ is not None
    assert (print_.env, print_.env_is_partial) == ({}, True)
    assert print_.unread == (
        "environment: no permission to read the environment of process 7 (another user's)",
        "nccl.conf and packages: no permission to look into process 7 (another user's)",
    )


def test_configuration_file_that_may_not_be_read_leaves_absence_open() -> None:
    (only,) = find_servers(ProcessListing((server(environ=(("NCCL_ALGO", "Ring"),)),))).servers
    print_ = fingerprint_of(only, Surroundings(conf_files=(ConfFile("/etc/nccl.conf", None),)))
    assert print_ is not None
    assert (print_.env, print_.env_is_partial) == ({"NCCL_ALGO": "Ring"}, True)
    assert print_.unread == ("/etc/nccl.conf: no permission to read it",)


def test_servers_own_word_counts_before_its_packages_and_the_mapped_library_before_those() -> None:
    around = Surroundings(driver="580.1", packages={"sglang": "0.5.15", "nccl": "2.27.3"}, nccl_library="2.28.3")
    assert versions_of(SGLANG, around, Gpus(), VersionAnswer("0.5.16")) == {
        "engine": "0.5.16",
        "nccl": "2.28.3",
        "driver": "580.1",
    }
    assert versions_of(SGLANG, around, None, VersionAnswer(None, "no"))["engine"] == "0.5.15"


def test_port_that_another_server_took_names_no_version() -> None:
    (only,) = find_servers(ProcessListing((server("--model-path", "/m"),))).servers
    assert checked(only, VersionAnswer("1.0", model="/m")).version == "1.0"
    assert checked(only, VersionAnswer("1.0", model="/n")) == VersionAnswer(
        None, "port 30000 answers for another model"
    )


def test_port_in_a_network_of_its_own_is_not_asked_and_tls_is_known_by_its_flags() -> None:
    (plain,) = find_servers(ProcessListing((server(),))).servers
    assert why_not_asked(plain, Surroundings()) is None
    assert why_not_asked(plain, Surroundings(network="other")) == (
        "port 30000 is in a network of its own (a container's)"
    )
    safe = replace(plain, flags={"ssl_keyfile": "/k", "ssl_certfile": "/c"})
    assert why_not_asked(safe, Surroundings()) is None
    assert (speaks_tls(plain), speaks_tls(safe)) == (False, True)


def test_machine_of_this_program_is_a_machine() -> None:
    machine: Machine = ThisMachine()
    assert machine.name == "this machine"


async def test_demo_shows_whole_fingerprints_of_the_story() -> None:
    capture = open_capture(bundled("fixtures") / "story")
    world = CaptureWorld(capture, speed=1.0, clock=lambda: 0.0)
    async with demo_server(world) as server, server.host() as machine:
        seen = await ProcessConditions(machine, FileTrail("/var/log/sglang/base.log")).read()
    assert seen.reason == ""
    found = seen.fingerprint
    assert found is not None
    life = capture.logs[0].lives[0]
    assert (found.env, found.versions, found.gpu) == (life.env, life.versions, life.gpu)
    assert found.flags is not None
    assert found.flags["tp_size"] == 8
