"""The user's own keys, as the SSH configuration names them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import asyncssh


class Keys(TypedDict, total=False):
    """Options for asyncssh."""

    client_keys: list[str] | None
    client_certs: list[str]
    ignore_encrypted: bool


def present_keys(told: asyncssh.SSHClientConnectionOptions) -> Keys:
    """The keys and certificates of the configuration without those that are not there.

    Many a configuration names keys that only some machines have, or the public key of one that is in the agent. `ssh`
    passes over them, asyncssh gives up. Nothing is returned when asyncssh may read the configuration by itself.
    """
    keys, certificates = (_texts(told.config.get(option)) for option in ("IdentityFile", "CertificateFile"))
    found: Keys = {}
    is_choice = bool(told.config.get("IdentitiesOnly"))  # then a public key names one of the agent's
    there = [file for file in keys if _is_there(file) and (is_choice or not _is_public(file))]
    if there != keys:
        # With IdentitiesOnly an empty list would let in every key of the agent, and no list at all would not.
        found["client_keys"] = None if not there and is_choice else there
        found["ignore_encrypted"] = True
    if (readable := [file for file in certificates if _is_there(file)]) != certificates:
        found["client_certs"] = readable
    return found


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _is_public(file: str) -> bool:
    with suppress(OSError), Path(file).expanduser().open("rb") as opened:
        return opened.read(8).startswith((b"ssh-", b"ecdsa-", b"sk-"))
    return False


def _is_there(file: str) -> bool:
    return Path(file).expanduser().is_file() or Path(f"{file}.pub").expanduser().is_file()
