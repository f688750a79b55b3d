"""Makes the frozen picture of a session, and makes as little of it anew as it can."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specmon.analysis.comparison import Comparison
from specmon.analysis.drift import Change, Drift
from specmon.analysis.run import FIGURES_AGE
from specmon.monitor.axis import TimeAxis
from specmon.monitor.fleet import fleet_row, in_order
from specmon.monitor.headline import headline_of
from specmon.monitor.life import Life
from specmon.monitor.logtail import EMPTY_LOG, LogTail
from specmon.monitor.phasesview import verify_cost, what_if
from specmon.monitor.server import ServerMonitor
from specmon.monitor.serverview import freshness, level_view, live_speed, view_of
from specmon.monitor.snapshot import (
    AgainstReference,
    ComparisonView,
    Difference,
    EventLine,
    FleetRow,
    LevelVerdict,
    Link,
    LinkState,
    Mark,
    MarkKind,
    PhasesView,
    Playback,
    Role,
    ServerView,
    Severity,
    Snapshot,
    Trust,
    TrustView,
    Verdict,
    VerifyCost,
    WhatIf,
)
from specmon.monitor.trustwords import percent
from specmon.monitor.verdict import Judged
from specmon.references.diff import compare

if TYPE_CHECKING:
    from specmon.monitor.session import Session

_HELD_EVENTS = 200
# Beside the two that are compared, so many are drawn with every picture. Of more, each is worked out anew after a
# while: at once for all would be most of the work, for rows that are looked at now and then.
_FEW_OTHERS = 6
_OTHERS_EVERY_S = 2.0
_OTHERS_LACK = 20  # of their samples one in so many may still be missing in their figures
_WHOLE_AFTER_S = 1.0  # figures that lack a sample are made whole when nothing came for so long
_LASTING = frozenset(
    {
        "blob_data",
        "clock_backwards",
        "cut_columns",
        "kv_full",
        "no_date",
        "not_a_server_log",
        "ranks_missing",
        "role_conflict",
        "speculation_inactive",
        "stats_missing",
    }
)
_TOLD = {
    Drift.DIVERGED: (Severity.ALERT, "baseline {deviation} against reference {name}"),
    Drift.DRIFTING: (Severity.WARNING, "baseline drifts: {deviation} against reference {name}"),
    Drift.MATCHES: (Severity.OK, "baseline matches reference {name} ({deviation})"),
    Drift.RECOVERED: (Severity.OK, "baseline is back at reference {name} ({deviation})"),
}


@dataclass(frozen=True, slots=True)
class _Held:
    """A server's part of the picture, and what it was made of."""

    view: ServerView
    trust: TrustView
    key: tuple[object, ...]
    signs: tuple[object, ...]  # a change of these is shown at once
    made_at: float
    is_lagging: bool  # some samples are not in its figures yet


