"""NCCL's configuration files: settings that count where the environment has none.

NCCL reads the file that NCCL_CONF_FILE names, else ~/.nccl.conf, and then /etc/nccl.conf. Each line is NAME=VALUE, a
line that begins with # is a comment, and a name that already has a value keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_LONGEST = 1023  # bytes of a name or a value that NCCL reads


@dataclass(frozen=True, slots=True)
class ConfFile:
    """A configuration file as it was found; the first of several counts before the next."""

    path: str
    content: bytes | None  # None: it is there and may not be read


def parse_conf(content: bytes) -> Iterator[tuple[str, str]]:
    """The settings of a file, as NCCL itself takes them: blanks around the sign belong to name and value."""
    for line in content.split(b"\n"):
        name, equals, value = line.partition(b"=")
        if equals and not line.startswith(b"#"):
            yield (name[:_LONGEST].decode("utf-8", "replace"), value[:_LONGEST].decode("utf-8", "replace"))


def settings_beneath(env: Mapping[str, str], files: Sequence[ConfFile]) -> dict[str, tuple[str, str]]:
    """What the files add to an environment: value and path by name."""
    added: dict[str, tuple[str, str]] = {}
    for file in files:
        for name, value in parse_conf(file.content or b""):
            if name not in env and name not in added:
                added[name] = (value, file.path)
    return added
