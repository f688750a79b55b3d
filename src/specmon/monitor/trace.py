"""The newest samples of a server as points for its charts, across its lives."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from specmon.analysis.rules import Rule
from specmon.monitor.life import Life, known
from specmon.monitor.snapshot import SamplePoint

HELD_POINTS = 4000


@dataclass(slots=True)
class PlottedSample:
    """A sample that is not drawn yet."""

    life: Life
    index: int  # in the life's statistics
    at: float
    tok_s: float  # of the whole server
    rank_tok_s: float  # of the rank that wrote the line
    running: int
    accept_len: float


class Trace:
    """Bounded: the oldest points fall out. Points are made when a picture asks for them, not per line."""

    def __init__(self, held: int = HELD_POINTS) -> None:
        self._waiting: deque[PlottedSample] = deque(maxlen=held)
        self._points: deque[SamplePoint] = deque(maxlen=held)
        self._origins: deque[tuple[Life, int]] = deque(maxlen=held)
        self._drawn: tuple[SamplePoint, ...] = ()
        self._revision = 0
        self._shift_s = 0.0

    def add(self, sample: PlottedSample) -> None:
        """Note a sample; one without a time cannot be drawn."""
        if sample.at == sample.at:
            self._waiting.append(sample)

    def points(self, revision: int, shift_s: float = 0.0) -> tuple[SamplePoint, ...]:
        """All points, oldest first, moved by `shift_s`; `revision` says whether earlier verdicts have changed."""
        if shift_s != self._shift_s:
            more_s, self._shift_s = shift_s - self._shift_s, shift_s
            held = [replace(point, at=point.at + more_s) for point in self._points]
            self._points = deque(held, maxlen=self._points.maxlen)
            self._drawn = ()
        if revision != self._revision:
            self._revision = revision
            for position, (life, index) in enumerate(self._origins):
                word = excluded_word(life, index)
                if self._points[position].excluded != word:
                    self._points[position] = replace(self._points[position], excluded=word)
                    self._drawn = ()
        if self._waiting:
            for sample in self._waiting:
                self._points.append(
                    SamplePoint(
                        at=sample.at + shift_s,
                        tok_s=sample.tok_s,
                        running=sample.running,
                        accept_len=known(sample.accept_len),
                        cycle_ms=_cycle_ms(sample),
                        excluded=excluded_word(sample.life, sample.index),
                    )
                )
                self._origins.append((sample.life, sample.index))
            self._waiting.clear()
            self._drawn = ()
        if not self._drawn:
            self._drawn = tuple(self._points)
        return self._drawn


def _cycle_ms(sample: PlottedSample) -> float | None:
    """C = 1000 * A * B / R, with A = 1 for a baseline."""
    accept = 1.0 if not sample.life.statistics.is_speculative else sample.accept_len
    return known(1000 * accept * sample.running / sample.rank_tok_s) if sample.rank_tok_s > 0 else None


def excluded_word(life: Life, index: int) -> str | None:
    """The rule that leaves a sample out, None when it counts."""
    if life.continues is not None:
        return None  # its lines were read again as another life's, so this place in it means nothing
    verdict = life.statistics.verdicts.of(index)
    return None if verdict is None or verdict is Rule.CLEAN else verdict.word
