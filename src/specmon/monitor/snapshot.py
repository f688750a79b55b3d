"""A frozen picture of a session: all that the screen and the plain lines may show.

The monitor makes one a few times a second; widgets draw it and compute nothing. Every figure is either
a measured number or None, and where None needs a reason, the reason stands beside it. Times named `at`
are seconds since 1970 on the clock of the log that leads, `now` too (see `specmon.monitor.axis`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from specmon.analysis.drift import Evidence as Evidence
from specmon.analysis.figures import Basis as Basis
from specmon.analysis.uncertainty import LogError as LogError
from specmon.monitor.logtail import EMPTY_LOG as EMPTY_LOG
from specmon.monitor.logtail import LogTail as LogTail
from specmon.monitor.phaserecords import EMPTY_ACCEPTANCE, EMPTY_PHASES
from specmon.monitor.phaserecords import AcceptanceView as AcceptanceView
from specmon.monitor.phaserecords import PhasesView as PhasesView
from specmon.monitor.phaserecords import VerifyCost as VerifyCost
from specmon.monitor.phaserecords import WhatIf as WhatIf
from specmon.references.difference import Difference as Difference

if TYPE_CHECKING:
    from specmon.monitor.logpage import LogBook

NO_BASIS = Basis()
Figures: TypeAlias = Mapping[str, int]


class Role(StrEnum):
    """Which side of the comparison a server is on."""

    BASELINE = "baseline"
    SPECULATIVE = "speculative"
    UNKNOWN = "unknown"


class RunState(StrEnum):
    """What a server's current life is doing, by its log."""

    STARTING = "starting"
    READY = "ready"
    SERVING = "serving"
    IDLE = "idle"
    EXITED = "exited"
    CRASHED = "crashed"
    UNKNOWN = "unknown"


class LinkState(StrEnum):
    """How the bytes come at the moment."""

    CONNECTING = "connecting"
    LIVE = "live"
    WAITING = "waiting"
    REFUSED = "refused"
    REPLAY = "replay"
    ENDED = "ended"


class Verdict(StrEnum):
    """The word of a comparison."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUAL = "equal"
    NOT_COMPARABLE = "not comparable"
    CANNOT_TELL = "cannot tell"


class Trust(StrEnum):
    """Whether the measured baseline is the one that was recorded."""

    NO_REFERENCE = "no reference"
    WAITING = "waiting"
    MATCHES = "matches"
    DRIFTING = "drifting"
    DIVERGED = "diverged"
    RECOVERED = "recovered"


class Severity(StrEnum):
    """How loud a line of the event list is; the glyph and the word follow from it."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Link:
    """The connection of one source."""

    state: LinkState = LinkState.CONNECTING
    detail: str = ""  # "retry in 4 s: connection lost", "12 s behind"
    retry_at: float | None = None  # session clock


@dataclass(frozen=True, slots=True)
class SamplePoint:
    """One decode sample as the charts need it; several ranks at one instant are several points."""

    at: float
    tok_s: float
    running: int
    accept_len: float | None
    cycle_ms: float | None
    excluded: str | None = None  # the rule that leaves it out ("after_prefill"), None when it is clean


class MarkKind(StrEnum):
    """What a vertical mark on a chart stands for."""

    RESTART = "restart"
    GAP = "gap"
    CRASH = "crash"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical mark on the charts of one server."""

    at: float
    kind: MarkKind
    text: str


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """The level that a server's big number stands for, estimated from its clean samples."""

    running: int
    samples: int
    clean: int
    decode_tok_s: float | None = None
    decode_tok_s_ci95: tuple[float, float] | None = None
    delivered_tok_s: float | None = None
    median_tok_s: float | None = None
    mad_tok_s: float | None = None
    p5_tok_s: float | None = None
    p95_tok_s: float | None = None
    accept_len: float | None = None
    cycle_ms: float | None = None
    context_tokens: float | None = None  # per request
    queue: float | None = None
    cuda_graph: str = "unknown"  # "true", "false", "mixed", "unknown"
    running_range: tuple[int, int] | None = None  # of a band, whose throughputs are per request
    acceptance_rate: float | None = None  # accepted / proposed, where the log counts both
    prefill_share: float | None = None  # of the delivered windows' time
    decode_error: LogError | None = None  # of ln(decode_tok_s): what its interval is made of
    basis: Basis = NO_BASIS  # what the figures were made of


