"""An sshd that a test may stop and start again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .faults import Daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    folder = tmp_path / "sshd"
    folder.mkdir()
    daemon = Daemon(folder)
    yield daemon
    daemon.stop()
