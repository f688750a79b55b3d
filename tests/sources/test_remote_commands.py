"""The commands for the far side: recognised exactly, and understood by every shell at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.cursor import FoundFile, NoFile
from specmon.sources.events import FileIdentity
from specmon.sources.remote_commands import LookAt, ReadProcesses, RemoteCommand, Tail, parse_command
from specmon.sources.remote_file import parse_look, parse_tick

SHELLS = ["sh", "dash", "bash", "zsh", "busybox"]
NAMES = ["a.log", "-n", "it's", '"; echo oops; "', "$(echo oops)", "a  b|c", "ü\u2028x", "*"]
COMMANDS: list[RemoteCommand] = [
    LookAt("/var/log/a.log"),
    LookAt("it's; $(x)", 12),
    LookAt("-rf"),
    Tail("/a", 0, "/a"),
    Tail("/a.1", 123456789012, "/a", 5),
    ReadProcesses("[s]glang"),
]


def shell(name: str, script: str, folder: Path) -> bytes:
    """Run a command as a login shell would. Every program comes from BusyBox when the shell does."""
    if (program := shutil.which(name)) is None:
        pytest.skip(f"no {name} here")
    words, environment = [program], dict(os.environ)
    if name == "busybox":
        tools = folder / "tools"
        tools.mkdir()
        for tool in (
            "sh",
            "stat",
            "od",
            "dirname",
            "find",
            "head",
            "tail",
            "sleep",
            "cat",
            "ls",
            "grep",
            "date",
            "readlink",
        ):
            (tools / tool).symlink_to(program)
        environment["PATH"] = str(tools)
        words = [str(tools / "sh")]
    done = subprocess.run(
        [*words, "-c", script], cwd=folder, env=environment, capture_output=True, timeout=20, stdin=subprocess.DEVNULL
    )
    return done.stdout + b"\nSTDERR\n" + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_command_is_recognised(command: RemoteCommand) -> None:
    seen = parse_command(command.text())
    assert seen is not None
    assert seen.text() == command.text()
    assert type(seen) is type(command)


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_text_survives_every_login_shell(command: RemoteCommand) -> None:
    assert not set("\n\\") & set(command.text())
    assert "!" not in command.text().replace("! ", "")  # csh reads "!x" as history, "! " as itself


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ls",
        "sh -c 'echo x'",
        "'",
        LookAt("/a").text() + "; ls",
        LookAt("/a").text() + " x",
        " " + LookAt("/a").text(),
    ],
)
def test_anything_else_is_not_recognised(text: str) -> None:
    assert parse_command(text) is None


@given(st.text(max_size=40).filter(lambda text: "\0" not in text), st.integers(0, 2**60))
def test_any_path_comes_through(path: str, offset: int) -> None:
    seen = parse_command(Tail(path, offset, path).text())
    assert isinstance(seen, Tail)
    assert seen.offset == offset
    assert seen.path in (path, f"./{path}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", SHELLS)
def test_look_sees_the_file(program: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\0first\xff\n" + b"x" * 300)
    status = (tmp_path / name).stat()
    look = parse_look(shell(program, LookAt(name).text(), tmp_path).partition(b"\nSTDERR")[0])
    assert look is not None
    head = (b"\0first\xff\n" + b"x" * 300)[:256]
    assert look.at_path == FoundFile(FileIdentity(status.st_dev, status.st_ino, head), 308)


@pytest.mark.parametrize("program", SHELLS)
def test_look_tells_what_is_no_file(program: str, tmp_path: Path) -> None:
    (tmp_path / "pipe").touch()
    (tmp_path / "pipe").unlink()
    os.mkfifo(tmp_path / "pipe")
    answers = [parse_look(shell(program, LookAt(name).text(), tmp_path)) for name in ["none"]]
    assert [answer.at_path for answer in answers if answer is not None] == [NoFile("no such file")]
    if program == "busybox":
        return  # its tools folder is made once
    for name, reason in [
        ("pipe", "is a pipe or a device, which cannot be followed"),
        (".", "is a directory, not a log"),
        ("no/x", "no such file"),
    ]:
        look = parse_look(shell(program, LookAt(name).text(), tmp_path))
        assert look is not None
        assert isinstance(look.at_path, NoFile)
        assert look.at_path.reason == reason


@pytest.mark.parametrize("program", SHELLS)
def test_look_finds_the_renamed_file(program: str, tmp_path: Path) -> None:
    (tmp_path / "a.log.1").write_bytes(b"old\n")
    (tmp_path / "a.log").write_bytes(b"new\n")
    inode = (tmp_path / "a.log.1").stat().st_ino
    answer = shell(program, LookAt(str(tmp_path / "a.log"), inode).text(), tmp_path).partition(b"\nSTDERR")[0]
    look = parse_look(answer)
    assert look is not None
    assert look.moved is not None
    assert (look.moved.path, look.moved.file.size) == (str(tmp_path / "a.log.1"), 4)


@pytest.mark.parametrize("program", SHELLS)
def test_tail_gives_a_look_and_then_the_bytes(program: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"0123456789")
    (tmp_path / "b.log").write_bytes(b"b")
    # stdin is at its end at once, so the command ends as it does when the channel closes
    script = Tail("a.log", 4, "b.log").text().replace("exec ", "{ sleep 0.3; } | ", 1)
    answer = shell(program, script, tmp_path)
    data, _, looks = answer.partition(b"\nSTDERR\n")
    assert data == b"456789"
    tick = parse_tick(looks.split(b"\n")[0], None)
    assert tick is not None
    assert tick.opened.size == 10
    assert tick.at_path is not None
    assert (tick.at_path.size, tick.at_path.identity.head) == (1, b"b")


@pytest.mark.parametrize("line", [b"", b"look", b"look|x|y|z", b"bash: warning", b"look|1 2|1 2 3|"])
def test_foreign_lines_are_no_looks(line: bytes) -> None:
    assert parse_tick(line, None) is None


@pytest.mark.parametrize("answer", [b"", b"\n", b"Welcome!\n", b"file\n", b"file 1 2\n", b"file 1 2 3 zz\n"])
def test_foreign_answers_are_no_looks(answer: bytes) -> None:
    assert parse_look(answer) is None