class Pictures:
    """The last picture, and the parts of it that may be used again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: Snapshot | None = None
        self._key: tuple[object, ...] = ()
        self._held: dict[str, _Held] = {}  # by server
        self._due = math.inf  # when a part that was used again is to be made anew, on the session's clock
        self._noticed: dict[str, set[str]] = {}  # notices that were told, by server
        self._notices: deque[EventLine] = deque(maxlen=_HELD_EVENTS)
        self._trust_events: deque[EventLine] = deque(maxlen=_HELD_EVENTS)
        self._differences: tuple[Difference, ...] = ()
        self._differences_key: tuple[object, ...] = ()
        self._log = EMPTY_LOG
        self._log_key: tuple[object, ...] = ()
        self._restart_texts: dict[object, str] = {}
        self._version = 0
        self._axis = TimeAxis()

    def take(self, now: float, playback: Playback | None, demo_note: str) -> Snapshot:
        """The picture at `now`."""
        session = self._session
        is_still = playback is not None and playback.is_paused  # what stands still is looked at closely
        key = (session.version, session.is_finished)
        if self._last is None or key != self._key or now >= self._due or (is_still and self._due < math.inf):
            is_quiet, self._key = key == self._key, key
            self._version += 1
            self._last = self._make(now, is_patient=not is_still, is_exact=is_quiet or is_still or session.is_finished)
        moving = replace(
            self._last,
            now=now + self._axis.ours_s,
            playback=playback,
            baseline=self._aged(self._last.baseline, now),
            speculative=self._aged(self._last.speculative, now),
            others=tuple(aged for view in self._last.others if (aged := self._aged(view, now)) is not None),
        )
        if demo_note != self._last.demo_note:
            self._version += 1
            self._last = replace(self._last, demo_note=demo_note)
        return replace(moving, demo_note=demo_note, version=self._version, fleet=self._fleet(moving))

    def follow(self, server: ServerMonitor) -> None:
        """Let the reference's watch see a server's new samples, and note what it says."""
        watch = self._session.trust_of(server)
        if watch is None:
            return
        for change in watch.update(server):
            self._tell(server, change, watch.reference.name)

    def forget_reference(self) -> None:
        """Nothing that was said of a reference holds any more."""
        self._held.clear()
        self._trust_events.clear()
        self._key = ()

    def replace_source(self, old: Set[str], told_again: Pictures | None) -> None:
        """Other servers stand for a source: what was seen of its old ones is forgotten."""
        for key in old:
            self._held.pop(key, None)
        kept = [event for event in self._trust_events if event.server not in old]
        told = () if told_again is None else told_again._trust_events
        self._trust_events = deque([*kept, *told], maxlen=_HELD_EVENTS)
        self._restart_texts.clear()
        self._key = self._log_key = self._differences_key = ()

    def _tell(self, server: ServerMonitor, change: Change, name: str) -> None:
        severity, text = _TOLD[change.state]
        line = text.format(deviation=percent(change.deviation), name=name)
        self._trust_events.append(EventLine(change.at, severity, server.key, line))
        if change.state is Drift.DIVERGED:
            server.history.chronicle.marks.append(Mark(change.at, MarkKind.DRIFT, line))

    def _make(self, now: float, *, is_patient: bool, is_exact: bool) -> Snapshot:
        session = self._session
        self._due = math.inf
        self._axis = session.axis
        baseline, speculative = session.pair()
        strangers = [server for server in session.servers if server not in (baseline, speculative)]
        is_patient = is_patient and len(strangers) > _FEW_OTHERS and not session.is_finished
        self._pace(strangers, has_many=len(strangers) > _FEW_OTHERS, is_patient=is_patient)
        judged = session.judge_pair(is_exact=is_exact)
        asked = session.running if isinstance(session.running, int) else None
        running = judged.comparison.running if judged is not None else asked
        names = session.names()
        trust = session.trust_view(baseline)
        differences = self._differing(baseline, speculative)
        comparison = None
        if judged is not None:
            comparison = replace(comparison_view(judged), checklist=session.checklist(judged, differences))
        left = self._view(baseline, names, running, now, is_exact=is_exact, is_compared=True)
        right = self._view(speculative, names, running, now, is_exact=is_exact, is_compared=True)
        cost, moved = costs_of(left, right, judged, trust)
        is_whole = is_exact and not is_patient
        parts = [self._view(server, names, None, now, is_exact=is_whole, is_patient=is_patient) for server in strangers]
        others = tuple(view for view in parts if view is not None)
        return Snapshot(
            title=session.title,
            mode=session.mode,
            now=now,
            headline=headline_of(left, right, comparison, judged, trust, others, differences),
            trust=trust,
            comparison=comparison,
            baseline=left,
            speculative=right,
            others=others,
            verify_cost=cost,
            what_if=moved,
            differences=differences,
            events=self._events(names),
            log=self._lines(names),
            log_revision=session.log.revision,
            logbook=session.open_log,
        )

    def _pace(self, strangers: Sequence[ServerMonitor], *, has_many: bool, is_patient: bool) -> None:
        """Of many servers, spare what nobody looks at."""
        pair = [server for server in self._session.pair() if server is not None]
        # Of a thousand lines a second nobody reads one: the log is that of the two that are compared.
        self._session.log.only = frozenset(server.key for server in pair) if has_many and pair else None
        for servers, one_in in ((pair, FIGURES_AGE), (strangers, _OTHERS_LACK if is_patient else FIGURES_AGE)):
            for server in servers:
                if server.life is not None:
                    server.life.let_figures_lag(one_in)
        for server in self._session.servers:
            server.history.trace.spare(has_many and server not in pair)

    def _view(
        self,
        server: ServerMonitor | None,
        names: dict[str, str],
        running: int | None,
        now: float,
        *,
        is_exact: bool,
        is_patient: bool = False,
        is_compared: bool = False,
    ) -> ServerView | None:
        if server is None:
            return None
        shift_s = self._axis.of(server.key)
        key = (server.version, names[server.key], running, self._session.is_finished, is_compared, shift_s)
        held = self._held.get(server.key)
        if held is not None and held.key == key and not (is_exact and held.is_lagging):
            return held.view
        signs = (names[server.key], self._session.is_finished, server.link, server.role, *self._signs_of(server))
        if is_patient and held is not None and held.signs == signs and held.view.level is not None:
            due = held.made_at + _OTHERS_EVERY_S
            if held.made_at <= now < due:
                self._due = min(self._due, due)
                return held.view
        view = view_of(
            server,
            names[server.key],
            now,
            running=running,
            reference=self._session.reference,
            is_finished=self._session.is_finished,
            is_compared=is_compared,
            is_exact=is_exact,
            shift_s=shift_s,
        )
        trust = self._session.trust_view(server) if view.role is not Role.SPECULATIVE else TrustView()
        # The first turns are spread, so that not all servers come due with the same picture.
        made_at = now if held is not None else now - len(self._held) % 8 / 8 * _OTHERS_EVERY_S
        is_lagging = server.life is not None and server.life.is_lagging
        if is_lagging and not is_exact and not is_patient:
            self._due = min(self._due, now + _WHOLE_AFTER_S)
        self._held[server.key] = _Held(view, trust, key, signs, made_at, is_lagging)
        self._note(view, now)
        return view

    def _signs_of(self, server: ServerMonitor) -> tuple[object, ...]:
        life, watch = server.life, self._session.trust_of(server)
        return () if life is None else (life.index, life.state, watch.state if watch is not None else None)

    def _fleet(self, picture: Snapshot) -> tuple[FleetRow, ...]:
        """A row for every server, from the views as they have aged."""
        views = (picture.baseline, picture.speculative, *picture.others)
        aged = {view.key: view for view in views if view is not None}
        sides = ((picture.baseline, Role.BASELINE), (picture.speculative, Role.SPECULATIVE))
        stands = {view.key: side for view, side in sides if view is not None}
        keys = [server.key for server in self._session.servers if server.key in aged]
        return in_order(fleet_row(aged[key], self._held[key].trust, stands.get(key)) for key in keys)

    def _note(self, view: ServerView, now: float) -> None:
        """A notice that lasts is an event at the moment when it first holds."""
        told = self._noticed.setdefault(view.key, set())
        server = self._session.server(view.key)
        for kind, text in zip(view.notice_kinds, view.notices, strict=True):
            # Others come and go with the first samples of a life, or are events already (restart, refused).
            if kind in _LASTING and kind not in told:
                told.add(kind)
                at = server.life.last_sample_at if server.life is not None else None
                line = EventLine(now if at is None else at, Severity.WARNING, view.key, text, None, at is None)
                self._notices.append(line)

    def _aged(self, view: ServerView | None, now: float) -> ServerView | None:
        if view is None:
            return None
        server = self._session.server(view.key)
        age_s, is_stale = freshness(server, now)
        link = server.link
        if self._session.mode == "replay" and link.state is not LinkState.ENDED:
            link = Link(LinkState.REPLAY)  # nothing connects: a log that has not begun is one that begins later
        live = live_speed(server, now)
        return replace(
            view,
            age_s=age_s,
            is_stale=is_stale,
            link=link,
            live_tok_s=live.tok_s if live is not None else None,
            live_requests=live.requests if live is not None else 0,
        )

    def _differing(self, baseline: ServerMonitor | None, speculative: ServerMonitor | None) -> tuple[Difference, ...]:
        if baseline is None or speculative is None or baseline.life is None or speculative.life is None:
            return ()
        lives = baseline.life, speculative.life
        key = tuple(life.conditions_key for life in lives)
        if key != self._differences_key:
            self._differences_key = key
            self._differences = compare(lives[0].conditions, lives[1].conditions, is_speculation_expected=True)
        return self._differences

    def _events(self, names: dict[str, str]) -> tuple[EventLine, ...]:
        lines = [line for server in self._session.servers for line in server.history.chronicle.events]
        lines += [*self._trust_events, *self._notices]
        lines += [
            EventLine(at, Severity.WARNING, server.key, self._restart_text(before, life))
            for server in self._session.servers
            for at, before, life in server.history.chronicle.restarts
        ]
        axis = self._axis
        placed = [(line.at + (axis.ours_s if line.is_ours else axis.of(line.server)), line) for line in lines]
        placed.sort(key=lambda each: each[0], reverse=True)
        return tuple(
            replace(line, at=at, server=names.get(line.server, line.server)) for at, line in placed[:_HELD_EVENTS]
        )

    def _restart_text(self, before: Life, life: Life) -> str:
        """What a restart changed, as far as both lives' conditions are known."""
        key = (before.conditions_key, life.conditions_key)
        if key not in self._restart_texts:
            if len(self._restart_texts) > 10 * _HELD_EVENTS:
                self._restart_texts.clear()
            self._restart_texts[key] = f"restarted{_changes(before, life)}"
        return self._restart_texts[key]

    def _lines(self, names: dict[str, str]) -> LogTail:
        session = self._session
        roles = {server.key: (names[server.key], server.role) for server in session.servers}
        key = (session.log.revision, roles, self._axis.shifts)
        if key != self._log_key:
            self._log_key = key
            marks = {server.key: server.mark_of for server in session.servers}
            self._log = session.log.lines(roles, marks, self._axis.shifts)
        return self._log


