"""The verdict band: the first thing that is read, at every size."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.content import Content

from specmon.monitor.snapshot import Headline, Severity
from specmon.ui import figures
from specmon.ui.look import SEVERITY_STYLE
from specmon.ui.opened import FigureAsked
from specmon.ui.panel import Panel
from specmon.ui.panels.comparison import against_reference
from specmon.ui.row import Piece, cut, fit, flow, piece, visible

_NUMBER = re.compile(r"[−-]?[\d,]*\d(?:\.\d+)?(?: ?[×%])?")


def _broken(head: Headline, title: int, width: int) -> tuple[str, list[str], list[str]]:
    """The sentence beside the word, the rest of it, and the reason, in as many rows as they need."""
    sentence = visible(head.sentence)
    room = width - title - 3
    first, rest = cut(sentence, room), []
    if cell_len(sentence) > room:
        first = flow(sentence, room, 1000)[0]
        rest = flow(" ".join(sentence.split()[len(first.split()) :]), width - 5, 2)
    return first, rest, flow(visible(head.why), width - 5, 2)


def _whole_clauses(sentence: str, room: int) -> str:
    """As many clauses as there is room for, so that no word and no number is cut; if not one fits, its beginning."""
    kept = sentence
    while cell_len(kept) > room:
        kept, comma, _ = kept.rpartition(", ")
        if not comma:
            return cut(sentence, room)
    return kept


def rows_needed(head: Headline, width: int) -> int:
    """How many rows the band needs to cut nothing, the beginning of a third row of reasons excepted."""
    _, rest, why = _broken(head, cell_len(head.word) + 3, width)
    return max(2, 1 + len(rest) + len(why))


class VerdictBand(Panel):
    """A sign, a word, a sentence and a line of why."""

    depends_on = ("headline", "comparison", "trust")

    def watch_snapshot(self) -> None:
        """The colour of the band follows the severity."""
        severity = self.snapshot.headline.severity
        for each in Severity:
            self.set_class(each is severity, f"-{each.value}")
        super().watch_snapshot()

    def on_click(self, event: events.Click) -> None:
        """A number of the sentence is the figure of that size; any other word asks for the verdict."""
        row = event.get_content_offset(self)
        text = self._rows[row.y].plain if row is not None and row.y < len(self._rows) else ""
        place = row.x if row is not None else 0
        found = next((each for each in _NUMBER.finditer(text) if each.start() <= place < each.end()), None)
        self.post_message(FigureAsked("comparison.verdict", found[0] if found is not None else ""))

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """Two rows; more where the terminal is narrow, and tall figures where it is huge."""
        if height >= 5 and width >= 150:
            return self._with_tall_figures(width, height)
        if width < 72:
            return self._stacked(width, height)
        title = self._word()
        first, rest, why = _broken(self.snapshot.headline, title.width, width)
        # Each has a row; what is left goes to the reason, which is the longer one mostly.
        why = flow(" ".join(why), width - 5, max(1, height - 1 - len(rest))) if why else []
        if rest and len(why) + len(rest) > height - 1:
            first, rest = _whole_clauses(visible(self.snapshot.headline.sentence), width - title.width - 3), []
            why = flow(" ".join(why), width - 5, max(1, height - 1))
        rows = [fit([title, piece((first, "bold $foreground"))], width)]
        rows += [Content.assemble("   ", (line, "bold $foreground")) for line in rest]
        rows += [Content.assemble("   ", (line, "$foreground")) for line in why]
        return rows[:height]

    def _word(self) -> Piece:
        head = self.snapshot.headline
        style = SEVERITY_STYLE[head.severity]
        sign = self.look.mark(head.severity).strip()
        return piece((f" {sign} {head.word}", f"bold {style.replace('bold ', '')}"))

    def _stacked(self, width: int, height: int) -> list[Content]:
        head = self.snapshot.headline
        rows = [fit([self._word()], width)]
        sentence = flow(visible(head.sentence), width - 2, 2 if height > 3 or not head.why else 1)
        why = flow(visible(head.why), width - 2, max(0, height - 1 - len(sentence)))
        if head.why and not why:
            why, sentence = flow(visible(head.why), width - 2, 1), sentence[:1]
        rows += [Content.assemble(" ", (line, "bold $foreground")) for line in sentence]
        rows += [Content.assemble(" ", (line, "$foreground")) for line in why]
        return rows[:height]

    def _with_tall_figures(self, width: int, height: int) -> list[Content]:
        head, comparison = self.snapshot.headline, self.snapshot.comparison
        blocks: list[tuple[str, tuple[str, str, str], str]] = []
        if comparison is not None and comparison.speedup is not None and not self.look.ascii_only:
            against = against_reference(self.snapshot)
            note = "apparent" if against is not None else "speed-up"
            tall = figures.tall(figures.times(comparison.speedup))
            blocks.append((note, tall, "$quiet" if against is not None else "$foreground"))
            if against is not None:
                blocks.append(("against the reference", figures.tall(figures.times(against.speedup)), "$foreground"))
        room = width - sum(max(len(block[1][0]), len(block[0])) + 4 for block in blocks) - 4
        text = [
            fit([self._word()], room),
            Content.assemble("   ", (cut(visible(head.sentence), room - 3), "bold $foreground")),
            *(Content.assemble("   ", (line, "$foreground")) for line in flow(visible(head.why), room - 3, 2)),
        ]
        rows: list[Content] = [Content("")]
        for index in range(4):
            line = text[index] if index < len(text) else Content("")
            tail: list[tuple[str, str]] = []
            for note, tall, style in blocks:
                cell = max(len(tall[0]), len(note))
                part = tall[index] if index < 3 else note
                tail.append(((part if index < 3 else note).rjust(cell) + "    ", style if index < 3 else "$quiet"))
            pad = " " * (width - line.cell_length - sum(len(text) for text, _ in tail))
            rows.append(Content.assemble(line, pad, *tail))
        return rows[:height]
