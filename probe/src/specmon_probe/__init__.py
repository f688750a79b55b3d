"""Logs where the time of a decode cycle goes in an SGLang server, without slowing it down.

`register` is what SGLang (0.5.11 and later) calls through the entry point `sglang.srt.plugins`. Older versions
know no plugins: there `specmon-probe.pth` loads `specmon_probe.start`.
"""

from __future__ import annotations

__version__ = "0.1.0"


def register() -> None:
    """Hook into this process, if it is one that may hold a scheduler. Never raises."""
    from specmon_probe.install import register_plugin

    register_plugin()
