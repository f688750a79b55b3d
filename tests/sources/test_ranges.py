"""Parts of a remote file: the script as shells run it, and answers that are none."""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from specmon.sources.file_commands import BLOCK_BYTES, ReadRange
from specmon.sources.ranges import parse_range
from specmon.sources.remote_commands import parse_command

DATA = b"".join(b"line %06d of the log\n" % number for number in range(20_000))


def run(command: ReadRange, shell: list[str], path: str | None = None) -> bytes:
    script = shlex.split(command.text())[1:]
    environment = {"PATH": path or os.environ["PATH"]}
    done = subprocess.run([*shell, *script[1:]], capture_output=True, env=environment, timeout=60)
    return done.stdout


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("start", [0, 1, 100_001, len(DATA) - 10, len(DATA) + 10])
def test_any_part_of_a_file_comes_as_it_is(tmp_path: Path, shell: str, start: int) -> None:
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"no {shell} here")
    log = tmp_path / "a 'b.log"
    log.write_bytes(DATA)
    command = ReadRange(str(log), start, 2)
    found = parse_range(run(command, [program, "sh"] if shell == "busybox" else [program]), command)
    assert found is not None
    assert found.data == DATA[start : start + 2 * BLOCK_BYTES]
    assert (found.before.size, found.before.identity.head) == (len(DATA), DATA[:256])
    assert found.before == found.after
    assert found.before.identity.inode == log.stat().st_ino


def test_host_without_gzip_sends_the_bytes_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "dd", "od", "stat", "cat"):
        where = shutil.which(name)
        assert where is not None
        (folder / name).symlink_to(where)
    log = tmp_path / "a.log"
    log.write_bytes(DATA)
    command = ReadRange(str(log), 7, 1)
    answer = run(command, ["/bin/sh"], str(folder))
    assert DATA[7:1000] in answer
    found = parse_range(answer, command)
    assert found is not None
    assert found.data == DATA[7 : 7 + BLOCK_BYTES]


def test_packed_part_is_a_fraction_on_the_way(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(DATA)
    assert len(run(ReadRange(str(log), 0, 6), ["/bin/sh"])) < len(DATA) / 4


def answer(command: ReadRange, data: bytes, *, packing: str = "gzip -c1", last: str = "1 2 9|6162") -> bytes:
    head = f"{command.mark}|{packing}|1 2 9|6162\n".encode()
    return b"Welcome\n" + head + data + f"{command.mark}|{packing}|{last}\n".encode()


def test_greeting_of_a_login_shell_is_passed_over() -> None:
    command = ReadRange("a.log", 0, 1)
    found = parse_range(answer(command, gzip.compress(b"abc")), command)
    assert found is not None
    assert found.data == b"abc"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"\0" * (BLOCK_BYTES + 1), mtime=0), {}),  # a decompression bomb stops at what was asked for
        (gzip.compress(b"\0" * (64 << 20), mtime=0), {}),
        (b"x" * (BLOCK_BYTES + 1), {"packing": "cat"}),
        (gzip.compress(b"abc", mtime=0)[:-5], {}),
        (b"no gzip", {}),
        (gzip.compress(b"abc", mtime=0), {"last": "1 2|6162"}),
        (gzip.compress(b"abc", mtime=0), {"last": "1 2 9|xy"}),
    ],
)
def test_answer_that_is_none_gives_nothing(data: bytes, words: dict[str, str]) -> None:
    command = ReadRange("a.log", 0, 1)
    assert parse_range(answer(command, data, **words), command) is None


def test_answer_without_its_marks_gives_nothing() -> None:
    command = ReadRange("a.log", 0, 1)
    for text in (b"", b"sh: not found\n", command.mark.encode() + b"|", answer(command, b"abc")[:-40]):
        assert parse_range(text, command) is None


def test_command_is_recognised_again() -> None:
    command = ReadRange("/var/log/a b.log", 123, 4, is_packed=False)
    assert parse_command(command.text()) == command
