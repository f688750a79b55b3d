"""The far side's part in following a file, run by every shell at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.events import FileIdentity
from specmon.sources.file_commands import LookAt, Tail
from specmon.sources.looks import Batch, Evidence, FoundFile, Look, NoFile
from specmon.sources.remote_commands import parse_command
from specmon.sources.remote_file import BatchSplitter, parse_batch, parse_look

SHELLS = ["sh", "dash", "bash", "zsh", "busybox"]
NAMES = ["a.log", "-n", "it's", '"; echo oops; "', "$(echo oops)", "a  b|c", "ü\u2028x", "*"]
TOOLS = "sh stat od dirname find head tail sleep cat ls dd tr"
MARK = "0123456789abcdef"


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, str]]:
    """A login shell and its environment. Every program comes from BusyBox when the shell does."""
    if (program := shutil.which(request.param)) is None:
        pytest.skip(f"no {request.param} here")
    environment = dict(os.environ)
    if request.param != "busybox":
        return [program], environment
    tools = tmp_path_factory.mktemp("tools")
    for tool in TOOLS.split():
        (tools / tool).symlink_to(program)
    environment["PATH"] = str(tools)
    return [str(tools / "sh")], environment


Shell = tuple[list[str], dict[str, str]]


def looked(shell: Shell, folder: Path, path: str, inode: int | None = None) -> Look:
    words, environment = shell
    command = LookAt(path, inode)
    done = subprocess.run(
        [*words, "-c", "echo Welcome; " + command.text()],  # as a greeting in ~/.bashrc does
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )
    look = parse_look(done.stdout, command.mark, path)
    assert look is not None, done.stderr
    return look


class Running:
    """A `Tail` that runs beside the test."""

    def __init__(self, shell: Shell, folder: Path, command: Tail) -> None:
        words, environment = shell
        self._process = subprocess.Popen(
            [*words, "-c", command.text()],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._splitter = BatchSplitter(command.mark)
        self.batches: list[Batch] = []
        self.has_ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), 65536):
            self.batches += self._splitter.feed(data)
        self.has_ended.set()

    @property
    def data(self) -> bytes:
        return b"".join(batch.data for batch in self.batches)

    def wait(self, data: bytes, batches: int = 1) -> None:
        end = time.monotonic() + 10
        while time.monotonic() < end and not (self.data == data and len(self.batches) >= batches):
            time.sleep(0.005)
        assert self.data == data

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(timeout=90) == 0
        assert self.has_ended.wait(timeout=90)
        assert self._process.stdout is not None
        self._process.stdout.close()


@given(st.text(max_size=40).filter(lambda text: "\0" not in text), st.integers(0, 2**60))
def test_any_path_comes_through(path: str, offset: int) -> None:
    seen = parse_command(Tail(path, offset, path).text())
    assert isinstance(seen, Tail)
    assert seen.offset == offset
    assert seen.path in (path, f"./{path}")


@pytest.mark.parametrize("name", NAMES)
def test_look_sees_the_file(shell: Shell, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\0first\xff\n" + b"x" * 300)
    status = (tmp_path / name).stat()
    head = (b"\0first\xff\n" + b"x" * 300)[:256]
    assert looked(shell, tmp_path, name).at_path == FoundFile(FileIdentity(status.st_dev, status.st_ino, head), 308)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "no such file"),
        ("pipe", "is a pipe or a device, which cannot be followed"),
        (".", "is a directory, not a log"),
        ("no/x", "no such file"),
    ],
)
def test_look_tells_what_is_no_file(shell: Shell, name: str, reason: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = looked(shell, tmp_path, name).at_path
    assert isinstance(found, NoFile)
    assert found.reason == reason


def test_look_finds_the_renamed_file(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.log.1").write_bytes(b"old\n")
    (tmp_path / "a.log").write_bytes(b"new\n")
    look = looked(shell, tmp_path, str(tmp_path / "a.log"), (tmp_path / "a.log.1").stat().st_ino)
    assert look.moved is not None
    assert (look.moved.path, look.moved.file.size) == (str(tmp_path / "a.log.1"), 4)


def test_look_finds_the_next_file_that_was_rotated_away(shell: Shell, tmp_path: Path) -> None:
    ages = {"a.log": 0, "a.log.3": 40, "a.log.2": 30, "a.log-20261130": 20, "a.log.1": 10, "a.log.4": 50}
    ages |= {"a.log.1.gz": 25, "a.log.err": 25, "b.log.1": 25, "a.log.1 2": 25}
    for name, age_s in ages.items():
        (tmp_path / name).write_bytes(name.encode())
        os.utime(tmp_path / name, (1e9 - age_s, 1e9 - age_s))
    seen = []
    name = "a.log.3"
    while (later := looked(shell, tmp_path, "a.log", (tmp_path / name).stat().st_ino).later) is not None:
        seen.append(later.path)
        name = later.path
        assert later.file.size == len(name)
    assert seen == ["a.log.2", "a.log-20261130", "a.log.1"]
    assert looked(shell, tmp_path, "a.log", (tmp_path / "a.log").stat().st_ino).later is None


def test_tail_gives_a_look_and_then_bytes_with_looks_behind_them(shell: Shell, tmp_path: Path) -> None:
    log, other = tmp_path / "a.log", tmp_path / "b.log"
    log.write_bytes(b"0123456789")
    other.write_bytes(b"b")
    running = Running(shell, tmp_path, Tail("a.log", 4, "b.log", 0.1, 10))
    running.wait(b"456789", batches=2)
    first = running.batches[0]
    assert (first.data, first.opened.size) == (b"", 10)
    assert first.evidence == (Evidence(0, b"0123456789"),)
    assert first.at_path is not None
    assert (first.at_path.identity.inode, first.at_path.size) == (other.stat().st_ino, 1)
    block = b"\0\xff\\x\n" * 60_000  # more than the largest batch takes four readings of
    with log.open("ab") as file:
        file.write(block)
    running.wait(b"456789" + block)
    other.unlink()
    silent = len(running.batches) + 2
    running.wait(b"456789" + block, batches=silent)
    assert running.batches[-1].at_path is None
    assert running.batches[-1].opened.size == 10 + len(block)
    running.close()


def test_tail_never_jumps_to_the_beginning_of_a_truncated_file(shell: Shell, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"old" * 100)
    running = Running(shell, tmp_path, Tail("a.log", 300, "a.log", 0.1, 300))
    running.wait(b"", batches=2)
    log.write_bytes(b"new" * 50)
    seen = len(running.batches)
    running.wait(b"", batches=seen + 3)
    assert running.batches[-1].opened.size == 150
    assert running.batches[-1].evidence == (Evidence(0, b"new" * 50),)
    running.close()


def test_evidence_is_what_lies_before_the_last_look(shell: Shell, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    whole = b"".join(b"line %05d\n" % number for number in range(100))
    log.write_bytes(whole)
    running = Running(shell, tmp_path, Tail("a.log", 600, "a.log", 5, len(whole)))
    running.wait(whole[600:])
    assert running.batches[0].evidence == (Evidence(344, whole[344:600]),)
    running.close()


def test_text_that_cannot_be_opened_ends_the_command(shell: Shell, tmp_path: Path) -> None:
    words, environment = shell
    done = subprocess.run(
        [*words, "-c", Tail("none", 0, "none").text()], cwd=tmp_path, env=environment, capture_output=True, timeout=90
    )
    assert (done.returncode != 0, done.stdout) == (True, b"")


@given(st.lists(st.binary(max_size=30), max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_batches_do_not_depend_on_how_the_link_cuts_them(parts: list[bytes], cuts: list[int]) -> None:
    line = MARK.encode() + b"|own|0| 61 62|1 2 3 1 2 3\n"
    sent = b"".join(part + line for part in parts)
    edges = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    splitter = BatchSplitter(MARK)
    batches = [batch for start, end in pairwise(edges) for batch in splitter.feed(sent[start:end])]
    assert [batch.data for batch in batches] == parts
    assert splitter.held_bytes == 0


@pytest.mark.parametrize("line", [b"", b"own", b"own|0|61", b"own|x|61|1 2 3", b"own|0|6z|1 2 3", b"own|0|61|1 2"])
def test_foreign_lines_are_no_looks(line: bytes) -> None:
    assert parse_batch(b"", line) is None


def test_evidence_from_a_path_counts_only_for_the_open_file() -> None:
    same, other = (parse_batch(b"x", b"path|0|61|1 2 3 1 %d 3" % inode) for inode in (2, 9))
    assert same is not None
    assert other is not None
    assert (same.evidence, other.evidence) == ((Evidence(0, b"a"),), ())


@pytest.mark.parametrize("answer", [b"", b"\n", b"Welcome!\n", b"file\n", b"file 1 2\n", b"file 1 2 3 zz\n"])
def test_foreign_answers_are_no_looks(answer: bytes) -> None:
    assert parse_look(MARK.encode() + b"\n" + answer, MARK, "a") is None
    assert parse_look(b"file 1 2 3 61\n", MARK, "a") is None
