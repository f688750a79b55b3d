"""Slurm jobs, patterns and commands: real files and processes, near by and over a real sshd."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from specmon.commands.opening import file_on
from specmon.commands.places import Hosts, open_source, resolved
from specmon.errors import SourceRefused, UnreadableInput
from specmon.sources.address import parse_source
from specmon.sources.command import CommandSource
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.joined import Joined
from specmon.sources.local import LocalFile
from specmon.sources.machine import StreamingMachine, ThisMachine
from specmon.sources.matches import Match, local_matches, remote_matches
from specmon.sources.newest_file import NewestFile
from specmon.sources.program_commands import Stream
from specmon.sources.slurm import find_job

from .faults import PACE
from .programs import Site, numbers, site_at
from .reading import Heard, Listening


@pytest.fixture
def near(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=False) as site:
        yield site


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=True) as site:
        yield site


def add(path: Path, first: int, count: int) -> None:
    with path.open("a") as file:
        file.write("".join(f"line {number:06d} of the log\n" for number in range(first, first + count)))


async def has_read(heard: Heard, count: int) -> None:
    await heard.until(lambda heard: heard.data.count(b"\n") >= count, limit_s=20)


# -- slurm -------------------------------------------------------------------------------------------------------------


def slurm(site: Site, out: Path, err: Path, *, is_past: bool = False) -> None:
    """scontrol and sacct with one job, 4711, in their own output formats."""
    shown = (
        f"JobId=4711 JobName=spec UserId=me(1000) JobState=RUNNING NodeList=gpu03 BatchHost=gpu03 WorkDir={out.parent} "
        f"StdErr={err} StdIn=/dev/null StdOut={out}"
    )
    unknown = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    known = f"echo '{shown}'" if not is_past else unknown
    site.script("scontrol", f'case "$4" in 4711) {known};; *) {unknown};; esac')
    row = f"4711|4711|COMPLETED|spec|me|gpu03|{out.parent}|{out.name}|{err.name}"
    site.script("sacct", f"case \"$*\" in *' 4711 '*) echo '{row}';; esac")


@pytest.mark.parametrize("is_past", [False, True])
async def test_both_files_of_a_job_are_followed_line_by_line(near: Site, tmp_path: Path, is_past: bool) -> None:
    out, err = tmp_path / "spec-4711.out", tmp_path / "spec-4711.err"
    slurm(near, out, err, is_past=is_past)
    add(out, 0, 3)
    add(err, 100, 3)
    async with Hosts() as hosts, Listening(_events("slurm:4711", hosts)) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        with out.open("a") as half:
            half.write("line 000003 of")
            half.flush()
            add(err, 103, 2)
            await has_read(heard, 8)
            half.write(" the log\n")
        await has_read(heard, 9)
    found = numbers(heard.data)
    assert [number for number in found if number < 100] == [0, 1, 2, 3]
    assert [number for number in found if number >= 100] == [100, 101, 102, 103, 104]
    assert not heard.of(Gap)


def _events(text: str, hosts: Hosts) -> AsyncGenerator[SourceEvent, None]:
    events = open_source(parse_source(text), hosts, follow=True).events()
    assert isinstance(events, AsyncGenerator)
    return events


@pytest.mark.sshd
async def test_files_of_a_job_lie_on_the_host_that_is_asked(far: Site, tmp_path: Path) -> None:
    out = tmp_path / "slurm-4711.out"
    slurm(far, out, out)
    async with far.machine() as machine:
        job = await find_job(machine, "x", "4711")
    assert job.paths == (str(out),)


@pytest.mark.parametrize(
    ("job", "words"),
    [("12", "no such job"), ("4711", "no program scontrol"), ("5", "slurm controller does not answer")],
)
async def test_job_that_cannot_be_found_is_a_refusal_with_the_next_step(
    near: Site, tmp_path: Path, job: str, words: str
) -> None:
    if job == "12":
        slurm(near, tmp_path / "a", tmp_path / "b")
    if job == "5":
        near.script("scontrol", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    async with near.machine() as machine:
        with pytest.raises(SourceRefused, match=words):
            await find_job(machine, f"slurm:{job}", job)


async def test_array_is_refused_and_a_task_named(near: Site) -> None:
    lines = [f"JobId=471{task} ArrayJobId=4711 ArrayTaskId={task} JobState=RUNNING StdOut=/x/{task}" for task in (1, 2)]
    near.script("scontrol", f"printf '%s\\n' '{lines[0]}' '{lines[1]}'")
    async with near.machine() as machine:
        with pytest.raises(SourceRefused, match="slurm:4711_1"):
            await find_job(machine, "slurm:4711", "4711")


async def test_joined_files_end_when_all_have_ended(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n{name} without an end")
    heard = Heard()
    await heard.listen(Joined("x", [LocalFile(str(tmp_path / name)) for name in ("a", "b")]).events())
    assert sorted(heard.data.replace(b"end", b"end\n").splitlines()) == [
        b"a", b"a without an end", b"b", b"b without an end"
    ]  # fmt: skip


async def test_last_line_of_a_joined_file_that_nobody_ended_is_kept_when_another_follows() -> None:
    killed: list[SourceEvent] = [
        Connected(1.0, 0), Chunk(1.0, 0, b"one\nkil"), Chunk(1.0, 7, b"led"), Rotated(2.0, None, "truncated"),
        Chunk(2.0, 0, b"two\n"),
    ]  # fmt: skip
    heard = Heard()
    await heard.listen(Joined("x", [Said(killed)]).events())
    assert [event.data if isinstance(event, Chunk) else type(event) for event in heard.events[1:]] == [
        b"one\n", b"killed", Rotated, b"two\n"
    ]  # fmt: skip


@dataclass
class Said:
    """A source that says these events."""

    said: list[SourceEvent]
    name: str = "x"

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        for event in self.said:
            yield event


# -- patterns ----------------------------------------------------------------------------------------------------------


def newest(pattern: Path, machine: StreamingMachine | None = None) -> NewestFile:
    async def find() -> list[Match]:
        return local_matches(str(pattern)) if machine is None else await remote_matches(machine, str(pattern))

    return NewestFile(
        str(pattern),
        find,
        lambda path, _: file_on(ThisMachine(), path, follow=True, backfill_bytes=None),
        pace=PACE,
        look_s=0.05,
        silent_s=0.3,
    )


def age(path: Path, seconds: float) -> None:
    status = path.stat()
    os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))


async def test_newest_match_is_followed_and_a_newer_one_taken_up_when_the_old_is_finished(tmp_path: Path) -> None:
    old, first, second = (tmp_path / f"run{number}.log" for number in range(3))
    add(old, 900, 5)
    age(old, 100)
    add(first, 0, 10)
    async with Listening(newest(tmp_path / "run*.log").events()) as heard:
        await has_read(heard, 10)
        add(first, 10, 5)
        add(second, 15, 5)
        await has_read(heard, 20)
        add(second, 20, 5)
        await has_read(heard, 25)
    assert numbers(heard.data) == list(range(25))
    assert [event.reason for event in heard.of(Rotated)] == [f"{second} is newer than {first}"]


async def test_old_match_that_is_written_to_again_changes_nothing(tmp_path: Path) -> None:
    old, new = tmp_path / "a.log", tmp_path / "b.log"
    add(old, 900, 5)
    age(old, 100)
    add(new, 0, 5)
    async with Listening(newest(tmp_path / "*.log").events()) as heard:
        await has_read(heard, 5)
        add(old, 905, 5)
        await asyncio.sleep(0.3)
        add(new, 5, 5)
        await has_read(heard, 10)
    assert numbers(heard.data) == list(range(10))


@pytest.mark.parametrize("copies", [False, True])
async def test_rotation_is_no_newer_file(tmp_path: Path, copies: bool) -> None:
    log = tmp_path / "a.log"
    add(log, 0, 5)
    async with Listening(newest(tmp_path / "a.log*").events()) as heard:
        await has_read(heard, 5)
        if copies:
            (tmp_path / "a.log.1").write_bytes(log.read_bytes())
            await asyncio.sleep(0.2)
            os.truncate(log, 0)
        else:
            log.rename(tmp_path / "a.log.1")
        add(log, 5, 5)
        await has_read(heard, 10)
        await asyncio.sleep(0.2)
    assert numbers(heard.data) == list(range(10))
    assert len(heard.of(Rotated)) == 1
    assert "newer" not in heard.of(Rotated)[0].reason


async def test_pattern_without_a_match_is_waited_for(tmp_path: Path) -> None:
    async with Listening(newest(tmp_path / "*.log").events()) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        assert "no file matches" in heard.of(Waiting)[0].reason
        add(tmp_path / "a.log", 0, 5)
        await has_read(heard, 5)


@pytest.mark.sshd
async def test_pattern_is_expanded_on_the_far_side_and_never_run(far: Site, tmp_path: Path) -> None:
    folder = tmp_path / "logs; touch pwned"
    folder.mkdir()
    for number, name in enumerate(["a'$(x).log", "b.log", "c.txt"]):
        (folder / name).write_text("x")
        age(folder / name, 100 - number * 10)
    (folder / "d.log").mkdir()
    async with far.machine() as machine:
        found = await remote_matches(machine, f"{folder}/*.log")
        literal = await remote_matches(machine, f"{folder}/[b].log")
        (folder / "[b].log").write_text("x")
        itself = await remote_matches(machine, f"{folder}/[b].log")
        none = await remote_matches(machine, f"{folder}/$(touch {tmp_path}/pwned)*")
    assert [match.path for match in found] == [f"{folder}/a'$(x).log", f"{folder}/b.log"]
    assert [match.path for match in literal] == [f"{folder}/b.log"]
    assert [match.path for match in itself] == [f"{folder}/[b].log"]
    assert none == []
    assert not (tmp_path / "pwned").exists()


@pytest.mark.sshd
async def test_newest_match_of_a_host_is_followed_through_a_lost_link(far: Site, tmp_path: Path) -> None:
    first, second = tmp_path / "run1.log", tmp_path / "run2.log"
    add(first, 0, 10)
    async with far.machine() as machine, Listening(newest(tmp_path / "run*.log", machine).events()) as heard:
        await has_read(heard, 10)
        far.drop_link()
        add(second, 10, 5)
        await has_read(heard, 15)
    assert numbers(heard.data) == list(range(15))


async def test_report_reads_every_match(tmp_path: Path) -> None:
    add(tmp_path / "a.log", 0, 1)
    add(tmp_path / "b.log", 0, 1)
    async with Hosts() as hosts:
        addresses = await resolved(parse_source(f"{tmp_path}/*.log"), hosts, follow=False)
        with pytest.raises(UnreadableInput, match="no file matches"):
            await resolved(parse_source(f"{tmp_path}/*.txt"), hosts, follow=False)
    assert {Path(address.name).name for address in addresses} == {"a.log", "b.log"}


# -- commands ----------------------------------------------------------------------------------------------------------


async def test_command_is_started_again_and_that_is_said(tmp_path: Path) -> None:
    async with Hosts() as hosts:
        source = CommandSource("cmd:x", hosts.machine(None), "echo one; echo two >&2; exit 3", follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await has_read(heard, 6)
    assert heard.data.startswith(b"one\ntwo\none\ntwo\n")
    assert heard.of(Waiting)[0].reason == "cmd:x: the command has ended with status 3"
    assert heard.of(Rotated)[0].reason == "the command was started again"
    assert [waiting.attempt for waiting in heard.of(Waiting)][:2] == [1, 2]


@pytest.mark.parametrize(
    ("command", "data", "end"),
    [
        ("printf 'a\\nb'", b"a\nb", CaughtUp),
        ("echo a; exit 1", b"a\n", CaughtUp),
        ("exit 1", b"", Refused),
        ("specmon-has-no-such-command", None, Refused),
    ],
)
async def test_command_of_a_report_is_run_once(command: str, data: bytes | None, end: type) -> None:
    heard = Heard()
    async with Hosts() as hosts:
        await heard.listen(CommandSource("cmd:x", hosts.machine(None), command, follow=False, pace=PACE).events())
    assert data is None or heard.data == data
    assert isinstance(heard.events[-1], end)
    assert bool(heard.of(Gap)) == ("echo a" in command)


@pytest.mark.sshd
async def test_lost_link_ends_a_command_and_starts_it_again(far: Site, tmp_path: Path) -> None:
    command = f"echo $$ >>{tmp_path}/pids; echo begun; sleep 600"
    async with far.machine() as machine:
        source = CommandSource("cmd:x", machine, command, follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await has_read(heard, 1)
            far.drop_link()
            await has_read(heard, 2)
            assert len(heard.of(Gap)) == 1
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    for pid in pids:
        await _ends(pid)


async def test_command_ends_with_its_reader_whatever_it_started(tmp_path: Path) -> None:
    command = f"sh -c 'echo $$ >>{tmp_path}/pids; trap \"\" HUP; sleep 600; true' | cat; true"
    async with Hosts() as hosts:
        source = CommandSource("cmd:x", hosts.machine(None), command, follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await heard.until(lambda _: (tmp_path / "pids").exists() and bool((tmp_path / "pids").read_text().strip()))
    await _ends(int((tmp_path / "pids").read_text()))


async def test_command_whose_reader_leaves_at_its_start_is_not_left_running(tmp_path: Path) -> None:
    stream = Stream(("sh", "-c", f"echo $$ >>{tmp_path}/pids; exec sleep 600"))
    for _ in range(40):  # it ends before, at or after the start of the program
        script = await asyncio.create_subprocess_shell(stream.text(), stdin=asyncio.subprocess.DEVNULL)
        await script.wait()
    await asyncio.sleep(1)  # whatever was started has written its number
    for pid in (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []:
        await _ends(int(pid))


async def test_program_goes_also_when_its_shell_is_ended_first(tmp_path: Path) -> None:
    stream = Stream(("sh", "-c", "echo $$; exec sleep 600"))
    script = await asyncio.create_subprocess_exec(
        "sh", "-c", stream.text(), stdin=-1, stdout=-1, start_new_session=True
    )
    assert script.stdin is not None
    assert script.stdout is not None
    await script.stdout.readline()  # the mark
    pid = int(await script.stdout.readline())
    for _ in range(3000):
        if "cat" in _session(script.pid):  # what watches the channel is there
            break
        await asyncio.sleep(0.01)
    os.killpg(script.pid, signal.SIGTERM)
    for _ in range(3000):
        if script.returncode is not None:
            break
        await asyncio.sleep(0.01)
    script.stdin.close()
    await _ends(pid)


@pytest.mark.parametrize("command", ["{}", "({}) & read nothing </dev/null; sleep 0.2"])
async def test_program_that_does_not_heed_its_end_is_killed(tmp_path: Path, command: str) -> None:
    stubborn = f"sh -c 'echo $$ >{tmp_path}/pid; trap \"\" TERM HUP INT PIPE; while :; do sleep 0.1; done'"
    stream = Stream(("sh", "-c", command.format(stubborn)), grace_s=0)
    script = await asyncio.create_subprocess_shell(stream.text(), stdin=-1, stdout=-1)
    assert script.stdin is not None
    for _ in range(3000):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            break
        await asyncio.sleep(0.01)
    script.stdin.close()
    await _ends(int((tmp_path / "pid").read_text()))
    await script.wait()


async def test_killed_command_is_started_again(tmp_path: Path) -> None:
    command = f"echo $$ >{tmp_path}/pid; sleep 600 & echo $! >>{tmp_path}/children; echo begun; wait"
    async with Hosts() as hosts:
        source = CommandSource("cmd:x", hosts.machine(None), command, follow=True, pace=PACE)
        async with Listening(source.events()) as heard:
            await has_read(heard, 1)
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
            await has_read(heard, 2)
    assert "status 137" in heard.of(Waiting)[0].reason
    for pid in (tmp_path / "children").read_text().split():
        await _ends(int(pid))


async def _ends(pid: int) -> None:
    async with asyncio.timeout(40):
        while _runs(pid):  # noqa: ASYNC110 (no event tells of it)
            await asyncio.sleep(0.02)


def _session(session: int) -> list[str]:
    """The names of a session's processes."""
    names = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().partition("(")[2].rpartition(") ")
            if int(rest.split()[3]) == session:
                names.append(name)
    return names


def _runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
