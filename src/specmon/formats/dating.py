"""Dates for stamps that lack one, from the stamps of the carriers around them.

The engine's own clock counts before the carrier's. A stamp without a year, or without a date, takes what it
lacks from its carrier; a line without any stamp takes the carrier's, moved by the difference between the two
clocks where both have been seen in one line.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import floor

from specmon.events import (
    FIRST_DATED_S,
    MISSING,
    Block,
    Clock,
    LogEvent,
    PrefillColumns,
    SampleColumns,
    StepColumns,
    ZoneChanged,
)
from specmon.formats.places import Places

_DAY_S = 86_400.0
_FIRST_YEAR_S = 730 * _DAY_S  # yearless clocks count from 1972 in years of 366 days
_YEAR_S = 366 * _DAY_S


class Dater:
    """Follows the two clocks of one stream."""

    def __init__(self) -> None:
        self._skew_s: float | None = None  # engine's clock less carrier's
        self._own_zone: int | None = None  # of the engine's stamps, as the dialect told it last
        self._zone: int | None = None  # as it has been told on

    def mend(self, block: Block, places: Places) -> Block:
        """The block with all the dates that its carriers give. The columns are changed in place."""
        clock = block.clock
        columns: tuple[SampleColumns | PrefillColumns | StepColumns, ...] = (block.decode, block.prefill, block.steps)
        changes = [event for event in block.events if isinstance(event, ZoneChanged)]
        events = [event for event in block.events if not isinstance(event, ZoneChanged)]
        told: list[LogEvent] = []
        order: list[tuple[int, int, int]] = []  # offset, which column, which entry: line order, for the skew
        for number, column in enumerate(columns):
            order += [(offset, number, index) for index, offset in enumerate(column.offset)]
        order += [(event.offset, len(columns), index) for index, event in enumerate(events)]
        order.sort()
        is_mended = False
        for offset, number, index in order:
            while changes and changes[0].offset <= offset:
                self._own_zone = changes.pop(0).utc_offset_s
            carried, kind = places.stamp(offset)
            event = events[index] if number == len(columns) else None
            own = _at(event) if event is not None else columns[number].at[index]
            if own != own and event is not None and kind[0] is not Clock.DATED:
                continue  # better no time than one of another clock, and without a year
            moment = self._moment(own, carried, clock, kind[0])
            is_replaced = own != own or _clock_of(own, clock) in (Clock.NONE, Clock.UPTIME)
            is_mended = is_mended or moment != own
            if event is None:
                columns[number].at[index] = moment
                # A zone only where the time itself is the carrier's: the engine may live in another one.
                zone = kind[1] if is_replaced and self._skew_s is None else self._own_zone
                if moment == moment and zone != self._zone:
                    self._zone = zone
                    told.append(ZoneChanged(offset, utc_offset_s=zone))
            elif moment == moment and event.at != moment:
                events[index] = replace(event, at=moment)
        if changes:
            self._own_zone = changes[-1].utc_offset_s
        events = sorted([*told, *events], key=lambda event: event.offset)
        if not is_mended:
            return replace(block, events=tuple(events))
        answers = block.answers
        if answers.last_at is not None and clock is not Clock.DATED:
            answers = replace(answers, last_at=_last(places))
        return replace(
            block,
            events=tuple(events),
            answers=answers,
            clock=Clock.DATED if all(at >= FIRST_DATED_S for at in block.decode.at) else clock,
        )

    def leave(self, block: Block) -> Block:
        """A block in which no carrier's stamp counts: the zone of an earlier one does not last."""
        changes = [event for event in block.events if isinstance(event, ZoneChanged)]
        if changes:
            self._own_zone = self._zone = changes[-1].utc_offset_s
            return block
        starts = [columns.offset[0] for columns in (block.decode, block.prefill) if len(columns)]
        if self._zone != self._own_zone and starts:
            self._zone = self._own_zone
            zone = ZoneChanged(min(starts), utc_offset_s=self._zone)
            return replace(block, events=tuple(sorted([zone, *block.events], key=lambda event: event.offset)))
        return block

    def _moment(self, own: float, carried: float, clock: Clock, carried_clock: Clock) -> float:
        if carried != carried:
            return own
        clock = _clock_of(own, clock)
        if own != own or clock in (Clock.NONE, Clock.UPTIME):
            if clock is Clock.UPTIME or self._skew_s is None:
                return carried
            return floor(carried + self._skew_s)  # no finer than the engine's clock
        if carried_clock is Clock.DATED:
            if clock is Clock.YEARLESS:
                own = _with_year(own, carried)
            elif clock is Clock.TIME_OF_DAY:
                own = own % _DAY_S + _DAY_S * round((carried - own % _DAY_S) / _DAY_S)
            self._skew_s = float(round(own - carried))
        return own


def _clock_of(own: float, clock: Clock) -> Clock:
    """How much of a date one stamp carries: a block may hold stamps of several kinds, and names the best."""
    if own != own or (own >= FIRST_DATED_S) == (clock is Clock.DATED):
        return clock
    if own >= FIRST_DATED_S:
        return Clock.DATED
    return Clock.YEARLESS if own >= _FIRST_YEAR_S else Clock.UPTIME


def _at(event: LogEvent) -> float:
    return MISSING if event.at is None else event.at


def _last(places: Places) -> float | None:
    return next((at for at in reversed(places.at) if at == at), None)


def _with_year(own: float, carried: float) -> float:
    """The moment that a stamp without a year means: of all years, the one nearest to the carrier's stamp."""
    moment = datetime.fromtimestamp(_FIRST_YEAR_S + (own - _FIRST_YEAR_S) % _YEAR_S, UTC)
    year = datetime.fromtimestamp(carried, UTC).year
    candidates = []
    for candidate in (year - 1, year, year + 1):
        try:
            candidates.append(moment.replace(year=candidate).timestamp())
        except ValueError:  # 29 February
            continue
    return min(candidates, key=lambda at: abs(at - carried))
