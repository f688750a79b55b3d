"""How a host proves itself to us, and we to it: known host keys, passphrases, passwords.

Host keys are always checked; there is no switch for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import asyncssh

from specmon.sources.known_hosts import UnknownKey
from specmon.sources.ssh_errors import SeenHostKey


@dataclass(frozen=True, slots=True)
class Question:
    """Something only the user can answer."""

    host: str
    kind: Literal["password", "passphrase", "challenge", "host key"]
    text: str  # what to show
    is_echoed: bool = False


Prompt = Callable[[Question], Awaitable[str | None]]  # None: the user will not answer


@dataclass(slots=True)
class KeyKnowledge:
    """What one connection attempt learned about the host's key."""

    seen: SeenHostKey | None = None  # set only when it is not trusted
    has_record: bool = False
    files: list[str] = field(default_factory=list)
    asked_for: tuple[str, int | None] = ("", None)  # the name and port by which the key was looked up
    key: asyncssh.SSHKey | None = None  # the one that is not trusted
    accepted_keys: Mapping[str, asyncssh.SSHKey] = field(default_factory=dict)  # by the user's word, by `key_name`

    @property
    def accepted(self) -> asyncssh.SSHKey | None:
        """The key that the user has accepted for this host."""
        return self.accepted_keys.get(key_name(*self.asked_for))

    def unknown_key(self, label: str) -> UnknownKey | None:
        """What the user can be asked about; a key that has changed is no question."""
        if self.key is None or self.seen is None or self.seen.is_changed:
            return None
        host, port = self.asked_for
        return UnknownKey(label, host, port, self.key, tuple(self.files))


def key_name(host: str, port: int | None) -> str:
    """A host as a file of known hosts names it."""
    return host if port is None else f"[{host}]:{port}"


class LoginClient(asyncssh.SSHClient):
    """Keeps the key that was refused, and asks the user when somebody can be asked."""

    def __init__(self, host: str, knowledge: KeyKnowledge, prompt: Prompt | None) -> None:
        self._host = host
        self._knowledge = knowledge
        self._prompt = prompt
        self._has_asked = False
        self._has_been_challenged = False
        self._connection: asyncssh.SSHClientConnection | None = None

    @property
    def was_greeted(self) -> bool:
        """Whether the far side has said that it is an SSH server."""
        return self._connection is not None and self._connection.get_extra_info("server_version") is not None

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        known = self._knowledge
        if known.accepted is not None and key.public_data == known.accepted.public_data and not known.has_record:
            return True
        known.key = key
        is_changed = known.has_record or known.accepted is not None
        known.seen = SeenHostKey(key.get_fingerprint(), is_changed, tuple(known.files))
        return False

    async def password_auth_requested(self) -> str | None:
        if self._prompt is None or self._has_asked:
            return None  # one wrong password is enough: three lock an account in some places
        self._has_asked = True
        return await self._prompt(Question(self._host, "password", f"Password for {self._host}: "))

    async def kbdint_auth_requested(self) -> str | None:
        if self._prompt is None or self._has_been_challenged:
            return None
        self._has_been_challenged = True  # one challenge may have several rounds; a failed one is not begun again
        return ""

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        answers: list[str] = []
        for number, (text, is_echoed) in enumerate(prompts):
            if self._prompt is None:
                return None
            told = "\n".join(part for part in (name, instructions) if part.strip()) if not number else ""
            shown = f"{told}\n{text}" if told else text
            answer = await self._prompt(Question(self._host, "challenge", shown, is_echoed))
            if answer is None:
                return None
            answers.append(answer)
        return answers


def ask_passphrase(host: str, prompt: Prompt | None) -> Callable[[str], Awaitable[str | None]] | None:
    if prompt is None:
        return None

    async def ask(file: str) -> str | None:
        return await prompt(Question(host, "passphrase", f"Passphrase for {file}: "))

    return ask
