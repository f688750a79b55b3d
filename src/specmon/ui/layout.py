"""Which panels stand where at a given terminal size. Pure: a size goes in, rectangles come out.

Bands are granted rows in order of importance, so what is dropped first on a short terminal is what
comes last here: events, load, samples, phases, charts, break-even. The verdict always has its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

NARROW = 72
WIDE = 110
HUGE = (180, 50)
TALL = 30  # from here on words may have a second row


class Form(StrEnum):
    """The shape of the screen."""

    NARROW = "narrow"  # the sides are stacked, one line each
    NORMAL = "normal"
    WIDE = "wide"
    HUGE = "huge"  # three columns


class Focus(StrEnum):
    """What the lower part of the screen is used for."""

    OVERVIEW = "overview"
    LOG = "log"
    DIFFERENCES = "differences"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in cells."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The rectangles of the panels that are shown, and how the two sides use theirs."""

    form: Form
    areas: Mapping[str, Area] = field(default_factory=dict)
    figure_rows: int = 2
    chart_rows: int = 0  # the time axis included
    cycle_rows: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """Rows that the words of a moment need; on a short terminal they do with less."""

    verdict: int = 2
    note: int = 0  # the note of a demo
    others: int = 0  # servers that are not compared
    levels: int = 0  # load levels with a verdict
    has_phases: bool = False  # some server tells where its cycle goes


_NO_NEEDS = Needs()


@dataclass(frozen=True, slots=True)
class _Band:
    name: str
    least: int
    wanted: int
    most: int
    is_extra: bool = False


def _grant(rows: int, bands: Sequence[_Band]) -> dict[str, int]:
    """Rows for each band: first the least of each in order, then what it wants, then the most it can use.

    The first band that finds no room ends it: a less important one never stands where a better one had to go.
    A band that is extra comes only when all others have what they want.
    """
    granted: dict[str, int] = {}

    def admit(candidates: Sequence[_Band]) -> None:
        nonlocal rows
        for band in candidates:
            if band.least > rows:
                return
            granted[band.name] = band.least
            rows -= band.least

    def widen(limit: str) -> None:
        nonlocal rows
        for band in bands:
            if band.name in granted:
                more = max(0, min(rows, getattr(band, limit) - granted[band.name]))
                granted[band.name] += more
                rows -= more

    admit([band for band in bands if not band.is_extra])
    widen("wanted")
    admit([band for band in bands if band.is_extra])
    widen("wanted")
    widen("most")
    return granted


