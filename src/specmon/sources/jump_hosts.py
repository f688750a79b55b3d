"""Jump hosts, each with one connection for all the hosts behind it, so that a password or code is asked for once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Closeable(Protocol):
    """What is handed out and closed when nobody uses it any more."""

    async def close(self) -> None:
        """Give back all that it holds."""


_Host = TypeVar("_Host", bound=Closeable)


@dataclass(slots=True)
class JumpHosts(Generic[_Host]):
    """The jump hosts that are in use, shared by all hosts of a command."""

    _held: dict[Hashable, _Held[_Host]] = field(default_factory=dict)

    def take(self, key: Hashable, make: Callable[[], _Host]) -> _Host:
        """The jump host of a key, made for the first who takes it."""
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Held(make())
        held.users += 1
        return held.host

    async def give_back(self, key: Hashable) -> None:
        """What was taken is no longer used; the last one closes it."""
        held = self._held[key]
        held.users -= 1
        if not held.users:
            del self._held[key]
            await held.host.close()


@dataclass(slots=True)
class _Held(Generic[_Host]):
    host: _Host
    users: int = 0
