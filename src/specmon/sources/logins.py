"""How many logins go on at once at one SSH server, and which failed ones are tried again at once.

An SSH server drops connections at random when more than a few have not logged in yet (OpenSSH's MaxStartups, 10:30:100
unless set), and many hosts behind one jump host would all log in there at the same moment.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncssh

AT_ONCE = 4  # at one server: others log in there too
_TRIES = 6
_FIRST_DELAY_S = 0.5


class Logins:
    """The turns of those who log in, shared by all hosts of a command."""

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._at_once = at_once
        self._sleep = sleep
        self._chance = chance
        self._doors: dict[tuple[str, int], _Door] = {}

    @asynccontextmanager
    async def turn(self, server: str, port: int) -> AsyncIterator[None]:
        """Hold one of the places at a server. TimeoutError when it has kept somebody waiting in vain meanwhile."""
        door = self._doors.setdefault((server, port), _Door(self._at_once))
        silences = door.silences
        async with door.places:
            # A dead jump host keeps each one that asks for as long as the time limit is: once is enough.
            if door.silences != silences:
                raise TimeoutError
            try:
                yield
            except TimeoutError:
                door.silences += 1
                raise

    async def pause(self, attempt: int, error: Exception, *, was_greeted: bool) -> bool:
        """Wait before attempt 2, 3…, and say whether there is one.

        Only for a server that took the connection and let it go before it said who it is: it has too many of them.
        """
        hung_up = isinstance(error, asyncssh.ConnectionLost | ConnectionResetError)
        if was_greeted or not hung_up or attempt >= _TRIES:
            return False
        await self._sleep(_FIRST_DELAY_S * 1.5 ** (attempt - 1) * (0.5 + self._chance()))
        return True


class _Door:
    def __init__(self, places: int) -> None:
        self.places = asyncio.Semaphore(places)
        self.silences = 0  # how often it was given up without an answer