def costs_of(
    left: ServerView | None, right: ServerView | None, judged: Judged | None, trust: TrustView
) -> tuple[VerifyCost | None, WhatIf | None]:
    """What a verify costs in baseline steps, and the speed-up for the user to move."""
    if right is None:
        return None, None
    found = judged.comparison if judged is not None else None
    base, spec = (found.baseline, found.speculative) if found is not None else (None, None)
    is_same_level = base is not None and right.phases.is_at(base.running)
    step = base.cycle_ms if base is not None and is_same_level else None
    recorded = left.reference_cycle_ms if left is not None else None
    cost = verify_cost(left.phases if left is not None else PhasesView(), right.phases, step, recorded)
    if base is None or spec is None:
        return cost, None
    is_against = trust.state not in (Trust.MATCHES, Trust.RECOVERED, Trust.NO_REFERENCE)
    moved = what_if(
        base,
        spec,
        right.phases,
        cost,
        reference_step_ms=recorded if is_against else None,
        most_accept_len=right.launch.num_draft_tokens,
    )
    return cost, moved


_PLURALS = {"env": ("variable", "variables"), "flag": ("flag", "flags"), "version": ("version", "versions")}


def _changes(before: Life, life: Life) -> str:
    """ ": 2 flags and 1 variable differ"; nothing when no conditions are known."""
    if before.conditions.is_empty or life.conditions.is_empty:
        return ""
    unseen = _unseen(before, life)
    counts = Counter(
        difference.kind for difference in compare(before.conditions, life.conditions) if difference.weight != "noise"
    )
    if not counts:
        return f"; no flag differs{unseen}" if unseen else ", nothing that matters differs"
    words = [f"{count} {_PLURALS.get(kind, (kind, kind))[count > 1]}" for kind, count in counts.items()]
    return f": {' and '.join(words)} {'differ' if sum(counts.values()) > 1 else 'differs'}{unseen}"


