"""The part of a log that somebody asks for: samples outside it enter no figure, and their number is told."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from specmon.events import Block, PrefillColumns, SampleColumns
from specmon.formats import Dialect
from specmon.formats.reader import LogReader
from specmon.formats.stream import Portion

_Columns = TypeVar("_Columns", SampleColumns, PrefillColumns)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From a moment to a moment on the log's own clock, both included; None: without that end."""

    since: float | None = None
    until: float | None = None

    def holds(self, at: float) -> bool:
        """Whether a time lies inside. A line without a time cannot be told to lie outside."""
        return not ((self.since is not None and at < self.since) or (self.until is not None and at > self.until))


class WindowedReader(LogReader):
    """A reader whose blocks lack the decode and prefill lines outside a window.

    Rare events stay: a launch before the window still says with which settings the samples in it were made. The
    first sample inside covers time outside, and falls to the rule for a first sample.
    """

    def __init__(self, window: TimeWindow, dialects: Iterable[Dialect] = ()) -> None:
        super().__init__(dialects)
        self._window = window

    def feed(self, data: bytes, offset: int) -> list[Portion]:
        """Read whole lines that begin at byte `offset` of the source."""
        return [self._clipped(portion) for portion in super().feed(data, offset)]

    def finish(self) -> list[Portion]:
        """The source has ended: what was held back."""
        return [self._clipped(portion) for portion in super().finish()]

    def _clipped(self, portion: Portion) -> Portion:
        block = clip(portion.block, self._window)
        return portion if block is portion.block else replace(portion, block=block)


def clip(block: Block, window: TimeWindow) -> Block:
    """The block without the samples and prefill lines outside a window."""
    decode, prefill = _inside(block.decode, window), _inside(block.prefill, window)
    if len(decode) == len(block.decode) and len(prefill) == len(block.prefill):
        return block
    return replace(block, decode=decode, prefill=prefill, outside=len(block.decode) - len(decode))


def _inside(columns: _Columns, window: TimeWindow) -> _Columns:
    kept = [window.holds(at) for at in columns.at]
    if all(kept):
        return columns
    inside = type(columns)()
    for each in fields(columns):
        column = getattr(columns, each.name)
        if isinstance(column, array) and len(column) == len(kept):
            value = array(column.typecode, (entry for entry, is_kept in zip(column, kept, strict=True) if is_kept))
            setattr(inside, each.name, value)
        elif isinstance(column, list) and len(column) == len(kept):
            setattr(inside, each.name, [entry for entry, is_kept in zip(column, kept, strict=True) if is_kept])
    return inside
