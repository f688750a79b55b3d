"""The screen of phases: bars of both servers on one axis, a table, what a verify costs, the check, the history."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specmon.monitor.phaserecords import PhaseLevel, PhasesView
from specmon.monitor.snapshot import ServerView
from specmon.ui import figures
from specmon.ui.livescreen import LiveScreen, Page
from specmon.ui.opened import opens
from specmon.ui.phasebars import SIDE_NAMES, axis_ms, cost_row, name_of, share, sign_of, stacked, style_of, views
from specmon.ui.phasechart import Axes, axes_of, history_rows
from specmon.ui.row import fit, flow, piece, visible

_BESIDE = 110  # cells from which two histories stand side by side
_CHART_ROWS = 8
_TABLE_COLUMN = 18  # cells of one server: milliseconds and share
_LEVELS_SHOWN = 12
_ORDER = ("draft", "verify", "draft_extend", "decode", "other")


class PhasesPage(Page):
    """All that is known of where a cycle's time goes."""

    depends_on = ("baseline", "speculative", "verify_cost")

    def all_rows(self, width: int, height: int) -> Sequence[Content]:
        """Bars first; the history takes the rows that are left, and has eight at least."""
        sides = views(self.snapshot)
        told = [(side, view) for side, view in sides if view.phases.parts]
        if not sides:
            return [fit([piece((" no server yet", "$foreground"))], width)]
        rows: list[Content] = []
        if told:
            rows += [*self._bars(told, width), *self._table(told, width)]
            if (cost := cost_row(self.snapshot.verify_cost, width)) is not None:
                rows.append(cost)
        elif not any(view.phases.fault for _, view in sides):
            rows.append(fit([piece((" ? no phase data of either server", "bold $foreground"))], width))
        for side, view in sides:
            rows += self._facts(side, view.phases, width)
        below = [*self._positions(width), *self._by_level(told, width)]
        charts = [(side, view) for side, view in told if len(view.phases.windows) > 1]
        if charts:
            beside = width >= _BESIDE and len(charts) > 1
            spare = height - len(rows) - len(below) - 1
            rows += self._history(charts, width, max(_CHART_ROWS, spare if beside or len(charts) == 1 else spare // 2))
        return [*rows, *below]

    def _bars(self, told: Sequence[tuple[str, ServerView]], width: int) -> list[Content]:
        axis = axis_ms([view.phases for _, view in told])
        cells = max(4, width - 8 - 12)
        rows = [
            Content.assemble(
                (f" {side:<5} ", "$quiet"),
                *stacked(view.phases.parts, cells, axis, self.look),
                (f" {figures.ms(sum(part.ms for part in view.phases.parts))} ms", "bold $foreground"),
            )
            for side, view in told
        ]
        names = dict.fromkeys(part.name for _, view in told for part in view.phases.parts)
        legend = [
            piece((f"{sign_of(name, self.look)} ", style_of(name)), (name_of(name), "$quiet"))
            for name in sorted(names, key=_place)
        ]
        return [*rows, Content.assemble("       ", fit(legend, width - 7)), Content("")]

    def _table(self, told: Sequence[tuple[str, ServerView]], width: int) -> list[Content]:
        names = sorted(dict.fromkeys(part.name for _, view in told for part in view.phases.parts), key=_place)
        # The other server's milliseconds are worth more than the shares of the first.
        has_shares = width >= 16 + _TABLE_COLUMN * len(told)
        heads = [(f"{side:>8} ms" + "  share" * has_shares, "$quiet") for side, _ in told]
        gap = "       " if has_shares else ""
        rows = [fit([piece((f" {'':<14}", ""), *heads)], width)]
        for name in names:
            sign = (f" {sign_of(name, self.look)} ", style_of(name))
            spans: list[tuple[str, str]] = [sign, (f"{name.replace('_', '-'):<12}", "")]
            for side, view in told:
                part = next((part for part in view.phases.parts if part.name == name), None)
                text = f"{'–':>11}{gap}" if part is None else f"{part.ms:>11.2f}"
                text += f"  {share(part):>5}" if part is not None and has_shares else ""
                figure = opens(f"{SIDE_NAMES[side]}.phase.{name}")
                spans.append((text, "$quiet" if part is None else figure))
            rows.append(fit([piece(*spans)], width))
        cycles = [
            (f"{_ms(view.phases.shown):>11}{gap}", opens(f"{SIDE_NAMES[side]}.phase.cycle", "bold $foreground"))
            for side, view in told
        ]
        return [*rows, fit([piece((" = cycle       ", "$quiet"), *cycles)], width), Content("")]

    def _facts(self, side: str, phases: PhasesView, width: int) -> list[Content]:
        """Who measured, whether it agrees, what changed; or what is missing and how to get it."""
        rows: list[Content] = []

        def say(sign: str, style: str, text: str, told: str = "$foreground") -> None:
            head = f" {side:<5} {sign:<{4 if self.look.ascii_only else 1}} "
            for index, line in enumerate(flow(visible(text), max(8, width - len(head) - 1), 9)):
                rows.append(Content.assemble((head if index == 0 else " " * len(head), style), (line, told)))

        no = self.look.no
        if phases.fault:
            say(no, "$caution", f"not shown: {phases.fault}")
        elif not phases.parts:
            say("?", "$caution", f"no data: {phases.why_none or 'no server yet'}")
            if phases.mend:
                say(" ", "", f"to get it: {phases.mend}")
        else:
            at = phases.shown.running if phases.shown is not None else None
            cycles = figures.count(phases.shown.cycles if phases.shown is not None else None)
            where = f" at {at} running" if at is not None else ""
            say(" ", "$quiet", f"measured by {phases.source_words}{where}, {cycles} cycles")
            if phases.identity is not None:
                sign = {True: self.look.yes, False: no, None: "~"}[phases.identity.is_ok]
                style = {True: "$good", False: "$caution", None: "$quiet"}[phases.identity.is_ok]
                say(sign, style, f"identity {phases.identity.text}", opens(f"{SIDE_NAMES[side]}.phase.identity"))
            if phases.sentence:
                say("!", "bold $caution", phases.sentence)
            elif len(phases.windows) > 5:
                say(" ", "$quiet", "no phase changed beyond its noise")
        for notice in phases.notices:
            say("!", "$caution", notice)
        return rows

    def _positions(self, width: int) -> list[Content]:
        """How often each draft position was accepted, with the check of the sum; or why nobody knows."""
        view = self.snapshot.speculative
        if view is None:
            return []
        known = view.acceptance
        if not known.positions:
            why = known.reason or "not measured"
            return [fit([piece((f" accepted by position: no data, {visible(why)}", "$quiet"))], width)]
        rows = [fit([piece((f" accepted by position ({known.source})", "$foreground"))], width)]
        cells = max(0, min(40, width - 18))
        for number, rate in enumerate(known.positions, 1):
            drawn = ("#" if self.look.ascii_only else "█") * round(rate * cells)
            label = (f"   pos {number:<2} {rate:.2f} ", "$quiet")
            rows.append(fit([piece(label, (drawn, "$series-speculative"))], width))
        sign = {True: self.look.yes, False: self.look.no, None: "?"}[known.is_sum_ok]
        style = {True: "$good", False: "$caution", None: "$quiet"}[known.is_sum_ok]
        rows.append(fit([piece((f"   {known.sum_text} {sign}", opens("speculative.positions", style)))], width))
        rows += [fit([piece((f"   {line}", "$quiet"))], width) for line in flow(known.reason, width - 4, 3)]
        return rows

    def _by_level(self, told: Sequence[tuple[str, ServerView]], width: int) -> list[Content]:
        """One row for each server and number of running requests, when there are several."""
        rows: list[Content] = []
        for side, view in told:
            levels = [level for level in view.phases.levels if level.running is not None]
            if len(levels) < 2:
                continue
            names = [name for name in _ORDER if any(part.name == name for level in levels for part in level.parts)]
            head = "".join(f"{name_of(name):>9}" for name in [*names, "cycle"])
            rows.append(fit([piece((f" {side:<5} running  cycles{head}  ms", "$quiet"))], width))
            most = sorted(sorted(levels, key=lambda level: -level.cycles)[:_LEVELS_SHOWN], key=_running)
            rows += [fit([piece((_level_row(level, names), "$foreground"))], width) for level in most]
            if len(levels) > len(most):
                more = f"       and {len(levels) - len(most)} more with fewer cycles"
                rows.append(fit([piece((more, "$quiet"))], width))
        return [Content(""), *rows] if rows else []

    def _history(self, charts: Sequence[tuple[str, ServerView]], width: int, height: int) -> list[Content]:
        axes = axes_of([view.phases.windows for _, view in charts])
        if width >= _BESIDE and len(charts) > 1:
            half = width // 2
            left, right = (
                self._chart(side, view, room, height, each)
                for (side, view), room, each in zip(charts, (half, width - half), axes, strict=False)
            )
            return [Content.assemble(a, " " * (half - a.cell_length), b) for a, b in zip(left, right, strict=False)]
        drawn = (self._chart(side, view, width, height, each) for (side, view), each in zip(charts, axes, strict=True))
        return [row for rows in drawn for row in rows]

    def _chart(self, side: str, view: ServerView, width: int, height: int, axes: Axes) -> list[Content]:
        words = [piece((f" {side} phases over time", "$foreground")), piece(("ms per cycle", "$quiet"), rank=1)]
        return [fit(words, width), *history_rows(view.phases.windows, view.marks, width, height - 1, self.look, axes)]


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else 3, name)


def _ms(level: PhaseLevel | None) -> str:
    return "–" if level is None or level.cycle_ms is None else f"{level.cycle_ms:.2f}"


def _running(level: PhaseLevel) -> int:
    return level.running or 0


def _level_row(level: PhaseLevel, names: Sequence[str]) -> str:
    if level.fault:
        return f"       {level.running:>7} {level.cycles:>7,}  not shown: {level.fault}"
    found = {part.name: part.ms for part in level.parts}
    cells = "".join(f"{found[name]:>9.2f}" if name in found else f"{'–':>9}" for name in names)
    return f"       {level.running:>7} {level.cycles:>7,}{cells}{_ms(level):>9}"


class PhasesScreen(LiveScreen):
    """Where the time of a cycle goes, on both servers."""

    TITLE_TEXT = "cycle phases"
    KEYS = (("w", "what if", "app.show_what_if"),)

    def make_page(self) -> Page:
        """The page of phases."""
        return PhasesPage(self.look)
