"""What of the screen can be opened: a figure that is drawn knows its own name, and a click on it asks for it."""

from __future__ import annotations

from textual.message import Message

from specmon.monitor.explaining import Explanation, Unit
from specmon.ui import figures

_META = "@figure"


class FigureAsked(Message):
    """Somebody wants a figure explained: by its name, or by the number that stands in a sentence."""

    def __init__(self, figure: str, word: str = "") -> None:
        super().__init__()
        self.figure = figure
        self.word = word


def opens(figure: str, style: str = "$foreground") -> str:
    """A style for the text of a figure that can be clicked."""
    return f"{style} {_META}='{figure}'"


def figure_under(meta: dict[str, object]) -> str | None:
    """The figure of a cell, by the meta data of its style."""
    found = meta.get(_META)
    return found if isinstance(found, str) else None


def written(figure: Explanation) -> str:
    """The figure as the panels write it, with its unit."""
    value = figure.value
    if value is None:
        return figure.word or figures.NONE
    match figure.unit:
        case Unit.TOK_S:
            return f"{figures.tok_s(value)} tok/s"
        case Unit.CHANGE:
            return figures.percent(value, 1)
        case Unit.SHARE:
            return f"{value * 100:.0f} %"
        case Unit.MS:
            return f"{figures.ms(value)} ms"
        case Unit.TIMES:
            return figures.times(value)
        case Unit.LENGTH:
            return figures.length(value)
    return figures.count(value)
