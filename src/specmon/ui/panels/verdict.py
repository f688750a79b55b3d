"""The verdict band: the first thing that is read, at every size."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.snapshot import Severity
from specmon.ui import figures
from specmon.ui.look import SEVERITY_STYLE
from specmon.ui.panel import Panel
from specmon.ui.panels.comparison import against_reference
from specmon.ui.row import Piece, cut, fit, flow, piece, visible


class VerdictBand(Panel):
    """A sign, a word, a sentence and a line of why."""

    depends_on = ("headline", "comparison", "trust")

    def watch_snapshot(self) -> None:
        """The colour of the band follows the severity."""
        severity = self.snapshot.headline.severity
        for each in Severity:
            self.set_class(each is severity, f"-{each.value}")
        super().watch_snapshot()

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """Two rows; more where the terminal is narrow, and tall figures where it is huge."""
        if height >= 5 and width >= 150:
            return self._with_tall_figures(width, height)
        if width < 72:
            return self._stacked(width, height)
        head = self.snapshot.headline
        title = self._word()
        room = width - title.width - 3
        sentence, why = visible(head.sentence), visible(head.why)
        if why or len(sentence) <= room:
            first, rest = cut(sentence, room), [cut(why, width - 5)]
        else:
            # Nothing else needs the second row, so a long sentence may have it.
            parts = flow(sentence, room, 1000)
            first = parts[0]
            left = sentence.split(" ")[len(first.split(" ")) :]
            rest = flow(" ".join(left), width - 5, 1)
        rows = [fit([title, piece((first, "bold $foreground"))], width)]
        rows += [Content.assemble("   ", (line, "$foreground")) for line in rest if line]
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
