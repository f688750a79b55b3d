"""The commands for the far side are recognised exactly."""

from __future__ import annotations

import pytest

from specmon.sources.file_commands import LookAt, Tail
from specmon.sources.remote_commands import ReadProcesses, RemoteCommand, parse_command

COMMANDS: list[RemoteCommand] = [
    LookAt("/var/log/a.log"),
    LookAt("it's; $(x)", 12),
    LookAt("-rf"),
    Tail("/a", 0, "/a"),
    Tail("/a.1", 123456789012, "/a", 5),
    ReadProcesses("[s]glang"),
]


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