@dataclass(frozen=True, slots=True)
class PageGauges:
    """What the server's metrics page says of this moment; None: it does not say."""

    running: int | None = None  # requests of one replica
    queue: int | None = None  # requests that wait
    kv_usage: float | None = None  # 0..1


@dataclass(frozen=True, slots=True)
class LaunchView:
    """What the server says it was started with."""

    model: str | None = None
    engine_version: str | None = None
    tp_size: int | None = None
    dp_size: int | None = None
    pp_size: int | None = None
    algorithm: str | None = None
    num_steps: int | None = None
    num_draft_tokens: int | None = None
    topk: int | None = None
    is_read: bool = False  # the launch line; else the facts, if any, are those of the process
    note: str = ""  # why it is not read: one short sentence


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server, one column of the screen."""

    key: str
    name: str
    source: str
    role: Role
    link: Link = Link()
    engine: str | None = None
    state: RunState = RunState.UNKNOWN
    speculation: str = "unknown"  # active, inactive, off, unknown
    launch: LaunchView = LaunchView()
    run_index: int = 0
    run_started_at: float | None = None
    level: LevelFigures | None = None  # of the current run
    no_data_reason: str = ""  # why `level` is None or holds no speed: one short sentence
    last_tok_s: float | None = None  # sum of every rank's latest line
    live_tok_s: float | None = None  # of the requests under way, by their own progress lines: no sample
    live_requests: int = 0  # how many requests that is the sum of
    running: int | None = None  # at the latest line
    last_sample_at: float | None = None
    age_s: float | None = None  # how old the newest sample or progress line is on the session's clock
    is_stale: bool = False  # older than the larger of 5 s and 3 usual gaps, or a server that ended
    samples: int = 0  # of the current run
    clean: int = 0
    excluded: Figures = field(default_factory=lambda: MappingProxyType({}))
    unparsed: int = 0
    points: Sequence[SamplePoint] = ()  # of all runs, oldest first; of the monitor, with the past before them
    marks: tuple[Mark, ...] = ()
    reference_tok_s: float | None = None  # at `level.running`, for the dotted line
    reference_cycle_ms: float | None = None
    notices: tuple[str, ...] = ()
    notice_kinds: tuple[str, ...] = ()  # one for each notice
    newest_place: int | None = None  # byte of the log at which the newest sample stands; None: nobody knows
    clean_place: int | None = None  # the same of the newest clean sample of `level`
    is_ended_run: bool = False  # a run of the past, from its log, in place of a server that does not run
    page: PageGauges | None = None  # None without a metrics page at the moment
    phases: PhasesView = EMPTY_PHASES  # of a server that is compared
    acceptance: AcceptanceView = EMPTY_ACCEPTANCE


@dataclass(frozen=True, slots=True)
class TrustView:
    """The measured baseline against its reference."""

    state: Trust = Trust.NO_REFERENCE
    reference: str | None = None  # its name
    running: int | None = None
    reference_tok_s: float | None = None
    measured_tok_s: float | None = None
    deviation: float | None = None  # measured / reference - 1
    tolerance: float | None = None
    samples_seen: int = 0
    samples_needed: int = 3
    since: float | None = None  # log clock
    causes: tuple[Difference, ...] = ()
    sentence: str = ""
    direction: str | None = None  # "slower", "faster"; None before there is a deviation
    better_match: str | None = None  # another recorded reference that a diverged baseline fits
    better_match_tok_s: float | None = None
    evidence: Evidence | None = None  # what the state rests on


@dataclass(frozen=True, slots=True)
class AgainstReference:
    """The speculative server compared with the reference instead of the measured baseline."""

    speedup: float
    break_even_accept_len: float
    headroom: float
    verdict: Verdict
    sentence: str
    tok_s: float | None = None  # what the reference recorded at the compared level; of a band: per request
    step_ms: float | None = None


@dataclass(frozen=True, slots=True)
class CheckPoint:
    """One of the four assumptions that a comparison rests on."""

    id: str  # reproduces, method, only_speculation, right_level
    state: str  # ok, failed, unknown
    evidence: str
    mend: str = ""  # what to do where it does not hold, or nobody knows


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """The word at one load level; `verdict` is None where a side has no clean sample there."""

    running: int
    verdict: Verdict | None
    speedup: float | None = None
    delivered_speedup: float | None = None
    baseline_clean: int = 0
    speculative_clean: int = 0
    baseline_tok_s: float | None = None  # decode throughput
    speculative_tok_s: float | None = None


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Baseline against speculative at one level."""

    verdict: Verdict
    sentence: str
    running: int | None = None  # the centre of a band
    speedup: float | None = None
    speedup_ci95: tuple[float, float] | None = None
    delivered_speedup: float | None = None
    accept_len: float | None = None
    break_even_accept_len: float | None = None
    headroom: float | None = None
    baseline_clean: int = 0
    speculative_clean: int = 0
    same_load: bool | None = None
    against_reference: AgainstReference | None = None
    levels: tuple[LevelVerdict, ...] = ()  # every level that either server ran at, lowest first
    running_range: tuple[int, int] | None = None  # of a band
    checklist: tuple[CheckPoint, ...] = ()  # the four assumptions, in their order
    reasons: tuple[str, ...] = ()  # what a reader must know beside the figures
    baseline_level: LevelFigures | None = None  # the figures that were compared: of a band where it is one
    speculative_level: LevelFigures | None = None
    between: float | None = None  # standard deviation of ln(tok/s) between sessions, where the interval holds it


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict band: a glyph, a word, a sentence, a line of why. It never wraps and is always there."""

    severity: Severity
    word: str  # "SPECULATIVE WINS", "BASELINE NOT TRUSTED", "CANNOT TELL", "NO DATA"
    sentence: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line of the event list."""

    at: float
    severity: Severity
    server: str  # name, "" for the session
    text: str
    position: int | None = None  # byte of the server's log at which its line stands; None: it has none, or nobody knows
    is_ours: bool = field(default=False, compare=False)  # told by our own clock; in a picture all are on one axis


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a server's log, control characters already made visible."""

    server: str
    role: Role
    at: float | None
    text: str
    is_stats: bool = False
    is_unparsed: bool = False
    excluded: str | None = None  # the rule that left its sample out
    is_counted: bool = False  # it is a sample that counts


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, to be jumped to."""

    at: float
    severity: Severity
    text: str
    kind: MarkKind | None = None  # None: a line of the event list without a mark on the charts


@dataclass(frozen=True, slots=True)
class Playback:
    """Where a replay stands. Positions are seconds on the log clock."""

    position: float
    start: float
    end: float
    speed: float  # 1 is real time, math.inf as fast as possible
    is_paused: bool
    moments: tuple[Moment, ...] = ()  # of the whole replay, oldest first; empty until it was looked through


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One server in the table of all servers."""

    key: str
    name: str
    severity: Severity
    word: str  # what to know first: "crashed", "diverged", "no link", "ok"
    sentence: str  # the word with its reason
    role: Role
    state: str  # of its run; before its first line, of its link
    engine: str | None = None
    running: int | None = None  # at the level that the figures are of
    tok_s: float | None = None  # decode throughput
    delivered_tok_s: float | None = None
    accept_len: float | None = None
    deviation: float | None = None  # of a baseline: measured / reference - 1
    trust: Trust = Trust.NO_REFERENCE  # of a baseline
    age_s: float | None = None  # of the newest sample; None: nobody knows
    is_stale: bool = False
    side: Role | None = None  # where it stands in the comparison that is shown


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that can be shown at one moment."""

    title: str = "specmon"
    mode: str = "live"  # live, replay, demo
    now: float = 0.0  # log clock of the newest thing known (live: this machine's clock, replay: position)
    headline: Headline = Headline(Severity.INFO, "NO DATA", "no server yet")
    trust: TrustView = TrustView()
    comparison: ComparisonView | None = None
    baseline: ServerView | None = None
    speculative: ServerView | None = None
    others: tuple[ServerView, ...] = ()  # role unknown, or a third and fourth server
    fleet: tuple[FleetRow, ...] = ()  # every server, those that need attention first
    verify_cost: VerifyCost | None = None
    what_if: WhatIf | None = None  # the speed-up as it is, to be moved
    differences: tuple[Difference, ...] = ()  # baseline against speculative, `matters` first
    events: tuple[EventLine, ...] = ()  # newest first
    log: LogTail = EMPTY_LOG  # bounded
    log_revision: int = 0  # grows with every line, also when old ones fall out
    playback: Playback | None = None
    demo_note: str = ""  # what the demo shows at the moment
    version: int = 0  # grows with every change of anything above but `now`
    # All lines, as far as they are held; not a value: it goes on with the session. None: there is nothing to read.
    logbook: Callable[[], LogBook] | None = field(default=None, compare=False)


EMPTY = Snapshot()
