"""The tokens and variables that the SSH configuration may hold where asyncssh reads none."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

import asyncssh

_TOKEN = re.compile(r"%(.)|\$\{(\w+)\}")


def expanded(text: str, told: asyncssh.SSHClientConnectionOptions, name: str) -> str:
    """A text with its tokens put in as `ssh` does; unknown ones stay. `name` is the host as it was asked for."""
    here = socket.gethostname()
    tokens: Mapping[str, str] = {
        "%": "%", "d": str(Path("~").expanduser()), "h": told.host, "i": str(os.getuid()),
        "k": told.host_key_alias or name, "l": here, "L": here.partition(".")[0], "n": name, "p": str(told.port),
        "r": told.username, "u": told.client_username,
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        token, variable = match.groups()
        return tokens.get(token, match[0]) if token else os.environ.get(variable, match[0])

    return _TOKEN.sub(value, text)
