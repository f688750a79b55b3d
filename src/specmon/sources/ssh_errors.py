"""What can go wrong on the way to a host, as one sentence each: the host, the fault, the next step.

The only place that looks at asyncssh's and the system's exceptions. A fault that a wait can mend becomes
`SourceLost`, one that needs the user becomes `SourceRefused`.
"""

from __future__ import annotations

import errno
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from specmon.errors import SourceLost, SourceRefused, SpecmonError
from specmon.sources.machine import ForwardingRefused, PortClosed


@dataclass(frozen=True, slots=True)
class SeenHostKey:
    """The key that a host showed and that is not trusted."""

    fingerprint: str  # "SHA256:…"
    is_changed: bool  # another key is on record for this host
    files: tuple[str, ...] = ()  # the known_hosts files that were searched


def hand_command(
    host: str,
    config_file: Path | None,
    *,
    port: int | None = None,
    known_hosts: Sequence[Path] = (),
    keys: Sequence[Path] = (),
    jump_host: str | None = None,
) -> str:
    """The `ssh` command with which the user can do the same by hand, and write into the same known_hosts file."""
    words = ["ssh"]
    if config_file is not None:
        words += ["-F", str(config_file)]
    if port is not None:
        words += ["-p", str(port)]
    for key in keys:
        words += ["-i", str(key)]
    if jump_host:
        words += ["-J", jump_host]
    if known_hosts:
        words += ["-o", f"UserKnownHostsFile={known_hosts[0]}"]
    return shlex.join([*words, host])


def host_key_refused(host: str, key: SeenHostKey, by_hand: str) -> SourceRefused:
    """The host's key is unknown or has changed; it is never accepted silently."""
    if key.is_changed:
        where = f" in {', '.join(key.files)}" if key.files else ""
        return SourceRefused(
            f"{host}: the host key has CHANGED ({key.fingerprint}) and is not the one on record{where}. Somebody "
            f"may be listening in: ask who runs the host; if the change is right, remove the old line there "
            f"and run `{by_hand}` once."
        )
    return SourceRefused(
        f"{host}: host key unknown ({key.fingerprint}). Run `{by_hand}` once to accept it, then try again."
    )


def connect_error(
    error: Exception,
    host: str,
    *,
    by_hand: str,
    seen_key: SeenHostKey | None,
    has_record: bool,
    was_reached: bool,
    was_greeted: bool = True,
    proxy_said: str | None = None,
) -> SpecmonError:
    """Turn what a connection attempt raised into our own error.

    `has_record`: some key of the host is in known_hosts. `was_reached`: the host has been reached before, so that an
    absent network or daemon is worth waiting for; on the very first attempt a wrong name or port is likelier, and the
    user wants to know at once. `was_greeted`: it has said that it is an SSH server.
    `proxy_said`: the last words of the ProxyCommand that leads to it; None when none does.
    """
    if isinstance(error, SpecmonError):
        return error
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        if seen_key is not None:
            return host_key_refused(host, seen_key, by_hand)
        return SourceRefused(f"{host}: host key not trusted ({error.reason}). Run `{by_hand}` to see why.")
    if isinstance(error, asyncssh.PermissionDenied):
        return SourceRefused(
            f"{host}: permission denied; no key or password was accepted. "
            f"Try `{by_hand}`, or add the key with `ssh-add`."
        )
    if isinstance(error, asyncssh.DisconnectError) and "authentication failures" in error.reason:
        return SourceRefused(
            f"{host}: the host has turned down as many keys as it lets one try (MaxAuthTries). Name the right one with "
            f"`-i`, and put `IdentitiesOnly yes` with its IdentityFile into the SSH configuration."
        )
    if isinstance(error, asyncssh.KeyEncryptionError) and "bcrypt" in str(error):
        return SourceRefused(
            f"{host}: the key is encrypted, and reading it needs the Python package bcrypt. Add the key to the agent "
            f"with `ssh-add`, or install bcrypt, then try again."
        )
    if _is_locked_key(error):
        return SourceRefused(
            f"{host}: the key needs its passphrase. Add it to the agent with `ssh-add`, then try again."
        )
    if isinstance(error, asyncssh.ConfigParseError):
        return SourceRefused(f"{host}: the SSH configuration cannot be read ({error}). Mend it, then try again.")
    if isinstance(error, asyncssh.KeyImportError):
        return SourceRefused(f"{host}: a key file cannot be read ({error}). Check IdentityFile, then try again.")
    if isinstance(error, asyncssh.KeyExchangeFailed):
        return SourceRefused(f"{host}: no common way to talk ({error.reason}). Run `ssh -v {host}` to compare.")
    if isinstance(error, ValueError):
        return SourceRefused(f"{host}: the SSH settings are wrong ({error}). Mend them, then try again.")
    reason, step = _network_fault(error)
    if isinstance(error, asyncssh.ConnectionLost | ConnectionResetError | BrokenPipeError) and (
        proxy_said is not None and not was_greeted
    ):
        reason = "its ProxyCommand ends before a host has answered" + (f" ({proxy_said})" if proxy_said else "")
        step = f"Run `{by_hand}` to see what it says."
    elif isinstance(error, asyncssh.ConnectionLost | ConnectionResetError) and not was_greeted:
        reason = "the host takes the connection and hangs up without a word, several times"
        step = f"It may have too many logins at once (MaxStartups), or no SSH server: run `{by_hand}` to see."
    elif isinstance(error, asyncssh.ConnectionLost | ConnectionResetError) and has_record:
        # OpenSSH hangs up without a word when it has no host key of the kinds that we have on record.
        reason = "the host hung up before logging in; its host key may be of another kind than the one on record"
        step = f"Run `{by_hand}` to see."
    if was_reached:
        return SourceLost(f"{host}: {reason}")
    return SourceRefused(f"{host}: {reason}. {step}")


