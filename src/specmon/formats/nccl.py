"""What NCCL says about the environment when NCCL_DEBUG is INFO: the only proof that a log itself holds.

    node-0:2765015:2765015 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to bond0
    node-0:2765015:2765015 [0] NCCL INFO NCCL_CUMEM_ENABLE set by environment to 0.

Integers are printed with a full stop behind them, texts without one.
"""

from __future__ import annotations

import re

from specmon.secrets import is_secret_name, is_secret_value

NEEDLE = b" set by environment to "

_SET = re.compile(rb"NCCL INFO ([A-Z][A-Z0-9_]{1,127}) set by environment to ([^\n]{0,4096})")
_INTEGER = re.compile(r"([+-]?\d+)\.")
_PID = re.compile(rb"[\w.-]{1,255}:(\d{1,10}):\d{1,10} \[-?\d{1,5}\] $")


def read_environment(line: bytes) -> tuple[str, str, int | None] | None:
    """Name, value and process of an environment line; None for anything else and for secrets."""
    if (match := _SET.search(line)) is None:
        return None
    name = match[1].decode("ascii")
    value = match[2].decode("utf-8", "replace").strip()
    if integer := _INTEGER.fullmatch(value):
        value = integer[1]
    if is_secret_name(name) or is_secret_value(value):
        return None
    process = _PID.search(line[: match.start()])
    return name, value, int(process[1]) if process else None
