"""Asking the user for a password, a code or a word about a host key: on the terminal, or on the screen before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from specmon.commands.places import ask_on_terminal

if TYPE_CHECKING:
    from specmon.sources.ssh_login import Question

# The host, the text, and whether the answer may be seen; None: the user will not answer.
AskOnScreen: TypeAlias = Callable[[str, str, bool], Awaitable[str | None]]


class UserPrompt:
    """Asks where the user is looking."""

    def __init__(self) -> None:
        self._ask: AskOnScreen | None = None

    @contextmanager
    def on_screen(self, ask: AskOnScreen) -> Iterator[None]:
        """While the screen is up it is asked there: a question below it would be neither seen nor answered."""
        self._ask = ask
        try:
            yield
        finally:
            self._ask = None

    async def __call__(self, question: Question) -> str | None:
        if self._ask is not None:
            return await self._ask(question.host, question.text, question.is_echoed)
        return await ask_on_terminal(question)
