"""A choice that only the user can make, in front of everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from specmon.visible import visible


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing to choose."""

    key: str  # what the answer is
    name: str
    details: str = ""


class ChooseScreen(ModalScreen[str | None]):
    """A list to choose from: arrows and Enter, a click, or its number; Escape leaves things as they are."""

    BINDINGS = [
        Binding("escape", "keep", "Keep the first", id="choose.keep"),
        *(Binding(f"{digit}", f"take({digit})", f"Number {digit}", show=False, id=f"choose.{digit}")
          for digit in range(1, 10)),
    ]  # fmt: skip

    def __init__(self, title: str, text: str, candidates: Sequence[Candidate]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._candidates = tuple(candidates)

    def compose(self) -> ComposeResult:
        """The question and the list; names and details are foreign text."""
        with Vertical(id="choose") as box:
            box.border_title = Content(visible(self._title))
            box.border_subtitle = Content("↑ ↓ enter, a click or a number chooses, esc keeps the first")
            yield Static(Content(visible(self._text)))
            yield OptionList(*(Option(_row(number, each)) for number, each in enumerate(self._candidates, start=1)))

    def on_mount(self) -> None:
        """The first is marked, as it is what Escape keeps."""
        choices = self.query_one(OptionList)
        choices.highlighted = 0
        choices.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.dismiss(self._candidates[event.option_index].key)

    def action_take(self, number: int) -> None:
        """The number of a row."""
        if number <= len(self._candidates):
            self.dismiss(self._candidates[number - 1].key)

    def action_keep(self) -> None:
        """No answer."""
        self.dismiss(None)


def _row(number: int, candidate: Candidate) -> Content:
    rows = [f"{number} {visible(candidate.name)}"]
    if candidate.details:
        rows.append(f"  {visible(candidate.details)}")
    return Content("\n".join(rows))
