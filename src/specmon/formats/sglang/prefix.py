"""What stands in front of the body of a line: time, rank tags, the process.

SGLang writes `[2026-04-30 08:57:02 DP0 TP0] `; Ray, Kubernetes, compose and journald put their own prefix
in front of that, and a custom logging configuration replaces it altogether.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from specmon.events import MISSING
from specmon.formats.stamps import STAMP, StampReader, read_zone

LONGEST = 256  # bytes of a foreign prefix; what is longer is text, not a prefix

# Words with a number behind them: DP0 PP0 ATTN_CP0 MOE_DP0 TP0 EP0, in an order that changed with versions.
_BRACKET = re.compile(rb"(" + STAMP + rb")((?: [A-Z_]{2,12}\d{1,6}){0,8})")
_TORN_BRACKET = re.compile(rb"(" + STAMP + rb")((?: [A-Z_]{2,12}\d{1,6}){0,8})\] ?$")
_LOOSE_STAMP = re.compile(rb"(" + STAMP + rb")(\s?(?:Z|[+-]\d\d:?\d\d))?")
_PROCESS = re.compile(
    rb"\bpid[= ](\d{1,10})\b"  # (SGLangEngine pid=43033, ip=10.0.0.1)
    rb"|\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +(\d{1,10}) +\["  # INFO 151972 [metrics.py:287]
    rb"|[\w.@-]\[(\d{1,10})\]: "  # host python3[123]:
)
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a prefix says; `at` is NaN and `process` -1 when it does not."""

    at: float = MISSING
    rank: str = ""
    process: int = -1
    has_milliseconds: bool = False
    utc_offset_s: int | None = None


class PrefixReader:
    """Reads prefixes and remembers them: lines of one second and rank share theirs."""

    def __init__(self) -> None:
        self._stamps = StampReader()
        self._minutes: dict[bytes, float] = {}  # "2026-04-30 08:57:" to its seconds
        self._tags: dict[bytes, str] = {}  # " DP0 TP0" as it stands, and stripped
        self._processes: dict[bytes, int] = {}

    def bracket(self, text: bytes, before: bytes = b"") -> Prefix | None:
        """Read the inside of SGLang's bracket, with what stands before it; None when it is none."""
        # The usual case without a pattern: a minute and a set of tags that have been seen before.
        rank = self._tags.get(text[19:])
        minute = self._minutes.get(text[:17])
        if rank is None or minute is None or not (text[17:19].isdigit() and text[17:18] < b"6"):
            match = _BRACKET.fullmatch(text)
            at = self._stamps.seconds(match[1]) if match else MISSING
            if match is None or math.isnan(at):
                return None
            rank = match[2].strip().decode("ascii")
            has_milliseconds = len(match[1]) > 19
            if not has_milliseconds:
                if len(self._minutes) >= _KEPT or len(self._tags) >= _KEPT:
                    self._minutes.clear()
                    self._tags.clear()
                self._minutes[text[:17]] = at - int(text[17:19])
                self._tags[text[19:]] = rank
        else:
            at = minute + int(text[17:19])
            has_milliseconds = False
        return Prefix(at, rank, self.process(before) if before else -1, has_milliseconds)

    def midnight(self, day: bytes) -> float:
        """Seconds since 1970 at the beginning of a day; NaN when there is no such day."""
        return self._stamps.midnight(day)

    def process(self, before: bytes) -> int:
        """The process that a carrier's or a logger's prefix names, else -1."""
        process = self._processes.get(before)
        if process is None:
            match = _PROCESS.search(before)
            process = int(match[match.lastindex or 0]) if match else -1
            if len(self._processes) >= _KEPT:
                self._processes.clear()
            self._processes[before] = process
        return process

    def loose(self, before: bytes) -> Prefix:
        """Read a prefix without SGLang's bracket, or with one that lost its beginning."""
        if torn := _TORN_BRACKET.search(before):
            prefix = self.bracket(torn[1] + torn[2], before[: torn.start()])
            if prefix is not None:
                return prefix
        process = self.process(before)
        if (match := _LOOSE_STAMP.search(before)) is None:
            return Prefix(process=process)
        at = self._stamps.seconds(match[1])
        return Prefix(at, "", process, len(match[1]) > 19, read_zone(match[2] or b""))
