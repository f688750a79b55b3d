"""What of the user's SSH configuration has no effect here, told by comparing with what `ssh -G` says.

asyncssh reads ~/.ssh/config and knows most of it. It knows nothing of host keys that are accepted silently, of shared
connections, or of /etc/ssh/ssh_config.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from specmon.errors import SourceRefused

_LIMIT_S = 10.0
_WHERE = {
    "hostname": "HostName",
    "user": "User",
    "port": "Port",
    "proxyjump": "ProxyJump",
    "proxycommand": "ProxyCommand",
}
_SYSTEM_FILE = "/etc/ssh/ssh_config"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A setting that `ssh` follows and we do not."""

    option: str
    text: str
    mend: str = ""


_ABOUT_KEYS = ("StrictHostKeyChecking", "UserKnownHostsFile", "VerifyHostKeyDNS", "KnownHostsCommand")
_ABOUT_WAYS = ("HostName", "Port", "ProxyJump", "ProxyCommand", "ProxyUseFdpass")


async def explained(refusal: SourceRefused, host: str, config_file: Path | None) -> SourceRefused:
    """The same refusal, with what of the configuration would have let `ssh` in and has no effect here."""
    cause = refusal.__cause__
    options: tuple[str, ...] = _ABOUT_WAYS
    if isinstance(cause, asyncssh.HostKeyNotVerifiable):
        options = _ABOUT_KEYS
    elif isinstance(cause, asyncssh.PermissionDenied):
        options = ("User",)
    told = [each.text for each in await ignored_settings(host, config_file) if each.option in options]
    if not told:
        return refusal
    longer = SourceRefused(f"{refusal} Of the SSH configuration, {'; '.join(told)}.")
    longer.__cause__ = cause
    return longer


async def ignored_settings(host: str, config_file: Path | None) -> list[Ignored]:
    """The settings for a host that have no effect here; none where there is no `ssh` program to ask."""
    whole = await _told_by_ssh(host, config_file)
    if whole is None:
        return []
    found = explain(whole)
    if config_file is None:
        alone = await _told_by_ssh(host, _own_file())
        found += [] if alone is None else explain_system(whole, alone)
    system = {each.option for each in found}
    return found + [
        each for each in explain_unread(whole, await _read_here(host, config_file)) if each.option not in system
    ]


def explain(told: Mapping[str, str]) -> list[Ignored]:
    """Of what `ssh -G` says, that which is not followed."""
    found = []
    strict = told.get("stricthostkeychecking", "ask")
    if strict in ("no", "off", "false", "accept-new"):
        strict = "no" if strict == "false" else strict  # as people write it
        found.append(
            Ignored(
                "StrictHostKeyChecking",
                f"StrictHostKeyChecking {strict} is not followed: an unknown host key is never accepted silently",
                "Answer the question about the key once, or run `ssh` to the host once.",
            )
        )
    if told.get("userknownhostsfile", "").split() == ["/dev/null"]:
        found.append(
            Ignored(
                "UserKnownHostsFile",
                "UserKnownHostsFile /dev/null records no host key, so none can be trusted",
                "Name a file of known keys with --known-hosts, such as ~/.ssh/known_hosts.",
            )
        )
    if told.get("controlmaster", "false") not in ("false", "no"):
        found.append(
            Ignored(
                "ControlMaster",
                "ControlMaster is not followed: specmon opens a connection of its own, so a password or code is asked "
                "for once more",
            )
        )
    if told.get("verifyhostkeydns", "false") in ("true", "yes"):
        found.append(
            Ignored("VerifyHostKeyDNS", "VerifyHostKeyDNS is not followed: keys are looked up in known_hosts only")
        )
    if told.get("knownhostscommand", "none") != "none":
        found.append(
            Ignored(
                "KnownHostsCommand",
                "KnownHostsCommand is not followed: keys are looked up in files only",
                "Write its output into a file and name that with --known-hosts.",
            )
        )
    if told.get("proxyusefdpass", "no") in ("yes", "true"):
        found.append(
            Ignored(
                "ProxyUseFdpass",
                "ProxyUseFdpass is not followed: a ProxyCommand has to carry the bytes itself",
                "Use a ProxyCommand that does, such as `nc %h %p`, or ProxyJump.",
            )
        )
    return found


def explain_system(whole: Mapping[str, str], alone: Mapping[str, str]) -> list[Ignored]:
    """Where the host is reached by what the system's file says and the user's own does not."""
    return [
        Ignored(
            option,
            f"{option} {whole[key]} comes from {_SYSTEM_FILE}, which is not read",
            "Copy it into ~/.ssh/config.",
        )
        for key, option in _WHERE.items()
        if key in whole and whole[key] != alone.get(key)
    ]


def explain_unread(whole: Mapping[str, str], here: Mapping[str, str]) -> list[Ignored]:
    """Where the host is reached by a line that `ssh` follows and asyncssh reads otherwise."""
    return [
        Ignored(
            option,
            f"{option} {whole[key]} is followed by `ssh` and not here: it stands under a Match that asyncssh reads "
            "otherwise (`exec` with a % in it)",
            "Write it under a Host line.",
        )
        for key, option in _WHERE.items()
        if key != "proxycommand" and key in whole and key in here and not _is_alike(key, whole[key], here[key])
    ]


def _is_alike(key: str, theirs: str, ours: str) -> bool:
    # A list of jump hosts is written in several ways.
    return bool(theirs) == bool(ours) if key == "proxyjump" else theirs.lower() == ours.lower()


async def _read_here(host: str, config_file: Path | None) -> dict[str, str]:
    """What asyncssh makes of the configuration; nothing where it cannot read it."""
    try:
        told = await asyncssh.SSHClientConnectionOptions.construct(
            host=host, client_keys=None, agent_path=None, config=() if config_file is None else [str(config_file)]
        )
    except (asyncssh.Error, OSError, ValueError):
        return {}
    jumps = told.tunnel if isinstance(told.tunnel, str) else ""
    return {"hostname": told.host, "user": told.username, "port": str(told.port), "proxyjump": jumps}


def parse_told(answer: str) -> dict[str, str]:
    """Read the lines of `ssh -G`; of an option that may stand several times, the first."""
    told: dict[str, str] = {}
    for line in answer.splitlines():
        option, _, value = line.partition(" ")
        told.setdefault(option.lower(), value.strip())
    return told


def _own_file() -> Path:
    own = Path("~/.ssh/config").expanduser()
    return own if own.is_file() else Path("none")  # to ssh, that word means no file at all


async def _told_by_ssh(host: str, config_file: Path | None) -> dict[str, str] | None:
    if (program := shutil.which("ssh")) is None:
        return None
    words = ["-F", str(config_file)] if config_file is not None else []
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "-G",
            *words,
            "--",
            host,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_LIMIT_S):
            answer, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return parse_told(answer.decode("utf-8", "replace")) if process.returncode == 0 else None
