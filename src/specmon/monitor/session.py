"""A session of several servers: who is the baseline, whether it can be trusted, and who is faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from specmon.analysis.load import Band
from specmon.formats.reader import LogReader
from specmon.monitor.axis import TimeAxis, axis_of
from specmon.monitor.inlet import Inlet
from specmon.monitor.life import Life
from specmon.monitor.loglines import LogBuffer
from specmon.monitor.method import ClientEvidence, client_finding
from specmon.monitor.names import name_servers
from specmon.monitor.notices import Notice
from specmon.monitor.server import Past, ServerMonitor
from specmon.monitor.snapshot import CheckPoint, Difference, Playback, Role, Severity, Snapshot, Trust, TrustView
from specmon.monitor.verdict import Judged, judge, obstacles_of
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import SourceEvent

if TYPE_CHECKING:
    from specmon.monitor.logpage import LogBook
    from specmon.monitor.picture import Pictures
    from specmon.monitor.rebuild import Journal
    from specmon.monitor.trust import TrustWatch
    from specmon.references.fingerprint import Fingerprint
    from specmon.references.model import Reference


_CHOOSE = {
    Role.BASELINE: "Choose one with --baseline to compare.",
    Role.SPECULATIVE: "Choose one with --spec, or rank them with `specmon compare`.",
}
_LOAD_BOTH = "Load both servers with the same number of clients, or give another --run, --since or --until."


@dataclass(slots=True)
class _Entry:
    server: ServerMonitor
    label: str | None
    trust: TrustWatch | None


class Session:
    """Servers by key. Feed it from one task; ask it for a picture or a report at any moment."""

    def __init__(
        self,
        *,
        reference: Reference | None = None,
        others: Callable[[], tuple[Reference, ...]] = tuple,
        running: int | Band | None = None,
        title: str = "specmon",
        mode: str = "live",
        reader: Callable[[], LogReader] = LogReader,
        run: int | None = None,
        warm_up_s: float = 0.0,
        is_watched: bool = True,
        is_measured: bool = True,
    ) -> None:
        self.reference = reference
        self._others = others  # references that were recorded beside it
        self.running = running  # the level or band that the user asks for
        self.title = title
        self.mode = mode
        self.run = run  # the life of each server that figures are asked of; None: the newest
        self._warm_up_s = warm_up_s  # how long after ready no sample counts
        self.is_finished = False
        self.clients: tuple[ClientEvidence, ...] = ()  # results of load generators, to check the logs by
        self.log = LogBuffer()
        self._sides: dict[Role, str] = {}  # who was put on which side, while the session runs
        self._choices = 0
        self._is_watched = is_watched  # False: nobody will ask for a picture, only for a report at the end
        self._is_measured = is_measured  # False: nobody will ask for figures either, only which servers there are
        self._reader = reader
        self._entries: dict[str, _Entry] = {}
        self._journals: dict[str, Journal] = {}  # of sources whose past is being read
        self._inlets: dict[str, Inlet] = {}  # by the key of the source, which is that of its first server

    # -- in --------------------------------------------------------------------------------------

    def add(self, key: str, source: str, *, role: Role | None = None, label: str | None = None) -> ServerMonitor:
        """Announce a source, as one server, before its first byte; `role` is what the user says it is."""
        server = self._enter(key, source, role, label)

        def another(number: str) -> ServerMonitor:
            return self._enter(f"{key}/{number}", source, role, label)

        self._inlets[key] = Inlet(server, another, reader=self._reader(), log=self.log if self._is_watched else None)
        return server

    def _enter(self, key: str, source: str, role: Role | None, label: str | None) -> ServerMonitor:
        server = ServerMonitor(key, source, declared=role, is_watched=self._is_watched, is_measured=self._is_measured)
        server.run = self.run
        server.history.lives.is_bounded = server.history.lives.is_bounded and self.run is None
        server.history.lives.warm_up_s = self._warm_up_s
        self._entries[key] = _Entry(server, label, self._new_watch())
        return server

    def _new_watch(self) -> TrustWatch | None:
        if self.reference is None:
            return None
        from specmon.monitor.trust import TrustWatch

        return TrustWatch(self.reference, self._others)

    def hold_against(self, reference: Reference | None, others: Callable[[], tuple[Reference, ...]] = tuple) -> None:
        """Another reference from now on, or none; what was seen so far is held against it at once."""
        self.reference, self._others = reference, others
        self._choices += 1
        if "_pictures" in self.__dict__:
            self._pictures.forget_reference()
        for entry in self._entries.values():
            entry.trust = self._new_watch()
            entry.server.history.chronicle.withdraw_drifts()
            self._follow(entry.server)

    def feed(self, key: str, event: SourceEvent) -> None:
        """Take what one source says; an unknown key is a new source."""
        if key not in self._inlets:
            self.add(key, key)
        if key in self._journals:
            self._journals[key].note(event)
        inlet = self._inlets[key]
        inlet.feed(event)
        for server in inlet.servers:
            self._follow(server)

    def _follow(self, server: ServerMonitor) -> None:
        if self.reference is not None:
            self._pictures.follow(server)

    @cached_property
    def _pictures(self) -> Pictures:
        from specmon.monitor.picture import Pictures  # a report needs none

        return Pictures(self)

    def open_log(self) -> LogBook:
        """The lines of all servers, for a screen that shows them."""
        return self._logbook

    @cached_property
    def _logbook(self) -> LogBook:
        from specmon.monitor.logbook import SessionLog  # numpy and RE2, for whoever opens the log

        return SessionLog(self)

    def new_reader(self) -> LogReader:
        """A reader that knows the same formats as those of the sources."""
        return self._reader()

    def attach_fingerprint(self, key: str, fingerprint: Fingerprint, process: str = "") -> None:
        """Conditions of a server that were read from outside its log; `process` tells one process from the next."""
        server = self._entries[key].server if key in self._entries else self.add(key, key)
        server.attach_fingerprint(fingerprint, process)
        self._note(key, lambda session: session.attach_fingerprint(key, fingerprint, process))

    def attach_page(self, key: str, page: Scrape | PageRefused | None) -> None:
        """What a look at the metrics page of a server brought, as its log went on."""
        self._entries[key].server.look(page)
        self._note(key, lambda session: session.attach_page(key, page))

    def attach_client(self, evidence: ClientEvidence) -> None:
        """What a load generator measured of a server."""
        self.clients = (*self.clients, evidence)
        self._entries[evidence.server].server.version += 1

    @property
    def axis(self) -> TimeAxis:
        """The one clock that all times are shown on: that of the first log side by side; a replay has its own."""
        first = [server for server in self.pair() if server is not None]
        rest = [server for server in self.servers if server not in first]
        return axis_of([*first, *rest], is_ours=self.mode == "replay")

    def know_clock(self, key: str, ahead_s: float | None) -> None:
        """How far a log's clock is ahead of the session's, for whoever knows; an unknown key is a new source."""
        if key not in self._inlets:
            self.add(key, key)
        for server in self._inlets[key].servers:
            server.known_ahead_s = ahead_s

    def clients_of(self, key: str) -> tuple[ClientEvidence, ...]:
        """The results of those who measured one server."""
        return tuple(evidence for evidence in self.clients if evidence.server == key)

    def tell(self, key: str, at: float, text: str) -> None:
        """Something about a server that its log does not say and a reader must know: a line of the event list."""
        server = self._entries[key].server
        server.history.chronicle.tell(at, Severity.WARNING, text, is_ours=True)
        server.version += 1
        self._note(key, lambda session: session.tell(key, at, text))

    def attach_launch(self, key: str, launched: Life) -> bool:
        """A life that stands far before what was read of a log: its launch line holds until a later one is read.

        False when no life of this engine lacks one.
        """
        server = self._entries[key].server
        life = server.lives[0] if server.lives else None
        if life is None or not life.begun_by(launched):
            return False
        server.version += 1
        self._note(key, lambda session: session.attach_launch(key, launched))
        return True

    def note_past(self, key: str, past: Past | None) -> None:
        """How much of a log lies before what was read of it."""
        for server in self._inlets[key].servers:
            server.past = past
            server.version += 1

    # -- a source told again -------------------------------------------------------------------------

    def remember(self, key: str) -> None:
        """Keep what is told of a source from now on, until `forget`, so that it can be told again (see `rebuild`)."""
        from specmon.monitor.rebuild import Journal

        self._journals[key] = Journal()

    def forget(self, key: str) -> None:
        """A source will not be told again."""
        self._journals.pop(key, None)

    def journal_of(self, key: str) -> Journal | None:
        """What was told of a source since `remember`."""
        return self._journals.get(key)

    def _note(self, key: str, told: Callable[[Session], object]) -> None:
        if key in self._journals:
            self._journals[key].note(told)

    def twin(self, key: str, log: LogBuffer | None = None) -> Session:
        """Another session in which one source is announced as it was here, and nothing was heard of it.

        Its lines go into `log`; ours has the newest ones already.
        """
        twin = Session(
            reference=self.reference,
            others=self._others,
            running=self.running,
            mode=self.mode,
            reader=self._reader,
            run=self.run,
            warm_up_s=self._warm_up_s,
            is_watched=self._is_watched,
            is_measured=self._is_measured,
        )
        entry = self._entries[key]
        server = twin.add(key, entry.server.source, role=entry.server.declared, label=entry.label)
        server.ended_run_at = entry.server.ended_run_at
        twin._inlets[key].log = log
        return twin

    def adopt(self, key: str, twin: Session) -> None:
        """Let what a twin has heard of a source take its place here."""
        old = {server.key for server in self._inlets[key].servers}
        newest = sum(self._entries[each].server.version for each in old) + 1
        entries: dict[str, _Entry] = {}
        for each, entry in self._entries.items():
            if each == key:
                entries |= twin._entries
            elif each not in old:
                entries[each] = entry
        past, declared = self._entries[key].server.past, self._entries[key].server.declared
        is_same_reference = twin.reference is self.reference
        for entry in twin._entries.values():
            entry.server.version += newest  # pictures of the old ones are none of theirs
            entry.server.past, entry.server.declared = past, declared
            if not is_same_reference:  # another was chosen meanwhile
                entry.trust = self._new_watch()
                entry.server.history.chronicle.withdraw_drifts()
        self._entries = entries
        inlet = self._inlets[key] = twin._inlets[key]
        first = self._entries[key]
        inlet.log = self.log if self._is_watched else None
        inlet.another = lambda number: self._enter(
            f"{key}/{number}", first.server.source, first.server.declared, first.label
        )
        if "_pictures" in self.__dict__:
            self._pictures.replace_source(old, twin._pictures if is_same_reference else None)
        if not is_same_reference:
            for entry in twin._entries.values():
                self._follow(entry.server)

    def choose_side(self, key: str, role: Role) -> None:
        """Of several servers of a role, this one is meant; the others keep their rows."""
        for entry in self._entries.values():
            server = entry.server
            wanted = role if server.key == key else None if server.declared is role else server.declared
            if server.declared is not wanted:
                server.declared = wanted
                server.version += 1

    def put(self, key: str, side: Role) -> None:
        """Let a server stand on a side of the comparison, whatever its role; it leaves the other one."""
        self._sides = {role: chosen for role, chosen in self._sides.items() if chosen != key and role is not side}
        self._sides[side] = key
        self._choices += 1

    def mark_unreadable(self, key: str, source: str, reason: str) -> None:
        """A source that cannot be opened is a server of which only that is known."""
        server = self._entries[key].server if key in self._entries else self.add(key, source)
        server.unreadable = reason
        server.version += 1

    def finish(self, key: str | None = None) -> None:
        """One source has ended, or all have."""
        for source, inlet in self._inlets.items():
            if key in (None, source):
                inlet.finish()
                for server in inlet.servers:
                    self._follow(server)
        self.is_finished = key is None or self.is_finished

    # -- out -------------------------------------------------------------------------------------

    @property
    def servers(self) -> tuple[ServerMonitor, ...]:
        """All servers: by source in the order in which these were announced, by their first lines within one."""
        return tuple(entry.server for entry in self._ordered())

    def _ordered(self) -> list[_Entry]:
        if len(self._entries) == len(self._inlets):
            return list(self._entries.values())
        return [
            self._entries[server.key]
            for inlet in self._inlets.values()
            for server in sorted(inlet.servers, key=lambda server: server.first_at or 0)
        ]

    @property
    def version(self) -> int:
        """Grows with everything that is fed."""
        return sum(entry.server.version for entry in self._entries.values()) + len(self._entries) + self._choices

    def names(self, *, by_log: bool = False) -> dict[str, str]:
        """What each server is called, by key; `by_log` prefers its log's name to its address."""
        entries = self._ordered()
        servers, labels = [entry.server for entry in entries], [entry.label for entry in entries]
        names = name_servers(servers, labels, by_log=by_log)
        return {entry.server.key: name for entry, name in zip(entries, names, strict=True)}

    def of_role(self, role: Role) -> tuple[ServerMonitor, ...]:
        """The servers on one side."""
        return tuple(server for server in self.servers if server.role is role)

    def side(self, role: Role) -> tuple[ServerMonitor, ...]:
        """The servers that a comparison may take for one side: the one that the user chose, else all of the role."""
        servers = self.of_role(role)
        chosen = tuple(server for server in servers if server.declared is role)
        return chosen if len(servers) > 1 and len(chosen) == 1 else servers

    def server(self, key: str) -> ServerMonitor:
        """One server by its key."""
        return self._entries[key].server

    def label_of(self, key: str) -> str | None:
        """What the user calls a server; None when the logs are to name it."""
        return self._entries[key].label

    def run_index(self, key: str) -> int | None:
        """Which life of a server is the current one, counted from 1; None before its first line."""
        life = self._entries[key].server.life if key in self._entries else None
        return None if life is None else life.index

    def trust_of(self, server: ServerMonitor) -> TrustWatch | None:
        """The watch over one server; None without a reference."""
        return self._entries[server.key].trust

    def trust_view(self, baseline: ServerMonitor | None, *, is_exact: bool = False) -> TrustView:
        """How the baseline stands against the reference; "no reference" when none was asked for."""
        if self.reference is None:
            return TrustView()
        watch = self.trust_of(baseline) if baseline is not None else None
        if watch is None or baseline is None or baseline.life is None:
            from specmon.monitor.trust import nothing_seen

            return nothing_seen(self.reference)
        if (misfit := self.reference_misfit(baseline)) is not None:
            return TrustView(state=Trust.NO_REFERENCE, reference=self.reference.name, sentence=misfit)
        figures = baseline.life.figures(is_exact=is_exact)
        running = watch.running
        return watch.view(baseline, figures.level_at(running) if running is not None else figures.main_level)

    def pair(self) -> tuple[ServerMonitor | None, ServerMonitor | None]:
        """The two that stand side by side: who was put there, else the first of each role."""
        put = {role: self._entries[key].server for role, key in self._sides.items() if key in self._entries}
        taken = list(put.values())
        for role in (Role.BASELINE, Role.SPECULATIVE):
            if role not in put and (free := [server for server in self.side(role) if server not in taken]):
                put[role] = free[0]
        return put.get(Role.BASELINE), put.get(Role.SPECULATIVE)

    def judge(self, *, is_exact: bool = True) -> Judged | None:
        """The comparison; None unless exactly one server of each role was given."""
        sides = self.side(Role.BASELINE), self.side(Role.SPECULATIVE)
        if len(sides[0]) != 1 or len(sides[1]) != 1:
            return None
        return self.judge_pair(is_exact=is_exact)

    def judge_pair(self, *, is_exact: bool = True) -> Judged | None:
        """The comparison of the two that stand side by side; None when one is missing."""
        baseline, speculative = self.pair()
        if baseline is None or speculative is None or baseline.life is None or speculative.life is None:
            return None
        return judge(
            baseline.life,
            speculative.life,
            engines=(baseline.engine, speculative.engine),
            reference=self.reference if self.reference_misfit(baseline) is None else None,
            running=self.running,
            is_exact=is_exact,
            obstacles=obstacles_of(baseline.role, speculative.role) if self._sides else (),
        )

    def checklist(self, judged: Judged, differences: tuple[Difference, ...]) -> tuple[CheckPoint, ...]:
        """The four assumptions behind a comparison of the two that stand side by side."""
        from specmon.monitor.checklist import checklist_of  # a single server needs none

        baseline, speculative = self.pair()
        if baseline is None or speculative is None or baseline.life is None or speculative.life is None:
            return ()
        return checklist_of(
            baseline.life,
            speculative.life,
            judged,
            trust=None if self.reference is None else self.trust_view(baseline, is_exact=self.is_finished),
            differences=differences,
            clients=(self.clients_of(baseline.key), self.clients_of(speculative.key)),
            is_level_asked=self.running is not None,
        )

    def reference_misfit(self, baseline: ServerMonitor) -> str | None:
        """Why the reference is none for this server; None when it may be."""
        if self.reference is None:
            return None
        from specmon.monitor.misfit import misfit_of

        return misfit_of(self.reference, baseline)

    def notices(self) -> tuple[Notice, ...]:
        """About the question as a whole."""
        found = []
        sides = {role: self.side(role) for role in (Role.BASELINE, Role.SPECULATIVE)}
        names = self.names()
        for role, servers in sides.items():
            if len(servers) > 1:
                listed = ", ".join(names[server.key] for server in servers)
                found.append(
                    Notice(
                        f"several_{role}",
                        f"{len(servers)} {role} servers were given ({listed}). {_CHOOSE[role]}",
                    )
                )
        if all(len(servers) == 1 for servers in sides.values()):
            judged = self.judge()
            if judged is not None and judged.comparison.baseline is None:
                found.append(Notice("no_common_level", f"{judged.sentence}. {_LOAD_BOTH}"))
        if self.reference is not None and (baseline := self.pair()[0]) is not None:
            from specmon.monitor.misfit import later_than

            if (misfit := self.reference_misfit(baseline)) is not None:
                found.append(Notice("reference_misfit", f"{misfit[:1].upper()}{misfit[1:]}."))
            if (later := later_than(self.reference, baseline)) is not None:
                found.append(Notice("reference_younger", later))
        for evidence in self.clients:
            finding = client_finding(evidence)
            if finding.state != "ok":
                found.append(Notice("client_disagrees", f"{names[evidence.server]}: {finding.text}."))
        return tuple(found)

    def snapshot(self, now: float, *, playback: Playback | None = None, demo_note: str = "") -> Snapshot:
        """A picture for the screen at `now` on the session's clock; cheap when nothing is new."""
        return self._pictures.take(now, playback, demo_note)
