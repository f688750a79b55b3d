"""The user's own keys, as the SSH configuration names them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypedDict

import asyncssh

_AGENT_LIMIT_S = 5.0  # to list its keys


class Keys(TypedDict, total=False):
    """Options for asyncssh."""

    client_keys: Sequence[str | asyncssh.SSHKeyPair] | None
    agent_path: str | tuple[()] | None
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


@asynccontextmanager
async def offered_keys(
    told: asyncssh.SSHClientConnectionOptions, files: Sequence[str], agent: bool
) -> AsyncIterator[Keys]:
    """The keys that a login offers, while it goes on. `files`: instead of those of the configuration.

    Of the keys in the agent, the ones that are named come first, as with `ssh`: a server takes a few tries only.
    asyncssh offers them in the agent's order.
    """
    keys: Keys = {"client_keys": list(files)} if files else present_keys(told)
    path = _agent_path(told) if agent else None
    keys["agent_path"] = path
    named = list(files) or [file for file in _texts(told.config.get("IdentityFile")) if _is_there(file)]
    if path is None or not named or told.config.get("IdentitiesOnly"):
        yield keys
        return
    try:
        async with asyncio.timeout(_AGENT_LIMIT_S):
            client = await asyncssh.connect_agent(path or os.environ.get("SSH_AUTH_SOCK", ""))
            held = list(await client.get_keys())
    except (OSError, asyncssh.Error, ValueError):
        yield keys
        return
    async with client:
        public = {file: _public_data(file) for file in named}
        ranks = {data: rank for rank, data in enumerate(public.values()) if data}
        if any(key.public_data in ranks for key in held):
            held.sort(key=lambda key: ranks.get(key.public_data, len(ranks)))
            in_agent = {key.public_data for key in held}
            rest = [file for file in named if public[file] not in in_agent and not _is_public(file)]
            keys["client_keys"], keys["agent_path"] = [*held, *rest], None
            keys["ignore_encrypted"] = not files
        yield keys


def _agent_path(told: asyncssh.SSHClientConnectionOptions) -> str | tuple[()] | None:
    """Where the agent listens: None for no agent, () for what the environment says."""
    told_path = told.config.get("IdentityAgent", ())
    if not isinstance(told_path, str):
        return None if told_path is None else ()
    if told_path == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK")
    return os.environ.get(told_path[1:]) if told_path.startswith("$") else told_path


def _public_data(file: str) -> bytes | None:
    path = str(Path(file).expanduser())
    for read, name in (
        (asyncssh.read_public_key, f"{path}.pub"),
        (asyncssh.read_public_key, path),
        (asyncssh.read_private_key, path),
    ):
        with suppress(OSError, ValueError, asyncssh.Error):
            return read(name).public_data
    return None


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _is_public(file: str) -> bool:
    with suppress(OSError), Path(file).expanduser().open("rb") as opened:
        return opened.read(8).startswith((b"ssh-", b"ecdsa-", b"sk-"))
    return False


def _is_there(file: str) -> bool:
    return Path(file).expanduser().is_file() or Path(f"{file}.pub").expanduser().is_file()
