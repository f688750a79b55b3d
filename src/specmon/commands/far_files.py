"""Names of files on a host, for whoever presses the tab key: nobody is asked anything, and nothing is told."""

from __future__ import annotations

import asyncio
import fcntl
import os
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from specmon.commands.places import SshOptions, ssh_settings
from specmon.errors import SpecmonError
from specmon.sources.address import parse_host
from specmon.sources.shell_words import command_text, operand

_LIMIT_S = 3.0
_MARK = b"specmon-names\0"
# $1: how the names begin. Only the shell's own expansion looks at them; nothing in them is run.
_LIST = (
    "IFS=; printf 'specmon-names\\0'; for f in \"$1\"*; do "
    'if [ -d "$f" ]; then printf \'%s/\\0\' "$f"; elif [ -e "$f" ]; then printf \'%s\\0\' "$f"; fi; done; exit 0'
)


def far_files(host: str, start: str, options: Mapping[str, Any]) -> list[str]:
    """Files of a host whose paths begin so, folders with a slash behind; none when it cannot be asked at once."""
    with suppress(SpecmonError, OSError, TimeoutError):
        _leave_terminal()
        return asyncio.run(_listed(host, start, options))
    return []


async def _listed(host: str, start: str, options: Mapping[str, Any]) -> list[str]:
    from specmon.sources.ssh import SshHost

    given = SshOptions(
        port=options.get("port"),
        identities=options.get("identities") or (),
        jump=options.get("jump"),
        ssh_config=options.get("ssh_config"),
        known_hosts=options.get("known_hosts"),
    )
    async with asyncio.timeout(_LIMIT_S):
        machine = SshHost(parse_host(host), ssh_settings(given), prompt=None)
        try:
            result = await machine.run(command_text(_LIST, operand(start)), timeout_s=_LIMIT_S)
        finally:
            await machine.close()
    _, found, names = result.stdout.partition(_MARK)
    paths = [name.decode("utf-8", "replace") for name in names.split(b"\0") if name] if found else []
    lead = operand(start)[: -len(start) or None] if start else ""
    return sorted(path.removeprefix(lead) for path in paths if path.isprintable())


def _leave_terminal() -> None:
    """A ProxyCommand must not ask on the terminal either, nor with a window of its own."""
    os.environ.pop("SSH_ASKPASS", None)
    os.environ["SSH_ASKPASS_REQUIRE"] = "never"
    if os.getsid(0) == os.getpid():
        return  # whose leader leaves the terminal ends everything on it
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        try:
            fcntl.ioctl(terminal, termios.TIOCNOTTY)
        finally:
            os.close(terminal)
