"""The wheel holds all that the program needs: installed in an empty folder, the demo runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, without its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)], check=True, timeout=120
    )
    (wheel,) = folder.glob("specmon-*.whl")
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True, timeout=120
    )
    return folder / "site"


def test_demo_of_the_wheel_tells_the_story_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(installed), "PYTHONUTF8": "1"}
    where = subprocess.run(
        [sys.executable, "-c", "import specmon; print(specmon.__file__)"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(installed) in where.stdout
    done = subprocess.run(
        [sys.executable, "-m", "specmon", "demo", "--plain", "--speed", "30", "--interval", "0.5"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    last = done.stdout.strip().splitlines()[-4:]
    assert "BASELINE NOT TRUSTED −29 %" in last[0]
    assert "NCCL_PROTO" in last[0]
    assert "base 62.9" in last[1]
    assert "spec 75.9" in last[2]
    assert "1.21×" in last[2]
    assert "0.85× of reference" in last[2]
    assert "verify 26.7" in last[3]


def test_themes_of_the_wheel_are_the_ones_at_the_top(installed: Path) -> None:
    inside = {path.name for path in (installed / "specmon" / "_bundled" / "themes").iterdir()}
    assert inside == {path.name for path in (ROOT / "themes").iterdir()}
