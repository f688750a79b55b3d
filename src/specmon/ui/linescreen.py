"""One line of the log in full, in front of the log."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specmon.monitor.logpage import LineView
from specmon.monitor.snapshot import Role
from specmon.ui import figures
from specmon.ui.row import visible

_ROLES = {Role.BASELINE: "baseline", Role.SPECULATIVE: "speculative"}


class LineScreen(ModalScreen[None]):
    """What stands in the log, and what was made of it."""

    BINDINGS = [Binding("escape,enter,q", "dismiss", "Close", id="line.close")]

    def __init__(self, view: LineView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll(id="line") as page:
            page.border_title = Content("one line")
            page.border_subtitle = Content("esc closes")
            yield Static()

    def on_mount(self) -> None:
        """The page takes the arrow keys at once."""
        self.query_one(VerticalScroll).focus()

    def on_resize(self) -> None:
        """The page is broken into rows for the width it has."""
        self.query_one(Static).update(self._page(max(20, min(118, self.size.width) - 8)))

    def _page(self, width: int) -> Content:
        view = self._view
        parts: list[str | tuple[str, str]] = []

        def section(title: str) -> None:
            parts.append((f"{title}\n", "bold $brand"))

        def fact(name: str, value: str, style: str = "$foreground") -> None:
            room = width - 18
            rows = broken(visible(value), max(room, 8))
            for index, row in enumerate(rows):
                parts.extend(((f"  {'' if index else visible(name):<15} ", "$quiet"), (f"{row}\n", style)))

        section("Line")
        role = f" ({_ROLES[view.role]})" if view.role in _ROLES else ""
        fact("server", f"{view.server}{role}")
        told = f"{figures.clock(view.at)}" if view.at is not None else "the log has told none yet"
        fact("time", told if view.log_at is None else f"{told}, {figures.clock(view.log_at)} on its log's own clock")
        size = "no longer held" if view.size_bytes is None else f"{view.size_bytes:,} bytes"
        fact("place", f"byte {view.position:,}, {size}")
        if view.carriers:
            fact("carried by", ", ".join(view.carriers))
        parts.append("\n")
        section("As it stands in the log")
        if view.size_bytes is None:
            parts.append(("  no longer held: only the newest 50 MB of all logs are\n", "$quiet"))
        parts.extend((f"  {row}\n", "$foreground") for row in broken(view.raw, width - 2) if view.raw)
        if view.text:
            parts.append("\n")
            section("As its engine wrote it")
            parts.extend((f"  {row}\n", "$foreground") for row in broken(visible(view.text), width - 2))
        parts.append("\n")
        section("What was read")
        fact("engine", view.engine or "none: no engine's words are in it")
        fact("kind", view.kind or "not known")
        for name, value in view.fields:
            fact(name, value)
        if view.verdict:
            parts.append("\n")
            section("Does it count?")
            parts.extend((f"  {row}\n", "$foreground") for row in broken(view.verdict, width - 2, at_blanks=True))
        return Content.assemble(*parts)


def broken(text: str, width: int, *, at_blanks: bool = False) -> list[str]:
    """Rows of at most so many signs. Raw text is broken where the row ends, so that nothing is left out."""
    rows = []
    while len(text) > width:
        end = text.rfind(" ", 0, width + 1) if at_blanks else width
        end = end if end > 0 else width
        rows.append(text[:end])
        text = text[end:].removeprefix(" ") if at_blanks else text[end:]
    return [*rows, text]
