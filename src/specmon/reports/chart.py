"""One measure of several servers over time as an SVG picture that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from specmon.monitor.held import HeldSamples
from specmon.monitor.held import Measure as Quantity
from specmon.monitor.snapshot import Mark, Role, SamplePoint, ServerView
from specmon.reports.times import stamp
from specmon.visible import visible

WIDTH, HEIGHT = 960, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 36
_COLUMNS = WIDTH - _LEFT - _RIGHT
# Blue and orange, as on the screen: people who see fewer colours tell these two apart.
_COLOURS = {Role.BASELINE: "#2f6fde", Role.SPECULATIVE: "#d9730d", Role.UNKNOWN: "#6b7280"}
_ABSURD = 1e11  # of a speed, a time, a moment: no server means it
_MANY = 20_000  # samples, from which they are drawn by columns
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is drawn: its title with the unit, and how a sample gives it."""

    name: Quantity  # of the file too
    title: str
    value: Callable[[SamplePoint], float | None]
    from_zero: bool = True


MEASURES = (
    Measure("tok_s", "decode throughput, tok/s", lambda point: point.tok_s),
    Measure("cycle_ms", "cycle, ms", lambda point: point.cycle_ms),
    Measure("accept_len", "accept length, tokens", lambda point: point.accept_len, from_zero=False),
)


