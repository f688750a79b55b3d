"""SGLang's device timer against CUDA events of our own around the very same spans (written for 0.5.16).

    python probe/benchmarks/same_span.py --install FOLDER       # makes this file a plugin of SGLang
    SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 PYTHONPATH=FOLDER SPECMON_SAME_SPAN=spans.txt \\
        python -m sglang.launch_server --enable-metrics ...     # then load it, with pauses of 3 s between the loads
    python probe/benchmarks/same_span.py spans.txt

The timer counts the replay of the graph of a draft or a draft-extend, and the target's graph with the copies into its
buffers; nothing of what `specmon-probe` has around them. `spans.txt` gets a line a second: unix time, then for each
category its name, and the passes and milliseconds since the start, by our events and by the timer's.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace

_PLUGINS = "sglang.srt.plugins"
_SCHEDULER = "sglang.srt.managers.scheduler"
_TIMER = "sglang.srt.utils.device_timer.DeviceTimer.__init__"
_SPECULATIVE = "sglang.srt.speculative."
_SPANS = {
    f"{_SPECULATIVE}eagle_draft_cuda_graph_runner.EAGLEDraftCudaGraphRunner._replay_graph": "eagle_draft",
    f"{_SPECULATIVE}eagle_draft_extend_cuda_graph_runner.EAGLEDraftExtendCudaGraphRunner._replay_graph": (
        "eagle_draft_extend"
    ),
    "sglang.srt.model_executor.runner.decode_cuda_graph_runner.DecodeCudaGraphRunner.execute": "",  # its batch says
}
_EVERY_S = 1.0
_PAUSE_S = 2.5  # between two lines: a new stretch

Sums = dict[str, tuple[int, float]]  # by category: passes, ms


class Spans:
    """Events around the spans, read late, and what the timer reports, both summed by category."""

    def __init__(self, path: str, new_event: Callable[[], SimpleNamespace] | None = None) -> None:
        self._path = Path(path)
        self._path.write_text("", encoding="ascii")
        self._new_event = new_event or _event
        self._pending: deque[tuple[str, SimpleNamespace, SimpleNamespace]] = deque()
        self._own: Sums = {}
        self._timer: Sums = {}
        self._wrote_s = 0.0

    def around(self, category: str) -> Callable[..., object]:
        """A hook for one span; without a category it is the batch's own mode."""

        def around(original: Callable[..., object], *args: SimpleNamespace, **kwargs: object) -> object:
            self._write()
            begin, end = self._new_event(), self._new_event()
            begin.record()
            result = original(*args, **kwargs)
            end.record()
            self._pending.append((category or args[1].forward_mode.name.lower(), begin, end))
            while self._pending and self._pending[0][2].query():
                name, began, ended = self._pending.popleft()
                _add(self._own, name, began.elapsed_time(ended))
            return result

        return around

    def listen(self, original: Callable[..., object], timer: SimpleNamespace, *more: object, **named: object) -> object:
        """Around the making of the timer: what it reports is summed too."""
        made = original(timer, *more, **named)
        timer.add_reporter(lambda t, category="", **_: _add(self._timer, category, 1000 * t))
        return made

    def _write(self) -> None:
        now_s = time.time()
        if now_s - self._wrote_s >= _EVERY_S:
            self._wrote_s = now_s
            told = []
            for name in sorted(self._own.keys() & self._timer.keys()):
                told += [name, *map(str, self._own[name]), *map(str, self._timer[name])]
            with self._path.open("a", encoding="ascii") as file:
                file.write(" ".join([f"{now_s:.3f}", *told]) + "\n")


def _add(sums: Sums, category: str, ms: float) -> None:
    passes, total = sums.get(category, (0, 0.0))
    sums[category] = (passes + 1, total + ms)


def _event() -> SimpleNamespace:
    import torch  # type: ignore[import-not-found]  # where this runs

    made: SimpleNamespace = torch.cuda.Event(enable_timing=True)
    return made


def register() -> None:
    """What SGLang calls; only a scheduler is hooked."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PLUGINS):
        frame = frame.f_back
    path = os.environ.get("SPECMON_SAME_SPAN")
    if frame is not None and frame.f_globals.get("__name__") == _SCHEDULER and path:
        from sglang.srt.plugins.hook_registry import (  # type: ignore[import-not-found]  # where this runs
            HookRegistry,
            HookType,
        )

        spans = Spans(path)
        HookRegistry.register(_TIMER, spans.listen, HookType.AROUND)
        for target, category in _SPANS.items():
            HookRegistry.register(target, spans.around(category), HookType.AROUND)


# -- what comes out


def stretches(lines: Iterable[str]) -> Iterator[dict[str, tuple[int, float, float]]]:
    """For each stretch of load and category: passes, and mean ms by our events and by the timer's."""
    first: list[str] = []
    last: list[str] = []
    for line in [*lines, ""]:
        words = line.split()
        if words and last and float(words[0]) - float(last[0]) < _PAUSE_S:
            last = words
            continue
        if found := _between(first, last):
            yield found
        first = last = words


def _between(first: list[str], last: list[str]) -> dict[str, tuple[int, float, float]]:
    earlier, later = _sums_of(first), _sums_of(last)
    found = {}
    for name, now in later.items():
        before = earlier.get(name, (0.0, 0.0, 0.0, 0.0))
        passes, own_ms, timed, timer_ms = (each - was for each, was in zip(now, before, strict=True))
        if passes > 0 and timed > 0:
            found[name] = (round(passes), own_ms / passes, timer_ms / timed)
    return found


def _sums_of(words: list[str]) -> dict[str, tuple[float, ...]]:
    return {words[at]: tuple(map(float, words[at + 1 : at + 5])) for at in range(1, len(words), 5)}


def main() -> None:
    """Install, or print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spans", nargs="?", type=Path)
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.install is not None:
        about = options.install / "specmon_same_span-0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: specmon-same-span\nVersion: 0\n")
        (about / "entry_points.txt").write_text(f"[{_PLUGINS}]\nspecmon-same-span = same_span:register\n")
        (options.install / "same_span.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    if options.spans is not None:
        for number, found in enumerate(stretches(options.spans.read_text(encoding="ascii").splitlines()), 1):
            for name, (passes, own_ms, timer_ms) in found.items():
                print(
                    f"stretch {number}  {name:20} {passes:6} passes  timer {timer_ms:.4f} ms  own events "
                    f"{own_ms:.4f} ms  {100 * (own_ms / timer_ms - 1):+.2f} %"
                )


if __name__ == "__main__":
    main()
