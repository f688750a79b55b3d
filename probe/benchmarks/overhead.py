"""What the probe costs the thread that launches kernels: microseconds a cycle.

    python probe/benchmarks/overhead.py [--cycles 20000] [--device fake|cuda]

Calls the hooks as SGLang's registry does, around methods that do nothing, in the shape of a cycle of EAGLE v2
(entry, draft, verify with the target's step inside, draft-extend, the handling of the result) and of a baseline.
With `fake`, events cost nothing, so that the figure is the probe's own Python. With `cuda` they are torch's.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from types import SimpleNamespace

from specmon_probe.cycles import Event
from specmon_probe.device import Device, torch_device
from specmon_probe.hooks import Around, Probe
from specmon_probe.layouts import DRAFT, DRAFT_EXTEND, VERIFY


class _Free:
    """An event that costs nothing and is always there."""

    def record(self) -> None:
        return

    def query(self) -> bool:
        return True

    def elapsed_time(self, end_event: Event, /) -> float:
        return 1.0


class _Mode:
    def is_decode(self) -> bool:
        return True

    def is_target_verify(self) -> bool:
        return False


class _Result:
    num_correct_drafts = 2

    def __init__(self) -> None:
        self.accept_lens = 1


def _fake() -> Device:
    return Device(_Free, lambda: False)


def _wrap(function: Callable[..., object], hook: Around | None) -> Callable[..., object]:
    """As SGLang's registry does it."""
    if hook is None:
        return function

    def wrapper(*args: object, **kwargs: object) -> object:
        return hook(function, *args, **kwargs)

    return wrapper


def _speculative(probe: Probe | None) -> Callable[[object, object], None]:
    def nothing(worker: object, batch: object) -> None:
        return

    draft = _wrap(nothing, None if probe is None else probe.phase(DRAFT))
    target = _wrap(nothing, None if probe is None else probe.target())
    extend = _wrap(nothing, None if probe is None else probe.phase(DRAFT_EXTEND))
    verify = _wrap(lambda worker, batch: target(worker, batch), None if probe is None else probe.phase(VERIFY))

    def forward(worker: object, batch: object) -> object:
        draft(worker, batch)
        verify(worker, batch)
        extend(worker, batch)
        return _Result()

    entry = _wrap(forward, None if probe is None else probe.entry(own_verify=True))
    processed = _wrap(lambda scheduler, batch, result: None, None if probe is None else probe.processed())

    def cycle(scheduler: object, batch: object) -> None:
        processed(scheduler, batch, entry(scheduler, batch))

    return cycle


def _baseline(probe: Probe | None) -> Callable[[object, object], None]:
    entry = _wrap(lambda worker, batch: _Result(), None if probe is None else probe.target())
    processed = _wrap(lambda scheduler, batch, result: None, None if probe is None else probe.processed())

    def cycle(scheduler: object, batch: object) -> None:
        processed(scheduler, batch, entry(scheduler, batch))

    return cycle


def _timed(cycle: Callable[[object, object], None], algorithm: str | None, cycles: int) -> float:
    """Microseconds a cycle, the best of five."""
    args = SimpleNamespace(speculative_algorithm=algorithm, decode_log_interval=40, pp_size=1)
    scheduler = SimpleNamespace(server_args=args, attn_tp_rank=0, is_draft_worker=False)
    request = SimpleNamespace(rid="one")
    batch = SimpleNamespace(reqs=[request] * 8, forward_mode=_Mode(), is_extend_in_batch=False)
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(cycles):
            cycle(scheduler, batch)
        best = min(best, (time.perf_counter() - begin) / cycles)
    return 1e6 * best


def main() -> None:
    """Print a line for each shape of server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20_000)
    parser.add_argument("--device", choices=["fake", "cuda"], default="fake")
    options = parser.parse_args()
    if options.device == "cuda":
        import torch  # type: ignore[import-not-found]  # no dependency of the project

        torch.cuda.init()
    device = _fake if options.device == "fake" else torch_device
    logging.getLogger("specmon_probe").addHandler(logging.NullHandler())  # lines are written, and go nowhere
    logging.getLogger("specmon_probe").setLevel(logging.INFO)
    for name, shape, algorithm in (("EAGLE v2", _speculative, "EAGLE3"), ("baseline", _baseline, None)):
        bare = _timed(shape(None), algorithm, options.cycles)
        on = _timed(shape(Probe(device=device)), algorithm, options.cycles)
        aside = Probe(device=device)
        aside.step_aside("a benchmark")
        off = _timed(shape(aside), algorithm, options.cycles)
        print(
            f"{name:9} {options.device}: measuring {on - bare:6.1f} us a cycle, "
            f"on a rank that does not speak {off - bare:5.1f} us (without any hook {bare:.1f} us)"
        )


if __name__ == "__main__":
    main()
