"""Phases as bars and words: each has its name and its pattern, colour only repeats it. All bars share one ms axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from textual.content import Content

from specmon.monitor.phaserecords import PhasePart, PhasesView, VerifyCost
from specmon.monitor.snapshot import ServerView, Snapshot
from specmon.ui import figures
from specmon.ui.look import Look
from specmon.ui.opened import opens
from specmon.ui.row import Piece, first_that_fits, fit, fits, piece

NAMES = {"draft_extend": "extend"}
_SIGNS = {"decode": "▓", "draft": "▒", "verify": "█", "draft_extend": "▞", "other": "░"}
_ASCII_SIGNS = {"decode": "D", "draft": "d", "verify": "V", "draft_extend": "x", "other": "."}
_STYLES = {
    "decode": "$series-baseline",
    "draft": "$brand",
    "verify": "$series-speculative",
    "draft_extend": "$caution",
    "other": "$quiet",
}
_VERIFY = opens("comparison.verify")
_SHORTEST_AXIS = 4  # cells, below which bars say nothing
SIDES = (("base", "baseline"), ("spec", "speculative"))
SIDE_NAMES = dict(SIDES)


def name_of(phase: str) -> str:
    """What a phase is called where there is little room."""
    return NAMES.get(phase, phase)


def sign_of(phase: str, look: Look) -> str:
    """Its pattern."""
    return (_ASCII_SIGNS if look.ascii_only else _SIGNS).get(phase, "+" if look.ascii_only else "▚")


def style_of(phase: str) -> str:
    """Its colour."""
    return _STYLES.get(phase, "$foreground")


def share(part: PhasePart) -> str:
    """Its part of the cycle."""
    return "" if part.share is None else f"{part.share * 100:.0f} %"


def views(snapshot: Snapshot) -> list[tuple[str, ServerView]]:
    """The compared servers with their short names."""
    return [(short, view) for short, name in SIDES if (view := getattr(snapshot, name)) is not None]


def known(snapshot: Snapshot) -> list[tuple[str, PhasesView]]:
    """Those whose phases are known."""
    return [(side, view.phases) for side, view in views(snapshot) if view.phases.parts]


def is_told(snapshot: Snapshot) -> bool:
    """Whether there is anything of phases to show beside advice: figures, or why figures are not shown."""
    return any(view.phases.parts or view.phases.fault for _, view in views(snapshot))


def axis_ms(phases: Sequence[PhasesView]) -> float:
    """The end of the axis: the longest cycle."""
    return max((sum(part.ms for part in view.parts) for view in phases), default=0.0)


def cells_of(parts: Sequence[PhasePart], cells: int, axis: float) -> list[int]:
    """How many cells each part of a stacked bar has: together those of the sum, and no part that is there vanishes."""
    if not axis > 0 or cells <= 0:
        return [0] * len(parts)
    edges, total = [0], 0.0
    for part in parts:
        total += part.ms
        edges.append(round(total / axis * cells))
    found = [after - before for before, after in pairwise(edges)]
    for index, part in enumerate(parts):
        if part.ms > 0 and not found[index]:
            largest = max(range(len(found)), key=found.__getitem__)
            if found[largest] > 1:
                found[largest] -= 1
                found[index] = 1
    return found


def stacked(parts: Sequence[PhasePart], cells: int, axis: float, look: Look) -> list[tuple[str, str]]:
    """One bar of all phases, as runs of pattern and colour."""
    counts = cells_of(parts, cells, axis)
    return [
        (sign_of(part.name, look) * count, style_of(part.name))
        for part, count in zip(parts, counts, strict=True)
        if count
    ]


def bar(part: PhasePart, cells: int, axis: float, look: Look) -> str:
    """A bar of its own: one cell at least for a phase that takes time."""
    if not axis > 0 or not part.ms > 0:
        return ""
    return sign_of(part.name, look) * max(1, round(part.ms / axis * cells))


# -- the dashboard's panel -----------------------------------------------------------------------


def panel_rows(snapshot: Snapshot, width: int, height: int, look: Look) -> list[Content]:
    """A row a phase while there are rows, small ones together else; then what a verify costs."""
    sides = [(side, view.phases) for side, view in views(snapshot)]
    axis = axis_ms([phases for _, phases in sides])
    cost = cost_row(snapshot.verify_cost, width)
    groups: list[tuple[str, list[list[PhasePart]]]] = []
    for side, phases in sides:
        own = phases.parts
        # A baseline has two parts, which share a row.
        groups.append((side, [list(own)] if len(own) <= 2 else [[part] for part in own]))
    room = height - (1 if cost is not None else 0)
    for _, parts in sorted(groups, key=lambda group: -len(group[1])):
        while sum(max(1, len(each)) for _, each in groups) > room and len(parts) > 1:
            last = parts.pop()
            parts[-1] += last
    rows: list[Content] = []
    for (side, parts), (_, phases) in zip(groups, sides, strict=True):
        if not phases.parts:
            text = f"not shown: {phases.fault}" if phases.fault else "no data"
            rows.append(fit([piece((f" {side}  ", "$quiet"), (text, "$foreground"))], width))
            continue
        for index, row in enumerate(parts):
            rows.append(_part_row(side, row, width, axis, look, is_first=index == 0))
    return [*rows[:room], *([cost] if cost is not None else [])][:height]


def _part_row(side: str, parts: Sequence[PhasePart], width: int, axis: float, look: Look, *, is_first: bool) -> Content:
    head = f" {side if is_first else '':<5}"
    if len(parts) == 1:
        part = parts[0]
        tail = f" {figures.ms(part.ms):>5} ms" + (f"  ({share(part)})" if part.share is not None else "")
        cells = width - len(head) - 7 - 17
        drawn = bar(part, cells, axis, look) if cells >= 4 else ""
        return fit(
            [
                piece(
                    (f"{head}{name_of(part.name):<7}", "$quiet"),
                    (drawn, style_of(part.name)),
                    (tail, opens(f"{SIDE_NAMES[side]}.phase.{part.name}")),
                )
            ],
            width,
        )
    return Content.assemble((head, "$quiet"), in_a_row(parts, width - len(head) - 1, axis, look, side=SIDE_NAMES[side]))


def in_a_row(
    parts: Sequence[PhasePart], width: int, axis: float, look: Look, *more: Piece, side: str = "speculative"
) -> Content:
    """All parts of a side in one row, each with its bar where there is room; `more` may stand behind them."""

    def words(cells: int, keep: int) -> list[Piece]:
        kept = sorted(range(len(parts)), key=lambda at: -parts[at].ms)[:keep]
        return [
            piece(
                (f"{name_of(part.name)} ", "$quiet"),
                (bar(part, cells, axis, look) + " " if cells else "", style_of(part.name)),
                (figures.ms(part.ms), opens(f"{side}.phase.{part.name}")),
                (f" {share(part)}" if part.share is not None and part.share >= 0.5 else "", "$quiet"),
            )
            for at, part in enumerate(parts)
            if at in kept
        ]

    everything = len(parts)
    choices = []
    for behind in ([*more], []):
        cells = width
        # The bars share what the words leave; every one keeps a cell of its own.
        while cells > _SHORTEST_AXIS and not fits([*words(cells, everything), *behind], width):
            cells -= 1
        if cells > _SHORTEST_AXIS:
            choices.append([*words(cells, everything), *behind])
    choices += [[*words(0, everything), *more], words(0, everything)]
    choices += [words(0, keep) for keep in range(everything - 1, 0, -1)]
    return first_that_fits(width, *choices)


def cost_row(cost: VerifyCost | None, width: int) -> Content | None:
    """What a verify costs, and in which step's terms."""
    if cost is None:
        return None
    return first_that_fits(
        width,
        [piece((f" verify costs {cost.multiple:.2f}× {cost.step}", _VERIFY))],
        [piece((f" verify costs {cost.multiple:.2f}× a baseline step", _VERIFY))],
        [piece((f" verify {cost.multiple:.2f}× base step", _VERIFY))],
    )
