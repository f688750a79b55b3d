"""Faults of the log: a writer numbers its lines, the file is rotated, truncated, replaced; the numbers are compared."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specmon.sources.events import Chunk, Gap, Refused, Rotated, Waiting
from tests.conftest import Sshd, running_sshd

from .faults import (
    Daemon,
    Proxy,
    Writer,
    a_moment,
    assert_each_line_once,
    begin,
    following,
    line,
    wait_for_reconnect,
)
from .reading import Heard
from .test_file_commands import TOOLS

pytestmark = pytest.mark.sshd


async def renamed(writer: Writer, heard: Heard) -> None:
    writer.path.rename(writer.path.with_suffix(".1"))


async def renamed_and_created_at_once(writer: Writer, heard: Heard) -> None:
    writer.path.rename(writer.path.with_suffix(".1"))
    writer.path.touch()


async def renamed_while_the_writer_holds_it(writer: Writer, heard: Heard) -> None:
    with writer.path.open("ab") as held:
        writer.path.rename(writer.path.with_suffix(".1"))
        writer.path.touch()
        await a_moment()
        held.write(b"".join(map(line, range(writer.written, writer.written + 50))))
        writer.written += 50


async def copied_and_truncated(writer: Writer, heard: Heard) -> None:
    await writer.is_read_by(heard)  # what nobody has read yet is gone with every tail
    shutil.copy(writer.path, writer.path.with_suffix(".1"))
    os.truncate(writer.path, 0)


async def truncated_by_a_restart(writer: Writer, heard: Heard) -> None:
    await writer.is_read_by(heard)
    with writer.path.open("wb") as file:
        file.write(line(writer.written))
    writer.written += 1


async def overwritten_at_once_by_a_longer_content(writer: Writer, heard: Heard) -> None:
    await writer.is_read_by(heard)
    new = b"".join(map(line, range(writer.written, 2 * writer.written + 1000)))
    writer.written = 2 * writer.written + 1000
    writer.path.write_bytes(new)


async def replaced_by_a_longer_file(writer: Writer, heard: Heard) -> None:
    other = Writer(writer.path.with_suffix(".new"))
    other.written = writer.written
    other.write(writer.written + 1000)
    other.path.replace(writer.path)
    writer.written = other.written


async def deleted_and_created_again(writer: Writer, heard: Heard) -> None:
    writer.path.unlink()
    await a_moment()


LogFault = Callable[[Writer, Heard], Awaitable[None]]
LOG_FAULTS: list[tuple[LogFault, str]] = [
    (renamed, "renamed"),
    (renamed_and_created_at_once, "renamed"),
    (renamed_while_the_writer_holds_it, "renamed"),
    (copied_and_truncated, "truncated"),
    (truncated_by_a_restart, "truncated"),
    (overwritten_at_once_by_a_longer_content, "truncated"),
    (replaced_by_a_longer_file, "replaced"),
    (deleted_and_created_again, "replaced"),
]


@pytest.mark.parametrize(("fault", "reason"), LOG_FAULTS)
async def test_log_fault_loses_and_repeats_nothing(sshd: Sshd, tmp_path: Path, fault: LogFault, reason: str) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(sshd.settings, writer.path) as heard:
        await begin(heard)
        for repetition in range(2):
            async with writer.writing():
                await a_moment()
            await fault(writer, heard)
            async with writer.writing():
                await a_moment()
            await writer.is_read_by(heard)
            assert [event.reason for event in heard.of(Rotated)] == [reason] * (repetition + 1)
    assert_each_line_once(heard, writer.written)


@pytest.fixture(scope="module")
def shell_less(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A server that gives SFTP and nothing else."""
    with running_sshd(
        tmp_path_factory.mktemp("sftp"), "ForceCommand internal-sftp", "Subsystem sftp internal-sftp"
    ) as server:
        yield server


@pytest.mark.parametrize("fault", [fault for fault, _ in LOG_FAULTS])
async def test_log_fault_loses_and_repeats_nothing_over_sftp(shell_less: Sshd, tmp_path: Path, fault: LogFault) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(shell_less.settings, writer.path) as heard:
        await begin(heard)
        async with writer.writing():
            await a_moment()
        await fault(writer, heard)
        async with writer.writing():
            await a_moment()
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


