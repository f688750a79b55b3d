"""What the tests of program sources share: a machine near or far with doubles on its PATH, containers, pods."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from specmon.sources.machine import StreamingMachine, ThisMachine
from specmon.sources.ssh import SshHost
from tests.conftest import Sshd, running_sshd

from .faults import hurried

DOUBLES = Path(__file__).parent / "doubles"


@dataclass
class Site:
    """A machine whose PATH begins with a folder of doubles; far away it is reached over SSH."""

    folder: Path
    is_far: bool
    sshd: Sshd | None = None
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.folder / "state"
        self.state.mkdir(parents=True, exist_ok=True)
        self.bin.mkdir(exist_ok=True)

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def install(self, name: str) -> Path:
        """Put a double on the PATH; its folder of state."""
        state = self.state / name
        state.mkdir(exist_ok=True)
        self.script(name, f'exec "{sys.executable}" -S "{DOUBLES / name}.py" "{state}" "$@"')
        return state

    def script(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @asynccontextmanager
    async def machine(self) -> AsyncIterator[StreamingMachine]:
        if self.sshd is None:
            yield ThisMachine()
            return
        async with SshHost("127.0.0.1", hurried(self.sshd.settings)) as host:
            yield host

    def drop_link(self) -> None:
        assert self.sshd is not None
        assert self.sshd.kill_sessions() > 0


@contextmanager
def site_at(folder: Path, *, is_far: bool, env: str = "") -> Iterator[Site]:
    """A machine for one test. `env`: more of its environment, NAME=VALUE."""
    site = Site(folder, is_far)
    path = f"{site.bin}:/usr/bin:/bin"
    if not is_far:
        name, _, value = env.partition("=")
        with mock.patch.dict(os.environ, {"PATH": path, **({name: value} if name else {})}):
            yield site
        return
    (folder / "sshd").mkdir()
    with running_sshd(folder / "sshd", f"SetEnv PATH={path} {env}".strip()) as sshd:
        yield replace(site, sshd=sshd)


class Container:
    """A container of the double of docker."""

    def __init__(self, root: Path, name: str, key: str, *, labels: str = "", status: str = "running") -> None:
        self.folder = root / key
        self.folder.mkdir()
        (self.folder / "json.log").touch()
        self._state = {"id": key, "name": name, "status": status, "exit": "0", "started": now(), "labels": labels}
        self.written = 0
        self.set()

    def set(self, **changes: str) -> None:
        self._state.update(changes)
        part = self.folder / "part"
        part.write_text(json.dumps(self._state))
        part.rename(self.folder / "state.json")

    def write(self, count: int, *, text: str = "line {:06d} of the log\n") -> None:
        """Numbered lines, by turns on both streams."""
        entries = []
        for _ in range(count):
            stream = "stderr" if self.written % 2 else "stdout"
            entries.append(json.dumps({"log": text.format(self.written), "stream": stream, "time": now()}))
            self.written += 1
        self.append(entries)

    def append(self, entries: list[str]) -> None:
        with (self.folder / "json.log").open("a") as file:
            file.write("".join(f"{entry}\n" for entry in entries))

    def remove(self) -> None:
        (self.folder / "state.json").unlink()

    def readers(self) -> int:
        """How often its log was read."""
        return len(list(self.folder.glob("reader-*"))) + len(list(self.folder.glob("follower-*")))

    def followers(self) -> list[int]:
        """The processes that follow its log now."""
        pids = [int(path.name.removeprefix("follower-")) for path in self.folder.glob("follower-*")]
        return [pid for pid in pids if Path(f"/proc/{pid}").exists()]

    def kill_follower(self) -> None:
        """End the processes that follow its log, as the system does when memory is short."""
        for pid in self.followers():
            os.kill(pid, signal.SIGKILL)


class Pod:
    """A pod of the double of kubectl, with one container."""

    def __init__(
        self, root: Path, name: str, *containers: str, created: str = "2026-11-30T10:00:00Z", node: str = "node-1"
    ) -> None:
        self.folder = root / name
        self.folder.mkdir(exist_ok=True)
        self._names = containers or ("server",)
        self._name, self._created, self._node = name, created, node
        self._key = ""
        self.written = 0
        self._last: dict[str, Any] = {}
        self.start(f"containerd://{name}-0")

    def start(self, key: str) -> None:
        (self.folder / key.replace("/", "_")).touch()
        self._key = key
        self._save({"running": {"startedAt": now()}})

    def crash(self, status: int = 137) -> None:
        """The container ends; the cluster waits before it starts the next one."""
        self._last = {"terminated": {"containerID": self._key, "exitCode": status, "reason": "OOMKilled"}}
        self._save({"waiting": {"reason": "CrashLoopBackOff"}})

    def write(self, count: int) -> None:
        with (self.folder / self._key.replace("/", "_")).open("a") as file:
            for _ in range(count):
                file.write(f"{now()} line {self.written:06d} of the log\n")
                self.written += 1

    def _save(self, state: dict[str, Any]) -> None:
        statuses = [
            {"name": name, "containerID": self._key, "state": state, "lastState": self._last} for name in self._names
        ]
        pod = {
            "metadata": {"name": self._name, "creationTimestamp": self._created, "uid": self._name},
            "spec": {"containers": [{"name": name} for name in self._names], "nodeName": self._node},
            "status": {"phase": "Running", "containerStatuses": statuses},
        }
        part = self.folder / "part"
        part.write_text(json.dumps(pod))
        part.rename(self.folder / "pod.json")


def now() -> str:
    """A stamp as a container runtime writes it; several of a moment are the same now and then."""

    at_ns = time.time_ns() // 1_000_000 * 1_000_000
    return f"{datetime.fromtimestamp(at_ns // 10**9, UTC):%Y-%m-%dT%H:%M:%S}.{at_ns % 10**9:09d}Z"


def numbers(data: bytes) -> list[int]:
    """The numbers of the lines, whatever stands before them."""
    return [int(text.split(b"line ", 1)[1][:6]) for text in data.splitlines()]