def wants_answer(error: BaseException | None) -> bool:
    """Whether a password or passphrase could still open the door."""
    return isinstance(error, asyncssh.PermissionDenied) or _is_locked_key(error)


def channel_error(error: Exception, host: str) -> SourceLost:
    """Turn what an open connection raised into a loss: the follower dials again."""
    if isinstance(error, asyncssh.ChannelOpenError):
        return SourceLost(
            f"{host}: no further session allowed ({error.reason}); MaxSessions of the host may be reached"
        )
    detail = _text(error)
    return SourceLost(f"{host}: connection lost" + ("" if detail.lower() == "connection lost" else f" ({detail})"))


def forwarding_error(error: asyncssh.ChannelOpenError, host: str, port: int) -> SpecmonError:
    """Why a channel to a port of the host was not opened."""
    if error.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return ForwardingRefused(f"{host}: the SSH server allows no forwarding (AllowTcpForwarding)")
    if error.code == asyncssh.OPEN_CONNECT_FAILED:
        return PortClosed(f"{host}: nobody listens on port {port}")
    return SourceLost(f"{host}: no further channel ({error.reason})")


def _is_locked_key(error: BaseException | None) -> bool:
    # asyncssh has one class for a passphrase that is wrong and another for one that is missing
    return isinstance(error, asyncssh.KeyEncryptionError) or (
        isinstance(error, asyncssh.KeyImportError) and "passphrase" in str(error).lower()
    )


def _network_fault(error: Exception) -> tuple[str, str]:
    check = "Check the name and the network, then try again."
    if isinstance(error, socket.gaierror):
        return "no such host name", "Check the spelling, or add the host to ~/.ssh/config."
    if isinstance(error, ConnectionRefusedError) or _errno_in_text(error, errno.ECONNREFUSED):
        return "connection refused", "Check the port, and that the SSH server runs."
    if isinstance(error, TimeoutError):
        return "no answer in time", check
    if isinstance(error, PermissionError | FileNotFoundError | IsADirectoryError) and error.filename is not None:
        return f"cannot read {error.filename}", "Check the path and its permissions."
    return _text(error), check


def _errno_in_text(error: Exception, number: int) -> bool:
    # asyncio joins the faults of several addresses of one name into one OSError without a number
    return isinstance(error, OSError) and error.errno is None and f"[Errno {number}]" in str(error)


def _text(error: Exception) -> str:
    if isinstance(error, asyncssh.DisconnectError):
        return error.reason
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
