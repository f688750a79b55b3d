"""From followed channels to a capture directory: what each server is called in it, and what the manifest says."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from specmon import __version__
from specmon.captures.manifest import CapturedServer
from specmon.captures.writer import CaptureWriter
from specmon.feeds.live import Channel
from specmon.feeds.recorder import Recorder
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.visible import visible

_LONGEST_NAME = 80


def recorder_of(folder: Path, session: Session, channels: Sequence[Channel]) -> Recorder:
    """A recorder of all channels into a new capture. ConfigError when the folder is in use or cannot be made."""
    names: dict[str, str] = {}
    servers = []
    for channel in channels:
        monitor = session.server(channel.key)
        host, source = _split(channel.source.name)
        name = _unique(file_name(session.label_of(channel.key) or source), set(names.values()))
        names[channel.key] = name
        declared = monitor.declared or Role.UNKNOWN
        servers.append(CapturedServer(name=name, role=declared.value, host=host, source=source))
    writer = CaptureWriter(folder, servers, starts_at=time.time(), version=__version__)
    return Recorder(writer, names, clock=time.time)


def file_name(text: str) -> str:
    """A name for the files of a server: the last part of its path, without what no file name should have."""
    last = text.rstrip("/").rsplit("/", 1)[-1]
    last = re.sub(r"\.(?:log|out|err|txt)$", "", last)
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", last).lstrip(".-")[:_LONGEST_NAME]
    return plain or "server"


def _split(source: str) -> tuple[str, str]:
    """The host and the rest of a source's name, fit to be shown."""
    host, colon, rest = source.partition(":")
    shown = visible(source)[:4096]
    if not colon or "/" in host:
        return "", shown
    return visible(host), visible(rest)[:4096]


def _unique(name: str, taken: set[str]) -> str:
    number, unique = 2, name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique
