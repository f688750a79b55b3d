"""Follows a baseline against its reference, life after life, and names what changed."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.analysis.drift import SAMPLES_NEEDED, Change, Drift, DriftWatch
from specmon.analysis.figures import LevelFigures
from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role, Trust, TrustView
from specmon.references.diff import compare
from specmon.references.difference import Difference
from specmon.references.model import Reference, ReferenceLevel

_STATES = {
    Drift.WAITING: Trust.WAITING,
    Drift.MATCHES: Trust.MATCHES,
    Drift.DRIFTING: Trust.DRIFTING,
    Drift.DIVERGED: Trust.DIVERGED,
    Drift.RECOVERED: Trust.RECOVERED,
}
_CHANGES_SPEED = 0.005  # beyond this a deviation has a direction worth a word


@dataclass(slots=True)
class _Watched:
    """One recorded level of one life."""

    running: int
    watch: DriftWatch
    revision: int
    was_diverged: bool  # in the life before
    consumed: int = -1  # the sample index up to which clean samples were taken
    told: int = 0  # changes that were handed on


class TrustWatch:
    """One server's trust. Statistics begin anew with each life; only the fact of a divergence is carried on."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self._life: Life | None = None
        self._levels: dict[int, _Watched] = {}

    @property
    def running(self) -> int | None:
        """The recorded level that the present life has most clean samples of; None without any."""
        watched = self._present
        return watched.running if watched is not None else None

    def update(self, server: ServerMonitor) -> tuple[Change, ...]:
        """Take in what is new; answer the changes of state that it made."""
        done = self._life.index if self._life is not None else 1
        changes: list[Change] = []
        for life in server.lives[done - 1 :]:
            if life.role is Role.SPECULATIVE:
                continue  # a reference is a baseline's
            if life is not self._life:
                self._begin(life)
            for running, watched in self._levels.items():
                if watched.revision != life.statistics.revision:
                    # A verdict changed after the fact: what was taken in is read again as it now stands.
                    told = watched.told
                    watched = self._levels[running] = self._watch(life, running, was_diverged=watched.was_diverged)
                    watched.told = told
                self._consume(life, watched)
                changes += watched.watch.changes[watched.told :]
                watched.told = max(watched.told, len(watched.watch.changes))
        return tuple(sorted(changes, key=lambda change: change.at))

    def view(self, server: ServerMonitor | None, level: LevelFigures | None) -> TrustView:
        """The state now, with its causes when the level has left its reference."""
        reference = self.reference
        life = server.life if server is not None else None
        watched = self._present if life is not None and life is self._life else None
        running = watched.running if watched else (level.running if level is not None else None)
        recorded = reference.level_at(running) if running is not None else None
        if server is not None and level is not None and recorded is None:
            return TrustView(
                state=Trust.NO_REFERENCE,
                reference=reference.name,
                running=running,
                tolerance=reference.tolerance,
                sentence=f"reference {reference.name} records no speed at {running} running "
                f"(it has {', '.join(str(known.running) for known in reference.levels)})",
            )
        if watched is None or recorded is None or life is None:
            return nothing_seen(reference)
        watch = watched.watch
        state = _STATES[watch.state]
        measured = self._measured(watched, recorded, level)
        deviation = measured / recorded.tok_s - 1 if measured is not None else None
        is_off = state in (Trust.DIVERGED, Trust.DRIFTING)
        return TrustView(
            state=state,
            reference=reference.name,
            running=running,
            reference_tok_s=recorded.tok_s,
            measured_tok_s=measured,
            deviation=deviation,
            tolerance=reference.tolerance,
            samples_seen=watch.seen,
            samples_needed=SAMPLES_NEEDED,
            since=watch.since,
            causes=self.causes(life, level) if is_off else (),
            sentence=_sentence(state, reference, recorded, measured, deviation, watch.seen),
        )

    def causes(self, life: Life, level: LevelFigures | None) -> tuple[Difference, ...]:
        """What differs from the reference's conditions, what matters first."""
        found = list(compare(self.reference.fingerprint, life.conditions))
        recorded_without = (self.reference.fingerprint.flags or {}).get("disable_cuda_graph") is True
        if level is not None and level.cuda_graph in ("false", "mixed") and not recorded_without:
            found.insert(0, Difference("graph", "cuda graph", None, level.cuda_graph, "matters", _GRAPH_REASON))
        return tuple(found)

    @property
    def _present(self) -> _Watched | None:
        seen = [watched for watched in self._levels.values() if watched.watch.seen]
        return max(seen, key=lambda watched: watched.watch.seen, default=None)

    def _begin(self, life: Life) -> None:
        before = {running: watched.watch.is_diverged for running, watched in self._levels.items()}
        self._life = life
        self._levels = {
            level.running: self._watch(life, level.running, was_diverged=before.get(level.running, False))
            for level in self.reference.levels
        }

    def _watch(self, life: Life, running: int, *, was_diverged: bool) -> _Watched:
        level = self.reference.level_at(running)
        assert level is not None
        watch = DriftWatch(level.step_ms, self.reference.tolerance, was_diverged=was_diverged)
        return _Watched(running, watch, life.statistics.revision, was_diverged)

    def _consume(self, life: Life, watched: _Watched) -> None:
        statistics = life.statistics
        fresh = []
        for tag in statistics.counted_ranks:
            level = statistics.level_of(tag, watched.running)
            if level is None:
                continue
            columns = level.clean
            position = len(columns)
            while position and columns.index[position - 1] > watched.consumed:
                position -= 1
                fresh.append((columns.index[position], columns.at[position], columns.cycle_ms(position)))
        for index, at, cycle_ms in sorted(fresh):
            watched.watch.add(at, cycle_ms)
            watched.consumed = index

    def _measured(self, watched: _Watched, recorded: ReferenceLevel, level: LevelFigures | None) -> float | None:
        """The present speed: the level's estimate, or the recent samples' where the state rests on those."""
        overall = level.decode_tok_s if level is not None and level.running == watched.running else None
        recent_ms = watched.watch.recent_cycle_ms
        if recent_ms is None or overall is None or level is None or level.cycle_ms is None:
            return overall
        is_beyond = abs(overall / recorded.tok_s - 1) > self.reference.tolerance
        if watched.watch.state is not Drift.DRIFTING and is_beyond == (watched.watch.state is Drift.DIVERGED):
            return overall
        return overall * level.cycle_ms / recent_ms