@pytest.fixture(scope="module")
def busybox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A server on which every program is BusyBox's."""
    if (program := shutil.which("busybox")) is None:
        pytest.skip("no busybox here")
    folder, tools = tmp_path_factory.mktemp("sshd"), tmp_path_factory.mktemp("tools")
    for tool in TOOLS.split():
        (tools / tool).symlink_to(program)
    command = f'ForceCommand PATH={tools}; export PATH; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    with running_sshd(folder, command) as server:
        yield server


@pytest.mark.parametrize("fault", [renamed, truncated_by_a_restart, overwritten_at_once_by_a_longer_content])
async def test_log_fault_loses_and_repeats_nothing_with_busybox(busybox: Sshd, tmp_path: Path, fault: LogFault) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(busybox.settings, writer.path) as heard:
        await begin(heard)
        async with writer.writing():
            await a_moment()
            assert busybox.kill_sessions() > 0
            await wait_for_reconnect(heard)
        await fault(writer, heard)
        async with writer.writing():
            await a_moment()
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


@pytest.mark.parametrize("program", ["dash", "bash", "zsh", "fish", "tcsh"])
async def test_every_login_shell_follows_through_faults(tmp_path: Path, program: str) -> None:
    if (shell := shutil.which(program)) is None:
        pytest.skip(f"no {program} here")
    folder = tmp_path / "sshd"
    folder.mkdir()
    with running_sshd(folder, f'ForceCommand exec {shell} -c "$SSH_ORIGINAL_COMMAND"') as server:
        writer = Writer(tmp_path / "it's $a! log")
        writer.write(100)
        async with following(server.settings, writer.path) as heard:
            await begin(heard)
            async with writer.writing():
                await a_moment()
                assert server.kill_sessions() > 0
                await wait_for_reconnect(heard)
            await renamed(writer, heard)
            writer.write(100)
            await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


@pytest.mark.parametrize("has_sftp", [True, False])
async def test_far_side_without_a_needed_program_is_read_over_sftp_or_told(tmp_path: Path, has_sftp: bool) -> None:
    # Debian's toybox, for one, has no dd.
    folder, tools = tmp_path / "sshd", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    for tool in TOOLS.split():
        if tool != "dd" and (found := shutil.which(tool)) is not None:
            (tools / tool).symlink_to(found)
    command = f'PATH={tools}; export PATH; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    options = [f"ForceCommand case $SSH_ORIGINAL_COMMAND in *sftp*) exec $SSH_ORIGINAL_COMMAND;; *) {command};; esac"]
    if has_sftp:
        server_program = shutil.which("sftp-server", path="/usr/lib/openssh:/usr/libexec/openssh:/usr/lib/ssh")
        if server_program is None:
            pytest.skip("no sftp-server here")
        options.append(f"Subsystem sftp {server_program}")
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    with running_sshd(folder, *options) as server:
        async with following(server.settings, writer.path) as heard:
            if has_sftp:
                await begin(heard)
                writer.write(100)
                await writer.is_read_by(heard)
            else:
                await heard.until(lambda heard: bool(heard.of(Refused)))
    if has_sftp:
        assert_each_line_once(heard, writer.written)
    else:
        (refused,) = heard.of(Refused)
        assert refused.reason == (
            "127.0.0.1: the host has no program dd and no SFTP. Install coreutils or BusyBox there."
        )


