"""A question that only the user can answer, in front of everything else."""

from __future__ import annotations

import asyncio

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from specmon.visible import visible


class AskScreen(ModalScreen[str | None]):
    """One question. Enter answers, escape does not."""

    BINDINGS = [Binding("escape", "refuse", "No answer", id="ask.refuse")]

    def __init__(self, host: str, text: str, *, is_echoed: bool) -> None:
        super().__init__()
        self._host = host
        self._text = text
        self._is_echoed = is_echoed

    def compose(self) -> ComposeResult:
        """The host's words, which are foreign text, and a line for the answer."""
        with Vertical(id="ask") as box:
            box.border_title = Content(visible(self._host))
            box.border_subtitle = Content("enter answers, esc does not")
            yield Static(Content("\n".join(visible(line) for line in self._text.splitlines())))
            answer = Input(password=not self._is_echoed, id="answer")
            answer.cursor_blink = False  # a blinking cursor paints the screen twice a second
            yield answer

    def on_mount(self) -> None:
        """What is typed goes into the answer."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The answer goes to whoever asked, and nowhere else."""
        event.stop()
        self.dismiss(event.value)

    def action_refuse(self) -> None:
        """No answer."""
        self.dismiss(None)


class Asked(Message):
    """Somebody, in whatever task, wants a question on the screen; the answer comes through the future."""

    def __init__(self, screen: ModalScreen[str | None], answer: asyncio.Future[str | None]) -> None:
        super().__init__()
        self.screen = screen
        self.answer = answer
