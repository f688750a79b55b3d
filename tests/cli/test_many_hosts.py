"""Many hosts in one session: a frozen, a dead or a refusing one never delays another. Real sshds do it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from specmon.commands.reaching import soon
from specmon.errors import SourceLost, SourceRefused
from tests.cli.hosts import baseline_log, decode, servers, speculative_log
from tests.cli.test_connect import wait_for
from tests.conftest import Sshd, free_port, running_sshd

pytestmark = pytest.mark.sshd


@dataclass(frozen=True)
class Fleet:
    """Two sshds, and a third name behind which nobody listens."""

    good: Sshd
    other: Sshd
    config: Path

    def freeze(self) -> None:
        """The other host's daemon takes connections and never says a word."""
        os.kill(self.other.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.other.pid, signal.SIGCONT)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        sshds = []
        for name in ("good", "other"):
            (tmp_path / name).mkdir()
            sshds.append(stack.enter_context(running_sshd(tmp_path / name)))
        good, other = sshds
        ports = (("good", good.port, good), ("other", other.port, other), ("dead", free_port(), good))
        text = "".join(
            f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {sshd.client_key}\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {sshd.known_hosts}\n"
            for name, port, sshd in ports
        )
        config = tmp_path / "ssh_config"
        config.write_text(text)
        stack.callback(os.kill, other.pid, signal.SIGCONT)  # a stopped daemon cannot end
        yield Fleet(good, other, config)


@contextmanager
def connecting(fleet: Fleet, env: dict[str, str], cwd: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    words = [
        "connect",
        "good",
        "other",
        "dead",
        "--ssh-config",
        str(fleet.config),
        "--plain",
        "--interval",
        "0.2",
        *args,
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "specmon", *words, *args],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: subprocess.Popen[str]) -> int:
    """Ctrl-C; the status. A host that hangs would hold it for the 20 s that a login may take."""
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=15)


def sides(folder: Path) -> tuple[str, ...]:
    for name, log in (("base", baseline_log()), ("spec", speculative_log()), ("lost", speculative_log())):
        (folder / f"{name}.log").write_text(log)
    base, spec, lost = (str(folder / f"{name}.log") for name in ("base", "spec", "lost"))
    return ("--baseline", f"good:{base}", "--spec", f"other:{spec}", "--spec", f"dead:{lost}")


def test_fine_host_shows_its_figures_while_another_is_frozen_and_a_third_refuses(
    fleet: Fleet, environment: dict[str, str], tmp_path: Path
) -> None:
    named = sides(tmp_path)
    fleet.freeze()
    with connecting(fleet, environment, tmp_path, *named) as process:
        wait_for(process, "base 62.9", seconds=60)
        wait_for(process, "lost.log", "dead", seconds=60)  # says why, in its own row
        fleet.thaw()
        wait_for(process, "spec 75.9", "1.21×", seconds=60)


def test_interrupt_ends_at_once_beside_frozen_and_dead_hosts(
    fleet: Fleet, environment: dict[str, str], tmp_path: Path
) -> None:
    named = sides(tmp_path)
    fleet.freeze()
    with connecting(fleet, environment, tmp_path, *named) as process:
        wait_for(process, "base 62.9", seconds=60)
        assert interrupted(process) == 130


def test_host_that_freezes_later_stops_neither_the_others_nor_the_end(
    fleet: Fleet, environment: dict[str, str], tmp_path: Path
) -> None:
    named = sides(tmp_path)
    with connecting(fleet, environment, tmp_path, *named) as process:
        wait_for(process, "spec 75.9", seconds=60)
        assert fleet.other.signal_sessions(signal.SIGSTOP)
        try:
            with (tmp_path / "base.log").open("a") as more:
                more.writelines(decode(second, 40.0) for second in range(20, 140))
            wait_for(process, "base 40.0", seconds=60)
            assert interrupted(process) == 130
        finally:
            fleet.other.signal_sessions(signal.SIGCONT)


def test_servers_of_a_host_that_answers_late_join_those_that_were_found(
    fleet: Fleet, environment: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "found.log"
    log.write_text(baseline_log())
    with servers(tmp_path) as fake:
        fake.start(["sglang", "--model-path", "/m", "--port", "30017"], log=log)
        fleet.freeze()
        with connecting(fleet, environment, tmp_path) as process:
            wait_for(process, "base 62.9", seconds=60)
            wait_for(process, "dead", "no data", seconds=60)
            fleet.thaw()
            wait_for(process, "other:30017", "62.9", seconds=60)  # both names mean this machine
            assert interrupted(process) == 130


def test_when_no_host_answers_the_first_fault_is_told_with_status_2(
    fleet: Fleet, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["connect", "dead", "nowhere.invalid", "--ssh-config", str(fleet.config), "--plain"]
    command = [sys.executable, "-m", "specmon", *words]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, timeout=90, check=False)
    assert done.returncode == 2
    assert "specmon: dead: " in done.stderr
    assert "Traceback" not in done.stderr


# -- who is waited for ----------------------------------------------------------------------------


async def _answer(word: str) -> str:
    return word


async def _fail(error: Exception) -> str:
    raise error


async def _hang() -> str:
    await asyncio.Event().wait()
    return ""


async def test_who_does_not_answer_soon_after_the_first_is_not_waited_for() -> None:
    lost = SourceLost("b: gone")
    assert await soon([_answer("a"), _fail(lost), _hang()], patience_s=0.0) == ["a", lost, None]


async def test_all_that_answer_are_there_at_once() -> None:
    assert await soon([_answer("a"), _answer("b")], patience_s=1000.0) == ["a", "b"]


async def test_first_fault_is_raised_when_nobody_answers() -> None:
    with pytest.raises(SourceRefused, match="a: no"):
        await soon([_fail(SourceRefused("a: no")), _fail(SourceLost("b: gone"))])


async def test_bug_is_no_fault() -> None:
    with pytest.raises(ZeroDivisionError):
        await soon([_fail(ZeroDivisionError()), _hang()])


async def test_user_who_is_asked_something_is_waited_for() -> None:
    has_answered = asyncio.Event()
    looks = 0

    async def login() -> str:
        await has_answered.wait()
        return "b"

    def is_asking() -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:
            has_answered.set()
        return not has_answered.is_set()

    assert await soon([_answer("a"), login()], patience_s=0.0, is_asking=is_asking) in (["a", "b"], ["a", None])
    assert looks >= 3
