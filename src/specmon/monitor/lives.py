"""Where one life of a server ends and the next begins in a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from specmon.analysis.horizon import Horizon
from specmon.events import FIRST_DATED_S, Clock, ProcessStarted
from specmon.monitor.life import Life
from specmon.monitor.snapshot import RunState

if TYPE_CHECKING:
    from specmon.references.fingerprint import Fingerprint

WHOLE_LIVES = 20  # the newest are held whole
HELD_LIVES = 200  # these and the ones before them with their figures; of the others only the number is known
CLOCK_BACKWARDS_S = 60.0  # a step back of the statistics lines that means another life
_YEARLESS_STEP_S = 30 * 86400.0  # stamps without a year step back by months at New Year, and mean nothing
_OTHER_PROCESS_S = 1.0  # lines of two processes closer than this belong to one server
_MOST_WARM_UP_SAMPLES = 20  # a warm-up request of SGLang has 8 tokens

Restarted = Callable[[Life, Life, float | None], None]


class Lives:
    """The lives of one server, oldest first."""

    def __init__(
        self,
        on_restart: Restarted,
        on_withdrawn: Callable[[], None],
        *,
        horizon: Horizon | None = None,
        on_gone: Callable[[Life], None] = lambda _: None,
    ) -> None:
        """`horizon`: how much of the past is held whole; None: all of it.

        `on_gone` is told of a life that is held no more.
        """
        self.all: list[Life] = []  # that are held
        self.gone = 0  # older ones
        self.gone_crashed = 0  # how many of those crashed
        self.gone_revision = 0  # what their verdicts came to
        self.is_bounded = horizon is not None  # False: somebody asked for one by its number
        self.clock_steps = 0
        self.warm_up_s = 0.0  # rule 7: how long after ready no sample of a life counts
        self._horizon = horizon
        self._on_restart = on_restart
        self._on_withdrawn = on_withdrawn
        self._on_gone = on_gone
        self._next_fingerprint: Fingerprint | None = None
        self._next_process = ""

    @property
    def current(self) -> Life | None:
        """The newest one."""
        return self.all[-1] if self.all else None

    def begin(self, at: float | None = None) -> Life:
        """Another life starts here."""
        before = self.current
        life = Life(self.begun + 1, warm_up_s=self.warm_up_s, horizon=self._horizon)
        life.fingerprint, self._next_fingerprint = self._next_fingerprint, None
        life.process, self._next_process = self._next_process, ""
        self.all.append(life)
        if before is not None:
            before.was_followed()
            self._on_restart(before, life, at)
        if self._horizon is not None and len(self.all) > WHOLE_LIVES:
            number = len(self.all) - WHOLE_LIVES - 1
            self.all[number].settle(self.all[number - 1] if number else None)
        if self.is_bounded and len(self.all) > HELD_LIVES:
            oldest = self.all.pop(0)
            self.gone += 1
            self.gone_crashed += oldest.state is RunState.CRASHED
            self.gone_revision += oldest.statistics.revision
            self._on_gone(oldest)
        return life

    @property
    def begun(self) -> int:
        """How many there have been."""
        return self.gone + len(self.all)

    def since(self, index: int) -> list[Life]:
        """Those that are held from a number on, counted from 1."""
        return self.all[max(0, index - 1 - self.gone) :]

    def of_launch(self, at: float | None) -> Life:
        """A launch line begins a life, unless nothing but noise came before it."""
        life = self.current
        return life if life is not None and life.is_blank else self.begin(at)

    def of_process(self, event: ProcessStarted) -> Life:
        """Another server process, once this one has shown itself or has ended."""
        life = self.current or self.begin(event.at)
        # A pid that is out of view is another one: a server starts before it serves. In a container each has the same.
        is_another = life.server_pid != event.pid or life.has_served
        if is_another and (life.is_established or life.has_ended):
            life = self.begin(event.at)
        if life.server_pid is None:
            life.server_pid = event.pid
        return life

    def of_ready(self, at: float | None) -> Life:
        """A server that gets ready after its end, or once more, is another one, though its launch line is not in view.

        The answers to its warm-up requests come before the ready line, so they prove no life before.
        """
        life = self.current or self.begin(at)
        has_worked = life.has_served or (life.launch is None and life.statistics.samples > _MOST_WARM_UP_SAMPLES)
        return self.begin(at) if life.has_ended or has_worked else life

    def of_stats(self, at: float, pid: int, clock: Clock, tag: str = "") -> Life:
        """A clock that runs back, or another process of the same kind in the prefix, is another life."""
        life = self.current or self.begin(at)
        previous = life.last_stats_at
        if previous is not None and at < previous - CLOCK_BACKWARDS_S and not _is_new_year(at, previous, clock):
            self.clock_steps += 1
            life = self.begin(at)
        if pid >= 0:
            # A rank that this life has not heard of yet has a process of its own (vLLM's API servers).
            if not tag or tag in life.stats_tags or not life.stats_tags:
                life = self._of_pid(life, at, pid)
            life.stats_pids[pid] = at
            life.stats_tags.add(tag)
            life.writers.note(tag, pid)
        return life

    def _of_pid(self, life: Life, at: float, pid: int) -> Life:
        if pid in life.stats_pids or not life.stats_pids:
            return life
        if len(self.all) > 1 and pid in self.all[-2].stats_pids:
            # The other process is back: both belong to one server, and there was no restart.
            if self.all[-2].take_over(life):
                self.all.pop()
                self._on_withdrawn()
                return self.all[-1]
            return life
        if life.is_established and at - max(life.stats_pids.values()) >= _OTHER_PROCESS_S:
            return self.begin(at)
        return life

    def attach_fingerprint(self, fingerprint: Fingerprint, process: str = "") -> None:
        """Conditions read from outside the log, of a process when that is known.

        They belong to the present life when it has none yet, when they are of the same process, or when they say
        more of the same. Conditions that contradict its own are the next life's: a process is seen before it writes
        its first line.
        """
        life = self.current
        if life is not None and (
            life.fingerprint is None
            or (life.process == process if life.process and process else _extends(fingerprint, life.fingerprint))
            # What the server said of itself gives way to a look at its process, unless that is the next one already.
            or (not life.process and process and _agrees(fingerprint, life.fingerprint))
        ):
            life.fingerprint, life.process = fingerprint, process or life.process
        else:
            self._next_fingerprint, self._next_process = fingerprint, process


def _agrees(later: Fingerprint, earlier: Fingerprint) -> bool:
    """Both know of some flags, and none of those differs."""
    before, now = earlier.flags or {}, later.flags or {}
    common = before.keys() & now.keys()
    return bool(common) and all(before[name] == now[name] for name in common)


def _is_new_year(at: float, previous: float, clock: Clock) -> bool:
    """A step of months in stamps without a year."""
    is_undated = at < FIRST_DATED_S or clock is not Clock.DATED  # one block may hold stamps of both kinds
    return is_undated and at < previous - _YEARLESS_STEP_S


def _extends(later: Fingerprint, earlier: Fingerprint) -> bool:
    """Everything that the earlier look found is still so."""
    for before, now in (
        (earlier.flags, later.flags),
        (earlier.env, later.env),
        (earlier.versions, later.versions),
        (earlier.gpu, later.gpu),
    ):
        if before and now is not None and any(now.get(name) != value for name, value in before.items()):
            return False
    return True
