"""The manual page: made of the commands, taken by man(1) without a complaint, and the one in docs/ is this one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from specmon.cli import cli
from specmon.commands.manual import manual
from specmon.settings.names import VARIABLES
from tests.cli.conftest import Specmon

PAGE = Path(__file__).parents[2] / "docs" / "specmon.1"


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_page_in_docs_is_the_one_that_the_program_prints(specmon: Specmon) -> None:
    done = specmon("man")
    assert done.status == 0
    assert done.out == PAGE.read_text(encoding="utf-8"), "renew it: specmon man > docs/specmon.1"


def test_every_command_option_and_variable_is_in_it() -> None:
    page = manual(cli).replace("\\-", "-")
    for path, command in commands(cli, "specmon"):
        assert f"\n.SS {path}\n" in page
        for option in (each for each in command.params if isinstance(each, click.Option)):
            assert max(option.opts, key=len) in page
    for variable in VARIABLES.values():
        assert f"\\fB{variable}\\fR" in page


def test_page_is_taken_without_a_complaint() -> None:
    if shutil.which("man") is None:
        pytest.skip("no man here (install man-db)")
    env = {"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    words = ("man", "--warnings", "-l", str(PAGE))
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=90, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "specmon connect gpu01 --baseline /var/log/base.log --spec /var/log/eagle3.log" in done.stdout
    assert "\\" not in done.stdout
