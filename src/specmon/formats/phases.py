"""Lines that tell where the time of a cycle goes, read out of the log of whatever engine they stand in.

The line of specmon's own probe, version 1; keys that are not known are skipped, phases that are not there are not
there. A line that cannot be right gives no figure at all, and an event that says why:

    specmon-phase v1 cycles=40 running=1 draft_ms=0.610 verify_ms=28.700 draft_extend_ms=0.410 cycle_ms=29.900 …
    specmon-phase v1 cycles=40 running=1 decode_ms=15.700 cycle_ms=15.900

And lines of people who instrumented their server by hand and described them in a custom format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from specmon.events import MISSING, LogEvent, PhasesRefused, PhasesTimed

if TYPE_CHECKING:
    from specmon.formats.custom.line import CustomLine, LineReader

_NEEDLE = b"specmon-phase v"
_VERSION = re.compile(rb"(\d{1,4}) ")
_READ = b"1"
_PAIR = re.compile(rb"(?:^| )([a-z_]{1,32})=([^ \r]*)")
_FIGURE = re.compile(rb"\d{1,12}(?:\.\d{1,12})?\Z")
_TIMES_MOST = 1.02  # of the cycle, that its phases may come to: they are inside it, but for rounding
_KNOWN = ("cycles", "running", "cycle_ms")
_LONGEST = 512  # bytes of a probe's line
_LONGEST_FRONT = 400  # bytes in front of it: a logger's prefix


class PhaseReader:
    """Reads the phase lines of one stream."""

    def __init__(self, formats: Sequence[LineReader] = ()) -> None:
        self._formats = [reader for reader in formats if any(one.tells_phases for one in reader.model.patterns)]

    @property
    def has_formats(self) -> bool:
        """Whether people's own formats are looked for."""
        return bool(self._formats)

    def read(self, block: bytes, start: int) -> list[LogEvent]:
        """The phase lines of a block of whole lines, in their order."""
        found: list[LogEvent] = _probes(block, start) if _NEEDLE in block else []
        for reader in self._formats:
            for begin, _, line in reader.lines(block):
                if line.pattern.tells_phases and (event := _event(line, start + begin)):
                    found.append(event)
        found.sort(key=lambda event: event.offset)
        return found


def _probes(block: bytes, start: int) -> list[LogEvent]:
    found: list[LogEvent] = []
    position = block.find(_NEEDLE)
    while position >= 0:
        begin = block.rfind(b"\n", 0, position) + 1
        end = block.find(b"\n", position)
        if end < 0:
            break  # the line is pending, so its last figure may be half a figure
        if position - begin <= _LONGEST_FRONT and end - position <= _LONGEST and b'"' not in block[begin:position]:
            body = block[position + len(_NEEDLE) : end]
            if version := _VERSION.match(body):
                found.append(_of_probe(version[1], body[version.end() :], start + begin))
        position = block.find(_NEEDLE, end)
    return found


def _of_probe(version: bytes, pairs: bytes, offset: int) -> LogEvent:
    """The times of a probe's line, or why they are not taken."""
    if version != _READ:
        return PhasesRefused(offset, reason="version", detail=version.decode())
    from specmon.formats.custom.fields import PHASE_FIELDS  # and with it all of the custom formats

    figures: dict[str, float] = {}
    for key, value in _PAIR.findall(pairs):
        name = key.decode()
        if name not in _KNOWN and name not in PHASE_FIELDS:
            continue
        if not _FIGURE.match(value):
            return PhasesRefused(offset, reason="figure", detail=f"{name}={value.decode('utf-8', 'replace')}")
        if name in figures:  # what is left of one line, with another behind it
            return PhasesRefused(offset, reason="cut")
        figures[name] = float(value)
    event = _timed("probe", figures, offset)
    if event is None or event.running is None or event.cycle_ms != event.cycle_ms:
        return PhasesRefused(offset, reason="cut")
    if sum(event.ms.values()) > _TIMES_MOST * event.cycle_ms:
        return PhasesRefused(offset, reason="sum")
    return event


def _event(line: CustomLine, offset: int) -> PhasesTimed | None:
    return _timed("custom", line.figures, offset)


def _timed(source: str, figures: dict[str, float], offset: int) -> PhasesTimed | None:
    from specmon.formats.custom.fields import PHASE_FIELDS  # and with it all of the custom formats

    ms = {name.removesuffix("_ms"): figures[name] for name in PHASE_FIELDS if figures.get(name, -1.0) >= 0}
    cycles, running = figures.get("cycles", 1.0), figures.get("running", MISSING)
    if not ms or not cycles > 0:
        return None
    return PhasesTimed(
        offset,
        source=source,
        cycles=cycles,
        running=round(running) if 0 < running < 1e9 else None,
        cycle_ms=figures.get("cycle_ms", MISSING),
        ms=MappingProxyType(ms),
    )
