"""Follows a baseline against its reference, life after life, and names what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from specmon.analysis.drift import SAMPLES_NEEDED, Change, Drift, DriftWatch
from specmon.analysis.figures import LevelFigures
from specmon.monitor.causes import causes_of
from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role, Trust, TrustView
from specmon.monitor.trustwords import not_recorded, sentence_of, waiting
from specmon.references.diff import compare
from specmon.references.difference import Difference
from specmon.references.match import better_match
from specmon.references.model import Reference, ReferenceLevel

_STATES = {
    Drift.WAITING: Trust.WAITING,
    Drift.MATCHES: Trust.MATCHES,
    Drift.DRIFTING: Trust.DRIFTING,
    Drift.DIVERGED: Trust.DIVERGED,
    Drift.RECOVERED: Trust.RECOVERED,
}


@dataclass(slots=True)
class _Watched:
    """One recorded level of one life."""

    running: int
    watch: DriftWatch
    revision: int
    was_diverged: bool  # in the life before
    consumed: int = -1  # the sample index up to which clean samples were taken
    made: int = 0  # changes of state so far
    told: int = 0  # changes that were handed on
    early: float | None = None  # the time of the third sample: a departure until then began with the life


@dataclass(frozen=True, slots=True)
class _Match:
    """Another reference that fits, and what it recorded."""

    name: str
    tok_s: float


class TrustWatch:
    """One server's trust. Statistics begin anew with each life; only the fact of a divergence is carried on."""

    def __init__(self, reference: Reference, others: Callable[[], tuple[Reference, ...]] = tuple) -> None:
        """`others`: the references recorded beside this one, asked for when the baseline has left it."""
        self.reference = reference
        self._others = others
        self._life: Life | None = None
        self._levels: dict[int, _Watched] = {}
        self._matched: Life | None = None  # the last life that was seen to be at its reference
        self._left: tuple[Life, Life] | None = None  # that one, and the life that may have left with its restart

    @property
    def running(self) -> int | None:
        """The recorded level that trust is about: one that diverged, else that with the most clean samples."""
        watched = self._present
        return watched.running if watched is not None else None

    @property
    def state(self) -> Drift | None:
        """How that level stands; None before its first clean sample."""
        watched = self._present
        return watched.watch.state if watched is not None else None

    def update(self, server: ServerMonitor) -> tuple[Change, ...]:
        """Take in what is new; answer the changes of state that it made."""
        if self._life is not None and self._life.continues is not None:
            self._return_to(self._life.continues)
        done = self._life.index if self._life is not None else 1
        changes: list[Change] = []
        for life in server.history.lives.since(done):
            if server.run is not None and life.index > server.run:
                break  # up to the run that figures are asked of
            if life.role is Role.SPECULATIVE:
                continue  # a reference is a baseline's
            if life is not self._life:
                self._begin(life)
            for running, watched in self._levels.items():
                if watched.revision != life.statistics.revision and life.statistics.has_faded(running):
                    watched.revision = life.statistics.revision  # what was taken in is no longer held: go on from here
                elif watched.revision != life.statistics.revision:
                    # A verdict changed after the fact: what was taken in is read again as it now stands.
                    told = watched.told
                    watched = self._levels[running] = self._watch(life, running, was_diverged=watched.was_diverged)
                    watched.told = told
                changes += self._consume(life, watched)
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
                sentence=not_recorded(reference, running),
            )
        if watched is None or recorded is None or life is None:
            return nothing_seen(reference)
        watch = watched.watch
        measured = self._measured(watched, recorded, level)
        deviation = measured / recorded.tok_s - 1 if measured is not None else None
        is_off = watch.state in (Drift.DIVERGED, Drift.DRIFTING)
        match = self._better(watched) if watch.state is Drift.DIVERGED else None
        view = TrustView(
            state=_STATES[watch.state],
            reference=reference.name,
            running=running,
            reference_tok_s=recorded.tok_s,
            measured_tok_s=measured,
            deviation=deviation,
            tolerance=reference.tolerance_at(watched.running),
            samples_seen=watch.seen,
            samples_needed=SAMPLES_NEEDED,
            since=watch.since,
            causes=self.causes(life, level) if is_off else (),
            direction=_direction(watch, deviation),
            better_match=match.name if match is not None else None,
            better_match_tok_s=match.tok_s if match is not None else None,
            evidence=watch.evidence,
        )
        return replace(view, sentence=sentence_of(view, watch.noise))

    def causes(self, life: Life, level: LevelFigures | None) -> tuple[Difference, ...]:
        """What differs from the reference's conditions, the likeliest cause first."""
        changed: tuple[Difference, ...] = ()
        watched = self._present
        if self._left is not None and watched is not None and _has_begun_so(watched):
            changed = compare(self._left[0].conditions, self._left[1].conditions)
        return causes_of(self.reference.fingerprint, life.conditions, changed, level)

    @property
    def _present(self) -> _Watched | None:
        seen = [watched for watched in self._levels.values() if watched.watch.seen]
        return max(seen, key=lambda watched: (watched.watch.state is Drift.DIVERGED, watched.watch.seen), default=None)

    def _begin(self, life: Life) -> None:
        before = self._levels
        diverged = [watched for watched in before.values() if watched.watch.is_diverged]
        if diverged and not any(map(_has_begun_so, diverged)):
            self._left = None  # it left in the middle of a life: no restart did it
        elif not diverged:
            if any(watched.watch.state is not Drift.WAITING for watched in before.values()):
                self._matched = self._life
            self._left = (self._matched, life) if self._matched is not None else None
        self._life = life
        self._levels = {}
        for level in self.reference.levels:
            known = before.get(level.running)
            was_diverged = known is not None and known.watch.is_diverged
            self._levels[level.running] = self._watch(life, level.running, was_diverged=was_diverged)

    def _return_to(self, life: Life) -> None:
        """What looked like another life turned out to be this one going on: it is read again, and nothing is told."""
        while life.continues is not None:
            life = life.continues
        self._begin(life)
        for watched in self._levels.values():
            self._consume(life, watched)

    def _watch(self, life: Life, running: int, *, was_diverged: bool) -> _Watched:
        level = self.reference.level_at(running)
        assert level is not None
        tolerance = self.reference.tolerance_at(running)
        watch = DriftWatch(level.step_ms, tolerance, level.sigma, was_diverged=was_diverged)
        return _Watched(running, watch, life.statistics.revision, was_diverged)

    def _consume(self, life: Life, watched: _Watched) -> list[Change]:
        """Feed the new clean samples; the changes of state that nobody was told yet."""
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
        changes = []
        for index, at, cycle_ms in sorted(fresh):
            watched.consumed = index
            change = watched.watch.add(at, cycle_ms)
            if watched.early is None and watched.watch.seen == SAMPLES_NEEDED:
                watched.early = at
            if change is not None:
                watched.made += 1
                if watched.made > watched.told:
                    watched.told = watched.made
                    changes.append(change)
        return changes

    def _measured(self, watched: _Watched, recorded: ReferenceLevel, level: LevelFigures | None) -> float | None:
        """The present speed: the level's estimate, or the recent samples' where the state rests on those."""
        overall = level.decode_tok_s if level is not None and level.running == watched.running else None
        recent_ms = watched.watch.recent_cycle_ms
        if recent_ms is None or overall is None or level is None or level.cycle_ms is None:
            return overall
        tolerance = self.reference.tolerance_at(watched.running)
        recent = overall * level.cycle_ms / recent_ms
        is_beyond = abs(overall / recorded.tok_s - 1) > tolerance
        if watched.watch.state is Drift.DIVERGED and is_beyond:
            # It left in the middle of its run: the estimate is of the time before, too.
            return overall if abs(recent / overall - 1) <= tolerance else recent
        if watched.watch.state is not Drift.DRIFTING and is_beyond == (watched.watch.state is Drift.DIVERGED):
            return overall
        return recent

    def _better(self, watched: _Watched) -> _Match | None:
        """Another recorded reference that the present speed fits."""
        recent_ms = watched.watch.recent_cycle_ms
        if recent_ms is None:
            return None
        found = better_match(self.reference, self._others(), watched.running, recent_ms)
        level = found.level_at(watched.running) if found is not None else None
        return _Match(found.name, level.tok_s) if found is not None and level is not None else None


def nothing_seen(reference: Reference) -> TrustView:
    """The view before the first clean baseline sample."""
    first = reference.levels[0]
    return TrustView(
        state=Trust.WAITING,
        reference=reference.name,
        running=first.running,
        reference_tok_s=first.tok_s,
        tolerance=reference.tolerance_at(first.running),
        samples_needed=SAMPLES_NEEDED,
        sentence=waiting(0),
    )


def _has_begun_so(watched: _Watched) -> bool:
    """Whether a level was off its reference from the first samples of its life on."""
    since = watched.watch.since
    return watched.was_diverged or (since is not None and watched.early is not None and since <= watched.early)


def _direction(watch: DriftWatch, deviation: float | None) -> str | None:
    if watch.state is Drift.DIVERGED:
        return "slower" if watch.is_slower else "faster"
    return None if not deviation else ("slower" if deviation < 0 else "faster")