def nothing_seen(reference: Reference) -> TrustView:
    """The view before the first clean baseline sample."""
    first = reference.levels[0]
    return TrustView(
        state=Trust.WAITING,
        reference=reference.name,
        running=first.running,
        reference_tok_s=first.tok_s,
        tolerance=reference.tolerance,
        samples_needed=SAMPLES_NEEDED,
        sentence=f"waiting for clean baseline samples (0 of {SAMPLES_NEEDED})",
    )


_GRAPH_REASON = "without a captured graph each decode step pays for its kernel launches"


def _sentence(
    state: Trust,
    reference: Reference,
    recorded: ReferenceLevel,
    measured: float | None,
    deviation: float | None,
    seen: int,
) -> str:
    if measured is None or deviation is None or state is Trust.WAITING:
        return f"waiting for clean baseline samples ({seen} of {SAMPLES_NEEDED})"
    pair = f"{measured:.1f} tok/s, reference {reference.name} {recorded.tok_s:.1f} ({percent(deviation)})"
    if state is Trust.DIVERGED:
        way = "slower" if deviation < 0 else "faster, so the reference is stale"
        return f"{pair}: {way}, beyond ±{reference.tolerance:.0%}"
    if state is Trust.DRIFTING:
        return f"{pair}: inside ±{reference.tolerance:.0%}, but off"
    if state is Trust.RECOVERED:
        return f"{pair}: back to its reference"
    return pair


def percent(share: float) -> str:
    """ "−34 %": a signed share with the sign that typesetters use; one digit below 10 %."""
    sign = "−" if share < 0 else "+"
    size = abs(share) * 100
    return f"{sign}{size:.1f} %" if size < 9.95 else f"{sign}{size:.0f} %"