class _Stack:
    """Lays bands under each other."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.y = 0
        self.areas: dict[str, Area] = {}

    def full(self, name: str, height: int) -> None:
        """One panel over the whole width."""
        if height > 0:
            self.areas[name] = Area(0, self.y, self.width, height)
            self.y += height

    def pair(self, left: str, right: str, height: int) -> None:
        """Two panels side by side; both columns are as wide as the two sides above them."""
        if height > 0:
            half = self.width // 2
            self.areas[left] = Area(0, self.y, half, height)
            self.areas[right] = Area(half, self.y, self.width - half, height)
            self.y += height

    def beside(self, *left: tuple[str, int], right: str) -> None:
        """Panels one under the other, with their heights, and one to the right of them all."""
        half, top = self.width // 2, self.y
        for name, height in left:
            self.areas[name] = Area(0, self.y, half, height)
            self.y += height
        self.areas[right] = Area(half, top, self.width - half, self.y - top)


_FAR = 10_000
_RATIO_ROWS = 6  # border, three rows and the time axis


def plan(
    width: int, height: int, *, focus: Focus = Focus.OVERVIEW, has_playback: bool = False, needs: Needs = _NO_NEEDS
) -> Plan:
    """The plan for a terminal of that size."""
    if height < TALL:
        needs = Needs(note=min(1, needs.note), levels=needs.levels, has_phases=needs.has_phases)
    if width < NARROW:
        return _narrow(width, height, focus, has_playback, needs)
    if width >= HUGE[0] and height >= HUGE[1] and focus is Focus.OVERVIEW:
        return _huge(width, height, has_playback, needs)
    return _two_columns(width, height, focus, has_playback, needs)


def _top(stack: _Stack, verdict: int, note: int, header: int = 1) -> None:
    stack.full("header", header)
    stack.full("verdict", verdict)
    stack.full("note", note)


def _narrow(width: int, height: int, focus: Focus, has_playback: bool, needs: Needs) -> Plan:
    lower = "events" if focus is Focus.OVERVIEW else focus.value
    bands = [
        _Band("verdict", 4 if height >= 12 else 3, 4, 4),
        _Band("figures", 2, 2, 2),
        _Band("header", 1, 1, 1),
        _Band("footer", 1, 1, 1),
        *([_Band("playback", 1, 1, 1)] if has_playback else []),
        _Band("comparison", 2, 2, 2),
        *([_Band("note", needs.note, needs.note, needs.note)] if needs.note else []),
        *([_Band("others", needs.others, needs.others, needs.others)] if needs.others else []),
        *([_Band(lower, 4, _FAR, _FAR)] if focus is not Focus.OVERVIEW else []),
        _Band("phases", 1, 1, 1),
        _Band("samples", 1, 1, 1),
        _Band("load", 1, 1, 1),
        # The sparkline in the row of each side is its chart; larger ones come when all else has its place.
        *([_Band("events", 3, 5, 12)] if focus is Focus.OVERVIEW else []),
        _Band("charts", 10, 16, _FAR, is_extra=True),
    ]
    rows = _grant(height, bands)
    stack = _Stack(width)
    _top(stack, rows.get("verdict", height), rows.get("note", 0), rows.get("header", 0))
    charts = rows.get("charts", 0) // 2
    if "figures" in rows:
        stack.full("baseline", 1 + charts)
        stack.full("speculative", 1 + charts)
    stack.full("comparison", _lines(rows))
    stack.full(lower, rows.get(lower, 0))
    _bottom(stack, height, rows)
    return Plan(Form.NARROW, stack.areas, figure_rows=1, chart_rows=charts)


def _lines(rows: Mapping[str, int]) -> int:
    return sum(rows.get(name, 0) for name in ("comparison", "phases", "samples", "load"))


def _bottom(stack: _Stack, height: int, rows: Mapping[str, int]) -> None:
    stack.y = max(stack.y, height - sum(rows.get(name, 0) for name in ("others", "playback", "footer")))
    stack.full("others", rows.get("others", 0))
    stack.full("playback", rows.get("playback", 0))
    stack.full("footer", rows.get("footer", 0))


def _two_columns(width: int, height: int, focus: Focus, has_playback: bool, needs: Needs) -> Plan:
    is_wide = width >= WIDE
    is_overview = focus is Focus.OVERVIEW
    bands = [
        _Band("verdict", 2, min(4, needs.verdict), 3 if height < 16 else min(4, max(2, needs.verdict))),
        _Band("figures", 4, 4, 4),
        _Band("header", 1, 1, 1),
        _Band("footer", 1, 1, 1),
        *([_Band("playback", 1, 1, 1)] if has_playback else []),
        *([_Band("note", needs.note, needs.note, needs.note)] if needs.note else []),
        *([_Band("others", needs.others, needs.others, needs.others)] if needs.others else []),
    ]
    if is_wide and is_overview:
        # Where phases are known they and the acceptance have a row of panels, and the comparison does with less.
        has_phases = needs.has_phases
        bands += [
            _Band("comparison", 4, 4, 7) if has_phases else _Band("comparison", 4, 8, 8),
            _Band("tall", 1, 1, 1),
            _Band("chart", 4, 8, 14) if has_phases else _Band("chart", 4, 8, 16),
            *([_Band("phases", 5, 8, 9)] if has_phases else []),
            _Band("events", 4, 5, 10),
            _Band("ratio", 5, 5, _RATIO_ROWS, is_extra=True),
            _Band("log", 5, 5, _FAR, is_extra=True),
        ]
    elif is_overview:
        bands += [
            _Band("comparison", 2, 2, 2),
            _Band("chart", 3, 6, 10),
            _Band("phases", 1, 1, 1),
            _Band("samples", 1, 1, 1),
            _Band("load", 1, 1, 1),
            _Band("events", 3, 5, 8),
            _Band("log", 5, 7, _FAR, is_extra=True),
        ]
    else:
        lower = focus.value
        kept = 10 if height >= 40 else 6 if height >= 30 else 0
        bands += [_Band(lower, 4, 10, 10), _Band("comparison", 2, 2, 2), _Band("chart", kept, kept, kept)]
        bands += [_Band(f"{lower}-rest", 0, _FAR, _FAR)]
    rows = _grant(height, bands)
    stack = _Stack(width)
    _top(stack, rows.get("verdict", height), rows.get("note", 0), rows.get("header", 0))
    chart = rows.get("chart", 0)
    figures = 2 + rows.get("tall", 0)
    if "figures" in rows:
        stack.pair("baseline", "speculative", 2 + figures + chart)
    if is_wide and is_overview:
        stack.full("ratio", rows.get("ratio", 0))
        if "events" in rows and "phases" in rows:
            # The causes are what is looked for, and many: their panel is as high as both beside it.
            stack.beside(("comparison", rows["comparison"]), ("events", rows["events"]), right="differences")
            stack.pair("phases", "acceptance", rows["phases"])
        elif "phases" in rows:
            stack.full("comparison", rows.get("comparison", 0))
            stack.pair("phases", "acceptance", rows["phases"])
        else:
            stack.pair("comparison", "acceptance", rows.get("comparison", 0))
            stack.pair("events", "differences", rows.get("events", 0))
        stack.full("log", rows.get("log", 0))
    elif is_overview:
        stack.full("comparison", _lines(rows))
        stack.full("events", rows.get("events", 0))
        stack.full("log", rows.get("log", 0))
    else:
        stack.full("comparison", rows.get("comparison", 0))
        stack.full(lower, rows.get(lower, 0) + rows.get(f"{lower}-rest", 0))
    _bottom(stack, height, rows)
    return Plan(Form.WIDE if is_wide else Form.NORMAL, stack.areas, figures, chart)


def _huge(width: int, height: int, has_playback: bool, needs: Needs) -> Plan:
    right = min(64, max(42, width * 3 // 10 - 4))
    left = width - right
    bottom = 1 + has_playback + needs.others
    stack = _Stack(width)
    _top(stack, 5, needs.note)
    top = stack.y
    stack.width = left
    rows = _grant(
        height - top - bottom,
        [
            _Band("sides", 5, 5, 5),
            _Band("chart", 12, 17, 30),
            _Band("cycle", 6, 7, 12),
            _Band("lower", 13, 14, 16),
            _Band("log", 6, 12, _FAR),
        ],
    )
    stack.pair("baseline", "speculative", rows["sides"] + rows["chart"] + rows["cycle"])
    half = left // 2
    lower = rows["lower"]
    stack.areas["comparison"] = Area(0, stack.y, half, lower - _RATIO_ROWS)
    stack.areas["ratio"] = Area(0, stack.y + lower - _RATIO_ROWS, half, _RATIO_ROWS)
    stack.areas["acceptance"] = Area(half, stack.y, left - half, lower)
    stack.y += lower
    stack.full("log", rows.get("log", 0))
    _column(stack.areas, left, top, right, height - top - bottom, needs)
    stack.width = width
    _bottom(stack, height, {"others": needs.others, "playback": int(has_playback), "footer": 1})
    return Plan(Form.HUGE, stack.areas, 3, rows["chart"], rows["cycle"])


def _column(areas: dict[str, Area], x: int, y: int, width: int, height: int, needs: Needs) -> None:
    """The evidence column: reference, differences, phases, the table by level, events."""
    levels = min(10, max(4, needs.levels + 3))
    rows = _grant(
        height,
        [
            _Band("trust", 9, 9, 9),
            _Band("differences", 8, 18, 24),
            _Band("phases", 6, 8, 8) if needs.has_phases else _Band("phases", 6, 6, 6),
            _Band("levels", levels, levels, 12),
            _Band("events", 6, _FAR, _FAR),
        ],
    )
    for name in ("trust", "differences", "phases", "levels", "events"):
        if name in rows:
            areas[name] = Area(x, y, width, rows[name])
            y += rows[name]
