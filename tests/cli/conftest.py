"""Runs the installed program as a user does: another process, an empty home, no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished command left."""

    status: int
    out: str
    err: str


class Specmon(Protocol):
    """Runs `specmon ARGS…`."""

    def __call__(self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done: ...


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, so that nobody's keys, references or themes play a part."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONUTF8": "1", "TERM": "xterm-256color"}


@pytest.fixture
def specmon(environment: dict[str, str], tmp_path: Path) -> Specmon:
    def run(*args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done:
        command: Sequence[str] = [sys.executable, "-m", "specmon", *args]
        done = subprocess.run(
            command,
            input=stdin if stdin is not None else b"",
            capture_output=True,
            env={**environment, **(env or {})},
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def at_once(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Specmon:
    """The same within this process: for tables of many rows. Its stdin is empty."""
    from specmon.cli import main

    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(*args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done:
        assert stdin is None, "a process of its own has a stdin: use the fixture specmon"
        capsys.readouterr()
        with monkeypatch.context() as patched:
            for name, value in (env or {}).items():
                patched.setenv(name, value)
            with pytest.raises(SystemExit) as end:
                main(list(args))
        out, err = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Done(end.value.code, out, err)

    return run


SENTENCE_PREFIX = "specmon: "


@pytest.fixture
def only_sentences() -> Callable[[str], list[str]]:
    """The sentences on stderr; fails on a traceback or on anything that is no sentence of ours."""

    def check(err: str) -> list[str]:
        assert "Traceback" not in err
        lines = [line for line in err.splitlines() if line and not line.startswith("connecting to ")]
        assert all(line.startswith(SENTENCE_PREFIX) for line in lines), err
        return [line.removeprefix(SENTENCE_PREFIX) for line in lines]

    return check