def chart_svg(measure: Measure, views: Sequence[ServerView]) -> str | None:
    """The clean samples of each server as a line, those left out as hollow dots, the reference dotted.

    None when no server has a figure of this kind.
    """
    drawn = [(view, list(_points(measure, view))) for view in views]
    drawn = [(view, points) for view, points in drawn if points]
    clean = [value for _, points in drawn for _, value, is_clean in points if is_clean]
    if not clean:
        return None
    reference = _reference(measure, views)
    first = min(at for _, points in drawn for at, _, _ in points)
    last = max(at for _, points in drawn for at, _, _ in points)
    # The scale is that of the clean samples: one false spike of a start would flatten all the others.
    tops = [*clean, *([reference] if reference is not None else [])]
    scale = _Scale(first, max(last, first + 1), 0.0 if measure.from_zero else min(clean, default=0.0), max(tops))
    body = [*_grid(scale), *_marks(scale, [view for view, _ in drawn])]
    if reference is not None:
        y = scale.y(reference)
        body.append(f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="#6b7280" stroke-dasharray="2 4"/>')
        body.append(f'<text x="{WIDTH - _RIGHT}" y="{y - 4:.1f}" text-anchor="end">reference {reference:.1f}</text>')
    for view, points in drawn:
        body.extend(_series(scale, _COLOURS[view.role], points))
    return _document(measure.title, body, [view for view, _ in drawn])


@dataclass(frozen=True, slots=True)
class _Scale:
    first: float
    last: float
    bottom: float
    top: float

    def x(self, at: float) -> float:
        share = (at - self.first) / (self.last - self.first)
        return _LEFT + min(1.0, max(0.0, share)) * _COLUMNS

    def y(self, value: float) -> float:
        span = max(self.top - self.bottom, 1e-6) * 1.08
        share = (value - self.bottom) / span
        return _TOP + (1 - min(1.0, max(0.0, share))) * (HEIGHT - _TOP - _BOTTOM)

    def ticks(self) -> Iterator[float]:
        span = max(self.top - self.bottom, 1e-6)
        unit = 10 ** math.floor(math.log10(span / 4))
        step = next((unit * factor for factor in _STEPS if span / (unit * factor) <= 5), unit * 10)
        for number in range(math.ceil(self.bottom / step), math.floor(self.top / step) + 1):
            yield number * step


def _points(measure: Measure, view: ServerView) -> Iterator[tuple[float, float, bool]]:
    held = HeldSamples.of(view.points)
    if len(held) > _MANY or len(held.buckets):
        yield from _extremes(measure, held)
        return
    for point in held:
        value = measure.value(point)
        if value is not None and abs(value) < _ABSURD and abs(point.at) < _ABSURD:
            yield point.at, value, point.excluded is None


def _extremes(measure: Measure, held: HeldSamples) -> Iterator[tuple[float, float, bool]]:
    """Of a long past the least and the greatest of each column: no more could be seen."""
    start, end = held.started_at, held.ended_at
    if start is None or end is None or not -_ABSURD < start < end < _ABSURD:
        return
    found = held.columns(measure.name, start, end, _COLUMNS, None)
    cell_s = (end - start) / _COLUMNS
    clean = [(place, value, True) for place, column in enumerate(found.shown) for value in column or ()]
    for place, value, is_clean in (*clean, *((place, value, False) for place, value in found.left_out)):
        if abs(value) < _ABSURD:
            yield start + (place + 0.5) * cell_s, value, is_clean


def _reference(measure: Measure, views: Sequence[ServerView]) -> float | None:
    if measure.name not in ("tok_s", "cycle_ms"):
        return None
    found = (getattr(view, f"reference_{measure.name}") for view in views)
    return next((value for value in found if value is not None), None)


def _grid(scale: _Scale) -> Iterator[str]:
    for value in scale.ticks():
        y = scale.y(value)
        yield f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="#d4d4d8"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = scale.first + share * (scale.last - scale.first)
        words = (stamp(round(at)) or f"{at - scale.first:.0f} s").replace("T", " ")
        yield f'<text x="{scale.x(at):.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{escape(words)}</text>'


def _marks(scale: _Scale, views: Sequence[ServerView]) -> Iterator[str]:
    marks: list[Mark] = [mark for view in views for mark in view.marks if scale.first <= mark.at <= scale.last]
    for mark in marks:
        x = scale.x(mark.at)
        words = escape(visible(f"{mark.kind.value}: {mark.text}"))
        yield f'<path d="M{x:.1f} {_TOP}V{HEIGHT - _BOTTOM}" stroke="#b91c1c"><title>{words}</title></path>'


def _series(scale: _Scale, colour: str, points: Sequence[tuple[float, float, bool]]) -> Iterator[str]:
    columns: dict[int, list[float]] = {}
    for at, value, is_clean in points:
        if is_clean:
            columns.setdefault(round(scale.x(at)), []).append(value)
        else:
            x, y = scale.x(at), scale.y(value)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="none" stroke="{colour}" opacity="0.6"/>'
    # Lowest and highest of a column, so that a spike survives however many samples share it.
    corners = [(x, value) for x, values in sorted(columns.items()) for value in sorted({min(values), max(values)})]
    gap = max(8.0, 6 * _usual_step(sorted(columns)))
    parts: list[str] = []
    for number, (x, value) in enumerate(corners):
        breaks = number == 0 or x - corners[number - 1][0] > gap
        parts.append(f"{'M' if breaks else 'L'}{x} {scale.y(value):.1f}")
    if len(corners) == 1:
        x, value = corners[0]
        yield f'<circle cx="{x}" cy="{scale.y(value):.1f}" r="2" fill="{colour}"/>'
    elif parts:
        yield f'<path d="{"".join(parts)}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linecap="round"/>'


def _usual_step(columns: Sequence[int]) -> float:
    steps = sorted(after - before for before, after in pairwise(columns))
    return steps[len(steps) // 2] if steps else 0.0


def _document(title: str, body: Sequence[str], views: Sequence[ServerView]) -> str:
    legend, x = [], _LEFT + 8 * len(title) + 24
    for view in views:
        name = f"{view.role.value} {visible(view.name)}"[:48]
        legend.append(f'<path d="M{x} 20h18" stroke="{_COLOURS[view.role]}" stroke-width="3"/>')
        legend.append(f'<text x="{x + 24}" y="24">{escape(name)}</text>')
        x += 44 + 7 * len(name)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui,sans-serif" font-size="12" fill="#3f3f46">'
    )
    frame = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    heading = f'<text x="{_LEFT}" y="24" font-weight="bold">{escape(title)}</text>'
    return "\n".join([head, frame, heading, *legend, *body, "</svg>"])