async def test_killed_session_loses_and_repeats_nothing_over_sftp(shell_less: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(shell_less.settings, writer.path) as heard:
        await begin(heard)
        async with writer.writing():
            await a_moment()
            assert shell_less.kill_sessions() > 0
            await wait_for_reconnect(heard)
        assert shell_less.kill_sessions() > 0
        writer.path.rename(writer.path.with_name("a.log.1"))
        writer.write(100)
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_missing_log_is_waited_for_over_sftp(shell_less: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    async with following(shell_less.settings, writer.path) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        writer.write(100)
        await writer.is_read_by(heard)
    assert heard.of(Waiting)[0].reason == f"127.0.0.1:{writer.path}: no such file"
    assert_each_line_once(heard, writer.written)


async def test_every_log_that_was_rotated_away_while_the_link_was_down_is_read(daemon: Daemon, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(daemon.sshd.settings, writer.path) as heard:
        await begin(heard)
        daemon.stop()
        for _ in range(3):
            writer.write(50)
            for number in (2, 1):
                if (older := tmp_path / f"a.log.{number}").exists():
                    older.rename(tmp_path / f"a.log.{number + 1}")
            writer.path.rename(tmp_path / "a.log.1")
            await asyncio.sleep(0.02)  # two files of the same moment have no order
        writer.write(50)
        daemon.start()
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)
    assert [event.reason for event in heard.of(Rotated)] == ["renamed"] * 3


async def test_log_that_is_missing_at_first_is_read_from_its_first_byte(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "later" / "a.log")
    async with following(sshd.settings, writer.path, backfill_bytes=0) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        writer.path.parent.mkdir()
        writer.write(100)
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
async def test_unreadable_log_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "sshd"
    folder.mkdir()
    command = 'ForceCommand setpriv --reuid=65534 --clear-groups sh -c "$SSH_ORIGINAL_COMMAND"'
    with running_sshd(folder, command) as server, tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)  # noqa: PTH101 (no waiting)  unlike pytest's own folders
        writer = Writer(Path(name) / "a.log")
        writer.write(100)
        writer.path.chmod(0o600)
        async with following(server.settings, writer.path) as heard:
            await heard.until(lambda heard: bool(heard.of(Waiting)))
            assert heard.of(Waiting)[0].reason == f"127.0.0.1:{writer.path}: no permission to read it"
            writer.path.chmod(0o644)
            writer.write(100)
            await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_hole_of_nuls_comes_as_it_is(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(100)
    async with following(sshd.settings, writer.path) as heard:
        await begin(heard)
        os.truncate(writer.path, 3_000_000)  # as a writer without O_APPEND leaves after a truncation
        writer.write(100)
        await writer.is_read_by(heard)
    assert heard.data == writer.path.read_bytes()


async def test_line_of_64_mb_comes_whole(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(1)
    async with following(sshd.settings, writer.path) as heard:
        await begin(heard)
        with writer.path.open("ab") as file:
            file.write(b"x" * 64_000_000 + b"\n")
        writer.write(1)
        await writer.is_read_by(heard)
    pieces = [chunk.data for chunk in heard.of(Chunk)]
    assert b"".join(pieces) == line(0) + b"x" * 64_000_000 + b"\n" + line(1)


async def test_slow_and_bursty_writers_lose_nothing(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(1)
    async with following(sshd.settings, writer.path) as heard:
        await begin(heard)
        for count in (1, 50_000, 1, 1, 20_000, 3):
            writer.write(count)
            await asyncio.sleep(0.05)
        for cut in (1, 7, 13):  # a line that comes in pieces
            number = writer.written
            with writer.path.open("ab") as file:
                file.write(line(number)[:cut])
            await asyncio.sleep(0.05)
            with writer.path.open("ab") as file:
                file.write(line(number)[cut:])
            writer.written += 1
        await writer.is_read_by(heard)
    assert_each_line_once(heard, writer.written)


async def test_fifty_thousand_lines_a_second_for_ten_seconds_lose_nothing(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(1)
    async with following(sshd.settings, writer.path) as heard:
        await begin(heard)
        began = time.monotonic()
        for portion in range(1000):
            writer.write(500)
            await asyncio.sleep(max(0.0, began + (portion + 1) * 0.01 - time.monotonic()))
        await writer.is_read_by(heard, limit_s=120)
    assert_each_line_once(heard, 500_001)


async def test_gap_has_the_size_of_what_was_gone_before_it_could_be_read(sshd: Sshd, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a.log")
    writer.write(400_000)
    async with Proxy(sshd.port, bytes_per_s=4_000_000).running() as proxy:
        known = tmp_path / "known_hosts"
        known.write_text(f"[127.0.0.1]:{proxy.port} {sshd.host_key_line}\n")
        settings = replace(sshd.settings, port=proxy.port, known_hosts=(known,))
        async with following(settings, writer.path) as heard:
            await heard.until(lambda heard: len(heard.of(Chunk)) > 2)
            size = writer.path.stat().st_size
            writer.path.write_bytes(b"")
            writer.write(100)
            await writer.is_read_by(heard)
    (gap,) = heard.of(Gap)
    (rotated,) = heard.of(Rotated)
    old = sum(len(chunk.data) for chunk in heard.of(Chunk)[: _place(heard, rotated)])
    assert gap.size_bytes == size - old
    assert heard.data[old:] == b"".join(map(line, range(400_000, 400_100)))


def _place(heard: Heard, event: Rotated) -> int:
    """How many chunks came before an event."""
    return sum(isinstance(before, Chunk) for before in heard.events[: heard.events.index(event)])
