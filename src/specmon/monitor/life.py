"""One life of a server process: its launch, its state, its events, its statistics."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from specmon.analysis.counters import Reading, reading_of
from specmon.analysis.countertimes import CounterTimes
from specmon.analysis.drafttimes import DraftTimes
from specmon.analysis.figures import LevelFigures, PhaseFigures, RunFigures
from specmon.analysis.horizon import Horizon
from specmon.analysis.load import Band
from specmon.analysis.phasehistory import PhaseHistory, PhaseWindow
from specmon.analysis.phasetimes import PhaseSource, PhaseTimes, RefusedLines
from specmon.analysis.rules import Cadence
from specmon.analysis.run import FIGURES_AGE, RunStatistics
from specmon.analysis.steps import StepTimes
from specmon.events import Crashed, DraftsTimed, Habits, LogEvent, PhasesTimed
from specmon.monitor.happening import Happening, shorten
from specmon.monitor.launch import DEFAULT_LOG_INTERVAL, Launch
from specmon.monitor.moved import LastShift
from specmon.monitor.snapshot import Role, RunState
from specmon.monitor.writers import Writers
from specmon.scrape import PageRefused, Scrape

if TYPE_CHECKING:
    from specmon.references.fingerprint import Fingerprint

INACTIVE_BELOW = 1.02  # accept length up to which nothing is gained
_ENOUGH_DRAFTS = 200


class Life:
    """Grows with the lines of one server process; what it says of itself follows from what it has seen."""

    def __init__(self, index: int, *, warm_up_s: float = 0.0, horizon: Horizon | None = None) -> None:
        """`horizon`: how much of the past is held whole; None: all of it."""
        self.index = index
        self.launch: Launch | None = None
        self.launched_at: float | None = None
        self.is_launch_far = False  # its launch line stands far before it, and a nearer one may lie unread between
        self.ready_at: float | None = None
        self.first_sample_at: float | None = None
        self.last_sample_at: float | None = None
        self.last_stats_at: float | None = None
        self.utc_offset_s: int | None = None  # where a stamp of this life carries a zone
        self.last_running: int | None = None
        self.env: dict[str, str] = {}
        self.happenings: list[Happening] = []
        self.statistics = RunStatistics(Cadence(warm_up_s=warm_up_s), horizon=horizon)
        self.last_shift = LastShift()
        self._is_bounded = horizon is not None
        self.habits = Habits()
        self.draft_times = DraftTimes()
        self.fingerprint: Fingerprint | None = None
        self._conditions: tuple[tuple[int, int, int, int], Fingerprint] | None = None
        self.process = ""  # which process the fingerprint was read from
        self.server_pid: int | None = None  # of `Started server process`
        self.stats_pids: dict[int, float] = {}  # pid in the prefix of statistics lines: their last time
        self.stats_tags: set[str] = set()  # ranks of those lines
        self.writers = Writers()
        self.statistics_off: str | None = None  # the server's own word for why it prints none
        self.step_times = StepTimes()
        self.phase_times = PhaseTimes()
        self.phases_refused = RefusedLines()
        self.phase_history = PhaseHistory()  # of lines of the log; the counters keep their own
        self.counters = CounterTimes()
        self.latest_reading: Reading | None = None  # of the metrics page, as long as that is given
        self.draft_steps: int | None = None  # k, as a draft line shows it by its positions
        self.kv_full = 0  # samples with a full cache and requests waiting
        self.continues: Life | None = None  # the life that this one turned out to be a part of
        self.is_ready = False
        self._has_stats = False
        self._stats_since_ready = False
        self._stats_since_stop = False
        self._is_stopping = False
        self._is_crashed = False
        self._idle_ranks: set[str] = set()
        self._has_exited = False
        self._is_followed = False
        self._figures: RunFigures | None = None
        self._figures_key = (-1, -1, -1)
        self._are_figures_exact = False
        self._band: tuple[tuple[int, int, Band], LevelFigures] | None = None  # the band asked for last

    # -- what the log says ---------------------------------------------------------------------

    def launched(self, at: float | None, launch: Launch) -> None:
        """The launch line."""
        self.launch = launch
        self.launched_at = at
        self.happened(Happening("launch", at, detail=launch.model or ""))
        self._apply_launch()

    def launch_continued(self, launch: Launch) -> None:
        """More of a launch record that came in pieces."""
        self.launch = launch
        self._apply_launch()

    def begun_by(self, earlier: Life) -> bool:
        """Take the launch of a life that stands far before this one in the log, if this one shows none of its own."""
        if self.launch is not None or earlier.launch is None:
            return False
        self.launch, self.launched_at = earlier.launch, earlier.launched_at
        self.is_launch_far = True
        self.env = {**earlier.env, **self.env}
        self._apply_launch()
        return True

    def _apply_launch(self) -> None:
        launch = self.launch or Launch()
        interval = launch.log_interval or self.habits.cycles_per_sample or DEFAULT_LOG_INTERVAL
        self.statistics.cadence = replace(self.statistics.cadence, cycles_per_sample=interval)
        if launch.proposes_drafts:
            self.statistics.turn_speculative()

    def set_habits(self, habits: Habits) -> None:
        """How the engine's samples are to be read."""
        if habits is not self.habits:
            self.habits = habits
            self.statistics.cadence = replace(self.statistics.cadence, covers=habits.covers)
            if habits.cycles_per_sample and (self.launch is None or self.launch.log_interval is None):
                self.statistics.cadence = replace(self.statistics.cadence, cycles_per_sample=habits.cycles_per_sample)
            if not habits.tells_acceptance:
                self.statistics.is_acceptance_told = False

    def became_ready(self, event: LogEvent) -> None:
        """The server answers requests."""
        if self.ready_at is None:
            self.ready_at = event.at
        self.is_ready = True
        self._stats_since_ready = False
        self.statistics.cadence = replace(self.statistics.cadence, ready_at=self.ready_at)
        self.happened(Happening("ready", event.at, event.rank))

    def stats_line(self, at: float, tag: str = "") -> None:
        """A decode or prefill line, whichever."""
        self._has_stats = True
        self._stats_since_ready = True
        self._stats_since_stop = True
        if self._idle_ranks:
            self._idle_ranks = self._idle_ranks - {tag} if tag else set()
        if at == at:
            self.last_stats_at = at

    def sampled(self, at: float, running: int) -> None:
        """A decode line with its figures."""
        self.last_running = running
        if at == at:
            if self.first_sample_at is None:
                self.first_sample_at = at
            self.last_sample_at = at

    def drafts_timed(self, event: DraftsTimed) -> None:
        """A drafter's counters, to be set against the requests that have ended."""
        statistics = self.statistics
        self.draft_times.add(event, requests=statistics.samples, cycles=statistics.cycles)

    def phases_timed(self, event: PhasesTimed, at: float | None) -> None:
        """An instrumented server says where the time of some cycles went; `at` is the log's time at that line."""
        if {"draft", "verify"} & event.ms.keys():
            self.statistics.turn_speculative()
        sources: dict[str, PhaseSource] = {"probe": "probe", "log": "log"}
        source = sources.get(event.source, "custom")
        self.phase_times.add(source, event.running, event.cycles, event.cycle_ms, event.ms)
        if at is not None:
            window = PhaseWindow(at, event.cycles, known(event.cycle_ms), event.ms)
            self.phase_history.add(source, event.running, window)

    def looked_at(self, page: Scrape | PageRefused | None) -> None:
        """The server's metrics page at a moment; None when it gave none. One counter that is none spoils a page."""
        self.latest_reading = None
        if page is None:
            return
        if isinstance(page, PageRefused):
            self.counters.refuse(page.reason)
        elif page.refused_figures:
            self.counters.refuse("figure")
        else:
            self.latest_reading = reading_of(page)
            self.counters.add(self.latest_reading)

    def stop_requested(self, event: LogEvent, detail: str) -> bool:
        """A signal asked the server to end; nothing that follows is a crash. False when that is known already."""
        if self._is_stopping or self._is_crashed:
            return False
        self._is_stopping = True
        self._stats_since_stop = False
        self.happened(Happening("exit", event.at, event.rank, detail=detail))
        return True

    def crashed(self, event: Crashed) -> bool:
        """An exception or a dead child; False when it belongs to an orderly stop."""
        if self._is_stopping or self._has_exited:
            return False
        if event.cause == "death" and self._is_crashed:
            return False  # Python, the C++ runtime and the shell tell of the same end, each in its words
        self._is_crashed = True
        self.happened(Happening("crash", event.at, event.rank, detail=event.detail or event.cause))
        self.statistics.retract(event.rank)
        return True

    def crash_explained(self, detail: str) -> bool:
        """The exception behind the last crash; False when there is no crash to explain."""
        last = next((each for each in reversed(self.happenings) if each.kind == "crash"), None)
        if last is None:
            return False
        self.happenings[self.happenings.index(last)] = replace(last, detail=f"{last.detail}: {detail}")
        return True

    def exited(self, event: LogEvent, detail: str) -> None:
        """The process says that it ends."""
        if not self._is_stopping and not self._is_crashed and not self._has_exited:
            self.happened(Happening("exit", event.at, event.rank, detail=detail))
        self._has_exited = True
        self._stats_since_stop = False

    def went_idle(self, tag: str = "") -> None:
        """The log itself says that nothing is served, by one rank or by all."""
        self._idle_ranks.add(tag)
        self.statistics.went_idle(tag)

    def happened(self, happening: Happening) -> None:
        """Something rare, in the order of its lines. Of very many the first and the newest are held."""
        self.happenings.append(happening)
        if self._is_bounded:
            shorten(self.happenings)

    def settle(self, earlier: Life | None) -> None:
        """It ended some lives ago: its figures stay, what they were made of need not. `earlier` came before it."""
        self.figures()
        self.statistics.settle()
        self._conditions = None
        if earlier is not None and earlier.launch == self.launch:
            self.launch = earlier.launch  # one for all

    def was_followed(self) -> None:
        """Another life began in the same log."""
        self._is_followed = True

    def take_over(self, later: Life) -> bool:
        """A life that turned out to be this one going on; False when too much of it has passed."""
        if not self.statistics.take_over(later.statistics):
            return False
        self.happenings += later.happenings
        self.stats_pids.update(later.stats_pids)
        self.writers.take_over(later.writers)
        self.env.update(later.env)
        if not self.counters.has_readings:
            self.counters = later.counters
        self.kv_full += later.kv_full
        self.utc_offset_s = self.utc_offset_s if self.utc_offset_s is not None else later.utc_offset_s
        self._is_followed = False
        if later.last_stats_at is not None:
            self.stats_line(later.last_stats_at)
        if later.last_sample_at is not None and later.last_running is not None:
            self.sampled(later.last_sample_at, later.last_running)
        later.continues = self
        return True

    # -- what follows from it ------------------------------------------------------------------

    @property
    def state(self) -> RunState:
        """What the process does after its last line."""
        if self._is_crashed:
            return RunState.CRASHED
        if self._is_followed or ((self._is_stopping or self._has_exited) and not self._stats_since_stop):
            return RunState.EXITED
        if self._idle_ranks and ("" in self._idle_ranks or self._idle_ranks.issuperset(self.statistics.tags)):
            return RunState.IDLE
        is_serving = self._stats_since_ready if self.is_ready else self._has_stats
        if is_serving and (self.is_ready or self.launch is None or self.statistics.samples):
            return RunState.SERVING
        if self.is_ready:
            return RunState.SERVING if self.statistics.samples else RunState.READY
        return RunState.STARTING if self.launch is not None else RunState.UNKNOWN

    @property
    def has_ended(self) -> bool:
        """No more can come of it."""
        return self.state in (RunState.CRASHED, RunState.EXITED)

    @property
    def is_blank(self) -> bool:
        """Nothing that a launch line could not precede was seen."""
        has_ended = self._is_crashed or self._is_stopping or self._has_exited
        return not (self.launch or self._has_stats or self.is_ready or has_ended)

    @property
    def is_established(self) -> bool:
        """A sample or the ready line was seen: another process is then another life."""
        return self.is_ready or self.statistics.samples > 0 or self.first_sample_at is not None

    @property
    def has_served(self) -> bool:
        """It was ready, and has worked since."""
        return self.is_ready and self._stats_since_ready

    @property
    def role(self) -> Role:
        """What the log itself shows it to be."""
        if self.statistics.is_speculative:
            return Role.SPECULATIVE
        if self.launch is not None and self.launch.says_no_speculation:
            return Role.BASELINE
        return Role.BASELINE if self.statistics.samples and self.statistics.is_acceptance_told else Role.UNKNOWN

    @property
    def speculation(self) -> str:
        """active, inactive, off or unknown (`inactive`: it runs and gains nothing)."""
        if not self.statistics.is_speculative:
            return "off" if self.role is Role.BASELINE else "unknown"
        figures = self.figures(is_exact=False)  # but for the levels, it is
        if figures.accept_len is None or figures.drafts is None:
            return "unknown"
        if figures.accept_len > INACTIVE_BELOW:
            return "active"
        return "inactive" if figures.drafts >= _ENOUGH_DRAFTS else "unknown"

    @property
    def caveat(self) -> str | None:
        """What a reader must know about the figures, whatever they are."""
        if self.launch is not None and self.launch.is_ngram and self.statistics.samples:
            return (
                "n-gram drafts: vLLM counts only the cycles that had a draft, so the accept length is per drafting "
                "cycle and the cycle time an upper bound; the throughput holds"
            )
        return None

    @property
    def phases(self) -> PhaseFigures | None:
        """Where the time of a cycle goes; None when neither the metrics nor the log tell."""
        if self.counters.is_told and (counted := self.counters.phases(*self._identity())) is not None:
            return counted
        return self.logged_phases

    def _identity(self) -> tuple[dict[int, float], float | None]:
        """The cycle that follows from throughput and accept length: by running requests, and of the main level."""
        level = self.figures().main_level
        identity = None
        if level is not None and level.accept_len is not None and level.tok_s.median:
            identity = 1000 * level.accept_len * level.running / level.tok_s.median
        return {at.running: at.cycle_ms for at in self.figures().levels if at.cycle_ms is not None}, identity

    @property
    def logged_phases(self) -> PhaseFigures | None:
        """Where the time of a cycle goes as lines of the log tell it."""
        if not (self.phase_times.is_told or self.step_times.count or self.draft_times.is_told):
            return None  # as most logs: no figures are needed to say so
        cycles, identity = self._identity()
        if (probed := self.phase_times.figures("probe", cycles, identity)) is not None:
            return probed
        if self.step_times.count:
            return self.step_times.figures(cycles)
        if (staged := self.phase_times.figures("log", cycles, identity)) is not None:
            return staged
        drafts = self.draft_times.figures(self.statistics.mean_cycle_ms, identity)
        return drafts or self.phase_times.figures("custom", cycles, identity)

    @property
    def address(self) -> tuple[str | None, int | None]:
        """Where the server listens, by its launch line, else by the flags of its process."""
        if self.launch is not None and self.launch.address[1] is not None:
            return self.launch.address
        if self.fingerprint is None or not self.fingerprint.flags:
            return None, None
        return Launch(self.fingerprint.flags).address

    @property
    def speaks_tls(self) -> bool:
        """Whether the server listens for TLS, as far as its launch flags tell."""
        if self.launch is not None and self.launch.speaks_tls:
            return True
        if self.fingerprint is None or not self.fingerprint.flags:
            return False
        return Launch(self.fingerprint.flags).speaks_tls

    @property
    def conditions(self) -> Fingerprint:
        """What was read from the process, together with what the log proves."""
        from specmon.references.fingerprint import Fingerprint  # pydantic, for those who compare

        if self._conditions is None or self._conditions[0] != self.conditions_key:
            read, launch = self.fingerprint or Fingerprint(), self.launch
            flags, version = (None, None) if launch is None else (dict(launch.flags), launch.version)
            self._conditions = (self.conditions_key, read.with_log(flags, self.env, version))
        return self._conditions[1]

    @property
    def conditions_key(self) -> tuple[int, int, int, int]:
        """Changes when `conditions` may."""
        return self.index, id(self.launch), id(self.fingerprint), len(self.env)

    def figures(self, *, is_exact: bool = True) -> RunFigures:
        """The statistics so far; for the screen a level may lag by a sample in a hundred."""
        statistics = self.statistics
        key = (statistics.samples, statistics.revision, statistics.prefill_lines)
        if self._figures is not None and key == self._figures_key and (self._are_figures_exact or not is_exact):
            return self._figures
        self._figures = statistics.figures(is_exact=is_exact)
        self._figures_key, self._are_figures_exact = key, is_exact
        return self._figures

    @property
    def is_lagging(self) -> bool:
        """Whether the figures that were asked for last lack some samples."""
        is_band_lagging = self._band is not None and self._band[0][0] != self.statistics.samples
        return is_band_lagging or self.statistics.is_lagging

    def let_figures_lag(self, one_in: int) -> None:
        """From now on a level's figures for the screen may lack one sample in so many."""
        if one_in > self.statistics.figures_age:
            self._figures = None
        self.statistics.figures_age = one_in

    def band(self, band: Band, *, is_exact: bool = True) -> LevelFigures:
        """The statistics of a band of levels so far; for the screen they may lag as those of a level."""
        statistics = self.statistics
        key = (statistics.samples, statistics.revision, band)
        if self._band is not None:
            (samples, *others), figures = self._band
            new = statistics.samples - samples
            if others == [*key[1:]] and (not new or (not is_exact and 0 < new < samples // FIGURES_AGE)):
                return figures
        self._band = key, statistics.band(band)
        return self._band[1]


def known(value: float) -> float | None:
    """None for NaN."""
    return None if math.isnan(value) else value
