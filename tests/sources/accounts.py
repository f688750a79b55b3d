"""A login of the tests' own with a password, for a real sshd. It needs root, and is removed afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PASSWORD = "open sesame"


@contextmanager
def account() -> Iterator[str]:
    """The name of a fresh user."""
    name = f"specmon-test-{os.getpid()}"
    if os.geteuid() != 0 or not all(map(shutil.which, ("useradd", "userdel", "chpasswd"))):
        pytest.skip("a login of its own needs root, useradd and chpasswd")
    made = subprocess.run(
        ["useradd", "--no-create-home", "--home-dir", "/", "--shell", "/bin/sh", name],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"no user can be made here: {made.stderr.strip()}")
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}\n", text=True, check=True, capture_output=True)
        yield name
    finally:
        for _ in range(100):  # a session of it may still be ending
            if subprocess.run(["userdel", name], capture_output=True, timeout=60, check=False).returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(["userdel", "--force", name], capture_output=True, timeout=60, check=False)
