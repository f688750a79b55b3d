"""Asking the user for a password, a code or a word about a host key: on the terminal, or on the screen before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from specmon.commands.places import ask_on_terminal

if TYPE_CHECKING:
    from specmon.sources.ssh_login import Question
    from specmon.ui.choose import Candidate

# The host, the text, and whether the answer may be seen; None: the user will not answer.
AskOnScreen: TypeAlias = Callable[[str, str, bool], Awaitable[str | None]]
# The title, the text, and what there is to choose from; None: things stay as they are.
ChooseOnScreen: TypeAlias = Callable[[str, str, "Sequence[Candidate]"], Awaitable[str | None]]


class UserPrompt:
    """Asks where the user is looking."""

    def __init__(self) -> None:
        self._ask: AskOnScreen | None = None
        self._choose: ChooseOnScreen | None = None
        self._has_screen = asyncio.Event()
        self._terminal = asyncio.Lock()  # two hosts do not ask at the same time

    @property
    def is_asking(self) -> bool:
        """Whether the user has a question to answer on the terminal."""
        return self._terminal.locked()

    @contextmanager
    def on_screen(self, ask: AskOnScreen, choose: ChooseOnScreen | None = None) -> Iterator[None]:
        """While the screen is up it is asked there: a question below it would be neither seen nor answered."""
        self._ask, self._choose = ask, choose
        self._has_screen.set()
        try:
            yield
        finally:
            self._ask = self._choose = None
            self._has_screen.clear()

    async def choose(self, title: str, text: str, candidates: Sequence[Candidate]) -> str | None:
        """Wait for the screen, and let the user choose on it."""
        await self._has_screen.wait()
        return None if self._choose is None else await self._choose(title, text, candidates)

    async def __call__(self, question: Question) -> str | None:
        if self._ask is not None:
            return await self._ask(question.host, question.text, question.is_echoed)
        async with self._terminal:
            return await ask_on_terminal(question)
