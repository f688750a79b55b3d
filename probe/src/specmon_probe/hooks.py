"""The hooks around SGLang's methods. Each runs the original exactly once, whatever happens to the probe itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from specmon_probe.cycles import EVERY, WARM_UP, Cycle, Cycles, Means
from specmon_probe.device import Device, torch_device
from specmon_probe.layouts import DECODE, VERIFY
from specmon_probe.line import write
from specmon_probe.place import Place, find_place

# The original's own type goes through: fn(original, *args, **kwargs), as SGLang's registry calls an AROUND hook.
Original = Callable[..., object]
Around = Callable[..., object]

_P = ParamSpec("_P")
_T = TypeVar("_T")

logger = logging.getLogger("specmon_probe")
_MARK = "_specmon_cycle"  # attribute of a result: the cycle that it is from
_ACCEPTED = ("num_correct_drafts", "num_accepted_drafts", "num_accepted_tokens")  # 0.5.11 and later; before; before


class Probe:
    """The hooks of one process and what they share."""

    def __init__(
        self,
        *,
        device: Callable[[], Device] = torch_device,
        now_s: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = logger.info,
        warn: Callable[[str], None] = logger.warning,
        warm_up: int = WARM_UP,
        every: int = EVERY,
    ) -> None:
        self.is_on = True  # False: every hook calls its original and does nothing else
        self._device = device
        self._now_s = now_s
        self._tell = tell
        self._warn = warn
        self._warm_up = warm_up
        self._every = every
        # Both come with the first result that the scheduler has processed. Until then nothing is measured: no
        # warm-up run, and no capture of a graph, which all happen before.
        self._cycles: Cycles | None = None
        self._place: Place | None = None
        self._is_capturing: Callable[[], bool] = lambda: False
        self._open: Cycle | None = None
        self._is_inside = False  # a worker's whole cycle or prefill is under way, timed or not

    def step_aside(self, why: object) -> None:
        """Stop for good, with one line."""
        if self.is_on:
            self.is_on = False
            self._open = self._cycles = None
            try:
                self._warn(f"specmon-probe steps aside: {why}. The server is not affected; no phase lines follow.")
            except Exception:
                return

    # -- the hooks

    def entry(self, *, own_verify: bool) -> Around:
        """Around a method that holds one whole cycle, or a prefill."""

        def around(original: Original, *args: object, **kwargs: object) -> object:
            if self._cycles is None or self._is_inside:
                return original(*args, **kwargs)
            cycle = self._guard(self._begin, _batch(args, kwargs), own_verify)
            result = self._inside(cycle, original, *args, **kwargs)
            if cycle is not None:
                self._guard(self._follow, cycle, result)
            return result

        return around

    def phase(self, name: str) -> Around:
        """Around a method that is a phase of the open cycle; the outermost one counts."""

        def around(original: Original, *args: object, **kwargs: object) -> object:
            cycle = self._open
            if cycle is None or cycle.is_in_span:
                return original(*args, **kwargs)
            return self._span(cycle, name, original, args, kwargs)

        return around

    def target(self) -> Around:
        """Around the target model's step: a whole cycle on a baseline, else perhaps the verify forward."""

        def around(original: Original, *args: object, **kwargs: object) -> object:
            if self._cycles is None:
                return original(*args, **kwargs)
            cycle = self._open
            if cycle is not None:
                if cycle.own_verify or cycle.is_in_span:
                    return original(*args, **kwargs)
                return self._span(cycle, VERIFY, original, args, kwargs)
            name = None if self._is_inside else self._guard(self._step_of, args, kwargs)
            if name is None:
                return original(*args, **kwargs)
            cycle = self._guard(self._begin, _batch(args, kwargs), False, is_decoding=True)
            if cycle is None:
                return original(*args, **kwargs)
            cycle.own_verify = name != VERIFY
            return self._inside(cycle, self._span, cycle, name, original, args, kwargs)

        return around

    def processed(self) -> Around:
        """Around the scheduler's handling of a result: here the accepted tokens are on the host."""

        def around(original: Original, *args: object, **kwargs: object) -> object:
            returned = original(*args, **kwargs)
            if not self.is_on:
                return returned
            if self._place is None:
                self._guard(self._settle, *args[:1])
            elif self._cycles is not None:
                self._guard(self._take_tokens, args[2] if len(args) > 2 else kwargs.get("result"))
            return returned

        return around

    # -- what they do; each of these runs inside `_guard`

    def _guard(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            self.step_aside(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
            return None

    def _inside(self, cycle: Cycle | None, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call something with the cycle open, if it is timed. What it raises is the server's, and passes."""
        self._open = cycle
        self._is_inside = True
        try:
            return function(*args, **kwargs)
        except BaseException:
            if self._cycles is not None:
                self._cycles.break_chain()
            raise
        finally:
            self._open = None
            self._is_inside = False

    def _span(
        self,
        cycle: Cycle,
        name: str,
        original: Original,
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:
        cycles = self._cycles
        begin = None if cycles is None else self._guard(cycles.mark)
        cycle.is_in_span = True
        try:
            result = original(*args, **kwargs)
        finally:
            cycle.is_in_span = False
        if cycles is not None and begin is not None:
            self._guard(cycles.span, cycle, name, begin)
        return result

    def _settle(self, scheduler: object) -> None:
        place = self._place = find_place(scheduler)
        if not place.prints:
            self.is_on = False  # another rank tells it
            return
        device = self._device()
        self._is_capturing = device.is_capturing
        self._cycles = Cycles(
            interval=place.interval,
            new_event=device.new_event,
            now_s=self._now_s,
            emit=self._emit,
            warm_up=self._warm_up,
            every=self._every,
        )
        self._tell(
            f"specmon-probe times decode cycles of {place.algorithm or 'a server without speculation'}: one "
            f"specmon-phase line for {place.interval} cycles of a batch size. SPECMON_PROBE=0 switches it off."
        )

    def _emit(self, means: Means) -> None:
        self._tell(write(means))

    def _begin(self, batch: object, own_verify: bool, *, is_decoding: bool = False) -> Cycle | None:
        cycles = self._cycles
        if cycles is None:
            return None
        if not is_decoding and not _is_decode(batch):
            cycles.break_chain()
            return None
        if self._is_capturing():
            return None
        running, requests = _requests(batch)
        if running <= 0:
            cycles.break_chain()
            return None
        return cycles.begin(running, requests, own_verify=own_verify)

    def _step_of(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
        """What a step of a TpModelWorker outside of any known worker is."""
        if getattr(args[0], "is_draft_worker", False):
            return None
        batch = _batch(args, kwargs)
        speculates = self._place is not None and self._place.algorithm is not None
        if not speculates and _is_decode(batch):
            return DECODE
        if speculates and (kwargs.get("is_verify") or _mode(batch).is_target_verify()):
            return VERIFY
        if self._cycles is not None:
            self._cycles.break_chain()
        return None

    def _follow(self, cycle: Cycle, result: object) -> None:
        """Take the accepted tokens out of a worker's result, or mark it so that they are found when they are there."""
        if getattr(result, "accept_lens", None) is not None:
            # They are still on the device. The scheduler handles this very object one or two cycles later.
            cycle.waits_for_tokens = True
            setattr(result, _MARK, cycle)
            return
        # Without overlap they are there. Up to 0.5.2 a worker returned a tuple.
        accepted = result[3] if isinstance(result, tuple) and len(result) > 3 else _accepted(result)
        if isinstance(accepted, int):
            cycle.tokens = accepted + cycle.running

    def _take_tokens(self, result: object) -> None:
        cycle = getattr(result, _MARK, None)
        if isinstance(cycle, Cycle):
            accepted = _accepted(result)
            if isinstance(accepted, int):
                bonus = getattr(result, "num_non_draft_tokens_per_req", 1)  # 2 for UNO
                cycle.tokens = accepted + bonus * cycle.running


def _accepted(result: object) -> object:
    for name in _ACCEPTED:
        value: object = getattr(result, name, None)
        if value is not None:
            return value
    return None


def _batch(args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """The batch of a call: a ScheduleBatch, a ModelWorkerBatch or a ForwardBatch."""
    if len(args) > 1 and args[1] is not None:
        return args[1]
    for name in ("batch", "model_worker_batch", "forward_batch"):
        if kwargs.get(name) is not None:
            return kwargs[name]
    return args[2] if len(args) > 2 else None


class _Mode:
    """What the probe asks of SGLang's ForwardMode; only a type."""

    def is_decode(self) -> bool:
        raise NotImplementedError

    def is_target_verify(self) -> bool:
        raise NotImplementedError


def _mode(batch: object) -> _Mode:
    mode: _Mode = batch.forward_mode  # type: ignore[attr-defined]  # a missing one is a surprise, and told as such
    return mode


def _is_decode(batch: object) -> bool:
    # With DP attention a rank that decodes takes the prefill's path while another rank has a prefill.
    return _mode(batch).is_decode() and not getattr(batch, "is_extend_in_batch", False)


def _requests(batch: object) -> tuple[int, object]:
    """How many requests a batch has, and what tells them from others."""
    requests = getattr(batch, "reqs", None)
    if requests is None:
        return len(batch.seq_lens), None  # type: ignore[attr-defined]  # as above
    if not requests:
        return 0, None
    return len(requests), (getattr(requests[0], "rid", None), getattr(requests[-1], "rid", None))
