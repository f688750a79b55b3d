"""Which host keys the user's files of known hosts vouch for, judged as OpenSSH judges them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import asyncssh

from specmon.sources.ssh_login import KeyKnowledge
from specmon.sources.ssh_tokens import expanded


def trusted_keys(
    known_hosts: object, knowledge: KeyKnowledge, told: asyncssh.SSHClientConnectionOptions, name: str
) -> Callable[[str, str, int | None], object]:
    """A lookup of trusted keys in the user's known_hosts files; `name` is the host as it was asked for.

    Given as a function because asyncssh reads `UserKnownHostsFile none` as "check nothing", stumbles over a file that
    does not exist and over a line that is none, and takes a key that is on record for the address alone.
    """
    if isinstance(known_hosts, list | tuple) and known_hosts:
        files = [_path(str(file), told, name) for file in known_hosts]
    elif isinstance(known_hosts, str) and known_hosts:
        files = [_path(known_hosts, told, name)]
    elif known_hosts is None:
        files = []
    else:
        files = [Path("~/.ssh/known_hosts").expanduser(), Path("/etc/ssh/ssh_known_hosts")]
    knowledge.files = [str(path) for path in files]

    def look_up(host: str, addr: str, port: int | None) -> object:
        # An alias stands without a port, for a tunnel to it has another one each time.
        knowledge.asked_for = host, None if told.host_key_alias else port
        known = _read([path for path in files if path.is_file()])
        # Not the address: whoever can forge a name may well have a host of his own whose address is on record.
        keys, authorities, revoked, *_ = known.match(host, "", port)
        if port is not None:  # asyncssh forgets these where no key but a revoked one is on record
            revoked = [*revoked, *known.match(f"[{host}]:{port}", "", None)[2]]
        knowledge.has_record = bool(keys)
        return keys, authorities, revoked

    return look_up


def _path(text: str, told: asyncssh.SSHClientConnectionOptions, name: str) -> Path:
    return Path(expanded(text, told, name)).expanduser()


def _read(files: list[Path]) -> asyncssh.SSHKnownHosts:
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    try:
        return asyncssh.SSHKnownHosts("\n".join(texts))
    except ValueError:
        return asyncssh.SSHKnownHosts("\n".join(filter(_is_readable, "\n".join(texts).splitlines())))


def _is_readable(line: str) -> bool:
    try:
        asyncssh.SSHKnownHosts(line)
    except ValueError:
        return False
    return True
