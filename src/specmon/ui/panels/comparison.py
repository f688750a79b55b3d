"""The comparison in words and numbers: speed-up, break-even, load, samples, phases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from specmon.monitor.snapshot import AgainstReference, ComparisonView, LevelFigures, ServerView, Snapshot, Trust
from specmon.ui import figures
from specmon.ui.opened import opens
from specmon.ui.panel import Panel
from specmon.ui.panels.levels import level_pieces
from specmon.ui.phasebars import SIDE_NAMES, axis_ms, in_a_row, views
from specmon.ui.row import Piece, first_that_fits, fit, fits, piece

_SPEEDUP = opens("comparison.speedup")
_EVEN, _EVEN_REF = opens("comparison.break_even"), opens("comparison.break_even_ref")
_ACCEPT, _HEADROOM = opens("speculative.accept"), opens("comparison.headroom")
_HOW = "SGLang ≥ 0.5.11 with --enable-metrics and SGLANG_ENABLE_METRICS_DEVICE_TIMER=1"


def against_reference(snapshot: Snapshot) -> AgainstReference | None:
    """The second reading, worth its place only while the baseline is not the recorded one."""
    if snapshot.comparison is None or snapshot.trust.state in (Trust.MATCHES, Trust.RECOVERED):
        return None
    return snapshot.comparison.against_reference


def _head(label: str, width: int) -> str:
    return f" {label:<11}" if width >= 56 else f" {label:<6} "


class Comparison(Panel):
    """One row a subject, the most important first; a short panel drops the last ones."""

    has_phases_beside = False  # the phases have a panel of their own

    def heading(self, width: int) -> Content | None:
        """What is compared, at which level."""
        comparison = self.snapshot.comparison
        words = [piece(("comparison", "$foreground"))]
        if comparison is not None and comparison.running is not None:
            load = f"{comparison.running}"
            if comparison.running_range is not None:
                load = "{}–{}".format(*comparison.running_range)
            words.append(piece((f"at {load} running", "$quiet"), rank=1))
        return fit(words, width)

    def rows(self, width: int, height: int) -> Sequence[Content]:
        """As many subjects as there are rows."""
        rows = [self._speedup(width), self._break_even(width)]
        if self.has_phases_beside:
            return [*rows, self._load(width), *self._samples_and_reasons(width)][:height]
        levels = self.snapshot.comparison.levels if self.snapshot.comparison is not None else ()
        if height > 5 and len(levels) > 1:
            by_level = self._row("by level", level_pieces(levels, self.look), width=width)
            return [*rows, by_level, self._load(width), self._samples(width), self._phases(width, 1)[0]]
        phases = self._phases(width, min(2, height - 4) if height > 4 else 1)
        rows += [phases[0], self._samples(width), self._load(width)][: max(0, height - 2)]
        if height > 5 and len(phases) > 1:
            rows = [*rows[:2], rows[4], rows[3], *phases]
        return rows

    def _row(self, label: str, *choices: Sequence[Piece], width: int) -> Content:
        head = _head(label, width)
        body = first_that_fits(width - len(head) - 1, *choices, gap=" · ")
        return Content.assemble((head, "$quiet"), body)

    def _speedup(self, width: int) -> Content:
        label = "speed-up" if width >= 56 else "speed"
        comparison = self.snapshot.comparison
        if comparison is None or comparison.speedup is None:
            return self._row(label, _missing(comparison), width=width)
        against = against_reference(self.snapshot)
        apparent = figures.times(comparison.speedup)
        if against is not None:
            reference = figures.times(against.speedup)
            strong = opens("comparison.speedup_ref", "bold $caution" if against.speedup < 1 else "bold $good")
            return self._row(
                label,
                [
                    piece((f"{apparent} apparent", _SPEEDUP)),
                    piece((f"{reference} against the reference", strong)),
                    *self._delivered(comparison),
                ],
                [piece((f"{apparent} apparent", _SPEEDUP)), piece((f"{reference} vs ref", strong))],
                width=width,
            )
        strong = opens("comparison.speedup", "bold $caution" if comparison.speedup < 1 else "bold $good")
        words = [piece((apparent, strong))]
        if comparison.speedup_ci95 is not None:
            low, high = comparison.speedup_ci95
            words.append(piece((f"95 % CI {low:.2f} – {high:.2f}", opens("comparison.speedup", "$quiet")), rank=1))
        return self._row(label, [*words, *self._delivered(comparison)], width=width)

    def _delivered(self, comparison: ComparisonView) -> list[Piece]:
        if comparison.delivered_speedup is None:
            return []
        style = opens("comparison.delivered", "$quiet")
        return [piece((f"delivered {figures.times(comparison.delivered_speedup)}", style), rank=2)]

    def _break_even(self, width: int) -> Content:
        label = "break-even" if width >= 56 else "even"
        comparison = self.snapshot.comparison
        if comparison is None or comparison.break_even_accept_len is None:
            return self._row(label, _missing(comparison), width=width)
        even, accept = figures.length(comparison.break_even_accept_len), figures.length(comparison.accept_len)
        against = against_reference(self.snapshot)
        headroom = figures.percent(comparison.headroom)
        if against is not None:
            theirs = figures.length(against.break_even_accept_len)
            return self._row(
                label,
                [
                    piece((f"{even} now, ", _EVEN), (f"{theirs} with the reference", f"bold {_EVEN_REF}")),
                    piece((f"accept {accept}", _ACCEPT)),
                ],
                [
                    piece((f"{even} now, ", _EVEN), (f"{theirs} with ref", _EVEN_REF)),
                    piece((f"accept {accept}", _ACCEPT)),
                ],
                [piece((f"{even} now, ", _EVEN), (f"{theirs} with ref", _EVEN_REF))],
                width=width,
            )
        return self._row(
            label,
            [
                piece((even, f"bold {_EVEN}")),
                piece((f"accept {accept}, ", _ACCEPT), (f"headroom {headroom}", _HEADROOM)),
            ],
            [piece((even, f"bold {_EVEN}")), piece((f"accept {accept} ", _ACCEPT), (f"({headroom})", _HEADROOM))],
            width=width,
        )

    def _levels(self) -> tuple[LevelFigures | None, LevelFigures | None]:
        base, spec = self.snapshot.baseline, self.snapshot.speculative
        return (base.level if base else None), (spec.level if spec else None)

    def _load(self, width: int) -> Content:
        base, spec = self._levels()

        def pair(figure: str, read: Callable[[LevelFigures], float | None]) -> list[tuple[str, str]]:
            told = [figures.NONE if level is None else figures.count(read(level)) for level in (base, spec)]
            left, right = (opens(f"{side}.{figure}") for side in ("baseline", "speculative"))
            return [(told[0], left), (" / ", "$foreground"), (told[1], right)]

        words = [
            piece(("running ", "$quiet"), *pair("running", lambda level: level.running)),
            piece(("ctx ", "$quiet"), *pair("context", lambda level: level.context_tokens), rank=1),
            piece(("queue ", "$quiet"), *pair("queue", lambda level: level.queue), rank=2),
        ]
        same = None if self.snapshot.comparison is None else self.snapshot.comparison.same_load
        if same is not None:
            text = f"same load {self.look.yes}" if same else f"{self.look.no} load differs"
            words.append(piece((text, "$good" if same else "bold $caution"), rank=1))
        return self._row("load", words, width=width)

    def _sample_words(self) -> tuple[list[Piece], list[Piece]]:
        """How many are used and left out, with the reasons and without."""
        views = (self.snapshot.baseline, self.snapshot.speculative)

        def pair(read: Callable[[ServerView], int]) -> list[tuple[str, str]]:
            told = [figures.NONE if view is None else figures.count(read(view)) for view in views]
            left, right = (opens(f"{side}.samples") for side in ("baseline", "speculative"))
            return [(told[0], left), (" / ", "$foreground"), (told[1], right)]

        detail = ", ".join(f"{number} {name}" for name, number in self._reasons())
        out = pair(lambda view: view.samples - view.clean)
        used = piece(*pair(lambda view: view.clean), (" used", "$quiet"))
        left = piece(*out, (" left out", "$quiet"), rank=1)
        why = piece(*out, (f" left out ({detail})" if detail else " left out", "$quiet"))
        unparsed = sum(view.unparsed for view in views if view is not None)
        sides = ("baseline", "speculative")
        worse = max(zip(sides, views, strict=True), key=lambda each: each[1].unparsed if each[1] is not None else 0)[0]
        style = opens(f"{worse}.unparsed", "bold $caution" if unparsed else "$quiet")
        odd = piece((f"{figures.count(unparsed)} unparsed", style), rank=2)
        return [used, why, odd], [used, left, odd]

    def _samples(self, width: int) -> Content:
        return self._row("samples", *self._sample_words(), width=width)

    def _samples_and_reasons(self, width: int) -> list[Content]:
        """One row where the reasons have room in it, else a second one for them."""
        whole, short = self._sample_words()
        if fits(whole, width - len(_head("samples", width)) - 1, " · "):
            return [self._row("samples", whole, width=width)]
        return [self._row("samples", short, width=width), self._left_out(width)]

    def _reasons(self) -> list[tuple[str, int]]:
        found: dict[str, int] = {}
        for view in (self.snapshot.baseline, self.snapshot.speculative):
            for name, number in view.excluded.items() if view is not None else ():
                found[name.replace("_", " ")] = found.get(name.replace("_", " "), 0) + number
        return sorted((item for item in found.items() if item[1]), key=lambda item: -item[1])

    def _left_out(self, width: int) -> Content:
        listed = self._reasons()
        words = [piece((f"{number} {name}", "$foreground"), rank=index) for index, (name, number) in enumerate(listed)]
        return self._row("left out", words or [piece(("none", "$quiet"))], width=width)

    def _phases(self, width: int, rows: int) -> list[Content]:
        if (told := self._told_phases(width)) is not None:
            return [told]
        none = piece(("no phase data", "$foreground"))
        if not is_sglang(self.snapshot):
            how = next((view.phases.mend for _, view in views(self.snapshot) if view.phases.mend), "")
            short = [none, piece(("this log tells none", "$quiet"), rank=1)]
            return [self._row("phases", *([[none, piece((how, "$quiet"))]] if how else []), short, width=width)]
        first = self._row(
            "phases",
            [none, piece((f"needs {_HOW}", "$quiet"))],
            [none, piece(("--enable-metrics, SGLANG_ENABLE_METRICS_DEVICE_TIMER=1", "$quiet"))],
            [none, piece(("needs the server's metrics ([?] tells how)", "$quiet"))],
            [none, piece(("[?] tells how", "$quiet"), rank=1)],
            width=width,
        )
        if rows < 2 or width >= 100:
            return [first]
        return [
            self._row("phases", [none, piece(("needs --enable-metrics and", "$quiet"), rank=1)], width=width),
            self._row("", [piece(("SGLANG_ENABLE_METRICS_DEVICE_TIMER=1", "$quiet"))], width=width),
        ]

    def _told_phases(self, width: int) -> Content | None:
        """The phases of the speculative cycle, else those of the baseline; or why they are not shown."""
        sides = views(self.snapshot)[::-1]
        phases = next((view.phases for _, view in sides if view.phases.parts), None)
        if phases is None:
            fault = next((f"{side} not shown: {view.phases.fault}" for side, view in sides if view.phases.fault), None)
            return None if fault is None else self._row("phases", [piece((fault, "$caution"))], width=width)
        label = "cycle ms" if width >= 56 else "cycle"
        head = f" {label:<11}" if width >= 56 else f" {label:<6} "
        axis = axis_ms([view.phases for _, view in sides])
        cost = self.snapshot.verify_cost
        more = []
        if cost is not None:
            more = [piece((f"{cost.multiple:.2f}× step", opens("comparison.verify", "$quiet")))]
        side = next(SIDE_NAMES[side] for side, view in sides if view.phases is phases)
        parts = in_a_row(phases.parts, width - len(head) - 1, axis, self.look, *more, side=side)
        return Content.assemble((head, "$quiet"), parts)


def _missing(comparison: ComparisonView | None) -> list[Piece]:
    words = "needs clean samples of both servers" if comparison is None else comparison.sentence
    return [piece(("no data", "bold $quiet")), piece((words, "$quiet"))]


def is_sglang(snapshot: Snapshot) -> bool:
    """Whether the advice for SGLang can help; it also stands while nothing is known."""
    views = [view for view in (snapshot.baseline, snapshot.speculative) if view is not None]
    return any(view.engine is None or view.engine.startswith("sglang") for view in views) or not views