def _unseen(before: Life, life: Life) -> str:
    """Which environment nobody read: a lost variable would be in it."""
    sides = (("earlier", before.conditions), ("present", life.conditions))
    missing = [word for word, each in sides if each.env is None or each.env_is_partial]
    if not missing:
        return ""
    return f", the {' and the '.join(missing)} environment {'is' if len(missing) == 1 else 'are'} not known"


def comparison_view(judged: Judged) -> ComparisonView:
    """The comparison as the screen shows it."""
    found = judged.comparison
    against = None
    if judged.against is not None:
        against = AgainstReference(
            speedup=judged.against.speedup,
            break_even_accept_len=judged.against.break_even_accept_len,
            headroom=judged.against.headroom,
            verdict=Verdict(judged.against.verdict),
            sentence=judged.against_sentence,
            tok_s=judged.against.recorded_tok_s,
            step_ms=judged.against.recorded_cycle_ms,
        )
    return ComparisonView(
        verdict=Verdict(found.verdict),
        sentence=judged.sentence,
        running=found.running,
        running_range=found.running_range,
        speedup=found.speedup,
        speedup_ci95=found.ci95,
        delivered_speedup=found.delivered_speedup,
        accept_len=found.accept_len,
        break_even_accept_len=found.break_even_accept_len,
        headroom=found.headroom,
        baseline_clean=found.baseline.clean if found.baseline is not None else 0,
        speculative_clean=found.speculative.clean if found.speculative is not None else 0,
        same_load=judged.same_load,
        against_reference=against,
        levels=tuple(_level_verdict(level) for level in judged.levels),
        reasons=judged.reasons,
        baseline_level=level_view(found.baseline) if found.baseline is not None else None,
        speculative_level=level_view(found.speculative) if found.speculative is not None else None,
        between=found.between,
    )


def _level_verdict(found: Comparison) -> LevelVerdict:
    assert found.baseline is not None
    assert found.speculative is not None
    return LevelVerdict(
        running=found.baseline.running,
        verdict=Verdict(found.verdict) if found.speedup is not None else None,
        speedup=found.speedup,
        delivered_speedup=found.delivered_speedup,
        baseline_clean=found.baseline.clean,
        speculative_clean=found.speculative.clean,
        baseline_tok_s=found.baseline.decode_tok_s,
        speculative_tok_s=found.speculative.decode_tok_s,
    )
