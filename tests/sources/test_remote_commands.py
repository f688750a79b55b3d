"""The commands for the far side are recognised exactly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from specmon.sources.file_commands import LookAt, Tail
from specmon.sources.gpus import parse_gpus
from specmon.sources.nccl_conf import ConfFile
from specmon.sources.remote_commands import (
    ReadGpus,
    ReadProcesses,
    ReadSurroundings,
    RemoteCommand,
    ResolvePath,
    parse_command,
)
from specmon.sources.shell_words import command_text
from specmon.sources.surroundings import parse_surroundings

SHELLS = ["sh", "dash", "bash", "zsh", "busybox"]

COMMANDS: list[RemoteCommand] = [
    LookAt("/var/log/a.log"),
    LookAt("it's; $(x)", 12),
    LookAt("-rf"),
    Tail("/a", 0, "/a"),
    Tail("/a.1", 123456789012, "/a", 5),
    ReadProcesses("[s]glang"),
    ResolvePath("-it's"),
    ReadSurroundings(7),
    ReadSurroundings(7, "it's; $(x)", "/home/u", ("/opt/a venv", "-rf")),
    ReadGpus(),
]
NAMES = [f"{type(command).__name__}{number}" for number, command in enumerate(COMMANDS)]  # a command's mark is random


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
            "uname",
            "sort",
        ):
            (tools / tool).symlink_to(program)
        environment["PATH"] = str(tools)
        words = [str(tools / "sh")]
    done = subprocess.run(
        [*words, "-c", script], cwd=folder, env=environment, capture_output=True, timeout=90, stdin=subprocess.DEVNULL
    )
    return done.stdout + b"\nSTDERR\n" + done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_command_is_recognised(command: RemoteCommand) -> None:
    seen = parse_command(command.text())
    assert seen is not None
    assert seen.text() == command.text()
    assert type(seen) is type(command)


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_text_survives_every_login_shell(command: RemoteCommand) -> None:
    assert not set("\n\\") & set(command.text())
    assert "!" not in command.text().replace("! ", "")  # csh reads "!x" as history, "! " as itself


@pytest.mark.parametrize("program", ["sh", "bash", "dash", "zsh", "fish", "tcsh"])
def test_words_survive_every_login_shell(program: str) -> None:
    if (shell := shutil.which(program)) is None:
        pytest.skip(f"no {program} here")
    words = ["a!b", "!!", "end!", "! x", "a\\b\\\\c\\", "it's \\'!'", '$(x) `x` ${x} ~ * {a,b} #;&|<>"', ""]
    done = subprocess.run([shell, "-c", command_text('printf "<%s>" "$@"', *words)], capture_output=True, timeout=90)
    assert done.stdout.decode() == "".join(f"<{word}>" for word in words), done.stderr


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
    ids=["nothing", "another", "its shell", "a quote", "one more behind", "a word behind", "a blank before"],
)
def test_anything_else_is_not_recognised(text: str) -> None:
    assert parse_command(text) is None


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
@pytest.mark.parametrize("program", SHELLS)
def test_surroundings_are_read_by_every_shell(program: str, tmp_path: Path) -> None:
    packages = tmp_path / "a venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    for name in ("sglang-0.5.16", "torch-2.9.1+cu130", "it's $(x)-1"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    conf = tmp_path / "it's a conf"
    conf.write_bytes(b"NCCL_ALGO=Ring\n\xff")
    question = ReadSurroundings(os.getpid(), str(conf), "", (str(tmp_path / "a venv"),))
    found = parse_surroundings(shell(program, question.text(), tmp_path).partition(b"\nSTDERR")[0])
    assert found.packages.items() >= {"sglang": "0.5.16", "torch": "2.9.1+cu130"}.items()
    assert found.conf_files[0] == ConfFile(str(conf), b"NCCL_ALGO=Ring\n\xff")
    assert (found.network, found.is_readable, found.is_gone) == ("same", True, False)
    assert found.host_name == os.uname().nodename


@pytest.mark.parametrize("program", SHELLS)
def test_surroundings_of_a_process_that_is_gone(program: str, tmp_path: Path) -> None:
    answer = shell(program, ReadSurroundings(2**22 + 1).text(), tmp_path).partition(b"\nSTDERR")[0]
    assert parse_surroundings(answer).is_gone


FAKES = {
    "as it is now": ("printf '0, GPU-1, NVIDIA H200, 580.159.04, 143771, 700.00, 1980, 3201, [N/A], [N/A], "
                     "Enabled, Disabled, 5, 16\\n'", ""),
    "an old one": ("case $1 in *pcie*) echo 'Field \"x\" is not a valid field to query.'; exit 2;; esac; "
                   "echo '0, GPU-1, NVIDIA A, 450.80.02, 15109, 70.00, 1590, 5001'", ""),
    "without devices": ("echo No devices were found; exit 6", "nvidia-smi says: No devices were found"),
    "hanging": ("sleep 1; exit 124", "nvidia-smi gave no answer in 8 s"),
}  # fmt: skip


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("program", ["sh", "dash", "bash", "zsh"])
def test_gpus_are_read_by_every_shell(program: str, fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, reason = FAKES[fake]
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    gpus = parse_gpus(shell(program, ReadGpus().text(), tmp_path).partition(b"\nSTDERR")[0])
    assert gpus.reason == reason
    assert len(gpus.each) == (not reason)


@pytest.mark.parametrize("program", SHELLS)
def test_path_is_resolved(program: str, tmp_path: Path) -> None:
    (tmp_path / "a\nb").touch()
    (tmp_path / "-link").symlink_to("a\nb")
    answer = shell(program, ResolvePath("-link").text(), tmp_path).partition(b"\nSTDERR")[0]
    assert answer == str(tmp_path / "a\nb").encode()
