"""A host key that nobody has vouched for: the question about it, and writing it down on the user's word."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from specmon.errors import SourceRefused

ONCE, REMEMBER = "once", "remember"


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """What a host showed, and under which name it would be written down."""

    label: str  # the host as the user wrote it, or the jump host
    host: str
    port: int | None  # None for the usual one
    key: asyncssh.SSHKey
    files: tuple[str, ...] = ()  # of known hosts, the user's own first

    @property
    def file(self) -> Path | None:
        """Where it would be written; None where nothing can be kept."""
        if not self.files or self.files[0] in ("/dev/null", "none"):
            return None
        return Path(self.files[0])

    @property
    def question(self) -> str:
        """What the user has to know before the answer, which is a word and not a key press."""
        remember = f", `{REMEMBER}` to write it to {self.file} as well" if self.file is not None else ""
        return (
            f"{self.label}: this host key is not on record:\n"
            f"{self.key.get_algorithm()} {self.key.get_fingerprint()}\n"
            f"Compare it with what the host's owner says. Type `{ONCE}` to accept it until specmon ends{remember}, "
            "anything else to refuse: "
        )

    @property
    def line(self) -> str:
        """The line of a file of known hosts."""
        name = self.host if self.port is None else f"[{self.host}]:{self.port}"
        algorithm, data = self.key.export_public_key().decode("ascii").split()[:2]
        return f"{name} {algorithm} {data}\n"


def remember(unknown: UnknownKey) -> None:
    """Add the key to the user's file. SourceRefused when that cannot be done."""
    file = unknown.file
    if file is None:
        raise SourceRefused(f"{unknown.label}: there is no file to remember the key in. Name one with --known-hosts.")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            is_open = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, ("\n" if is_open else "").encode() + unknown.line.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SourceRefused(
            f"{unknown.label}: the key cannot be written to {file} ({(error.strerror or str(error)).lower()}). "
            f"Answer `{ONCE}`, or name another file with --known-hosts."
        ) from error
