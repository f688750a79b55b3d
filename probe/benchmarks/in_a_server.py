"""What the probe changes of a decode cycle in a running SGLang (0.5.11 and later): it is taken out and put back.

    python probe/benchmarks/in_a_server.py --install FOLDER     # makes this file a plugin of SGLang
    PYTHONPATH=FOLDER SPECMON_TOGGLE=cycles.txt python -m sglang.launch_server ...   # with the probe installed
    python probe/benchmarks/in_a_server.py cycles.txt --running 8

Keep a fixed number of requests running meanwhile. Every 64 cycles (`SPECMON_TOGGLE_CYCLES`) the classes get SGLang's
own methods back, or the probe's again, in the order on, off, off, on and then off, on, on, off, so that what grows
steadily, such as the context, falls out of four blocks. Blocks with a prefill or with another number of requests are
left out.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType, SimpleNamespace

SETTLING = 16  # cycles of a block left out: after a switch the probe measures nothing for some
_PLUGINS = "sglang.srt.plugins"
_SCHEDULER = "sglang.srt.managers.scheduler"


class Toggle:
    """Around `Scheduler.run_batch`: notes when each cycle begins, and switches between blocks."""

    def __init__(self, path: str, size: int) -> None:
        self._file = Path(path).open("w", encoding="ascii")  # noqa: SIM115  # open as long as the server
        self._size = size
        self._left = size
        self._block = 0
        self._is_on = True
        self._notes: list[str] = []

    def around(
        self, original: Callable[..., object], scheduler: object, batch: SimpleNamespace, *more: object
    ) -> object:
        running = len(batch.reqs) if batch.forward_mode.is_decode() else 0
        if running:
            self._left -= 1
            if self._left < 0:
                self._next_block()
        self._notes.append(f"{time.perf_counter_ns()} {running} {self._block} {int(self._is_on)}\n")
        return original(scheduler, batch, *more)

    def _next_block(self) -> None:
        self._file.writelines(self._notes)  # in the part of a block that is left out
        self._file.flush()
        self._notes.clear()
        self._block += 1
        self._left = self._size - 1
        is_on = self._block % 8 in (0, 3, 5, 6)
        if is_on != self._is_on:
            self._is_on = is_on
            _switch(is_on)


_hooked: list[tuple[type, str, object, object]] = []  # class, method, the probe's, SGLang's own


def _switch(is_on: bool) -> None:
    from sglang.srt.plugins.hook_registry import HookRegistry  # type: ignore[import-not-found]  # where this runs

    from specmon_probe import install
    from specmon_probe.layouts import SCHEDULER, TARGET, WORKERS

    if not _hooked:
        for layout in (SCHEDULER, TARGET, *WORKERS):
            owner = getattr(sys.modules.get(layout.module), layout.owner, None)
            for method in (*layout.entries, *(method for method, _ in layout.phases)):
                if owner is not None and layout.path(method) in HookRegistry._patched:
                    hook = vars(owner)[method]
                    _hooked.append((owner, method, hook, hook.__wrapped__))
    for owner, method, hook, original in _hooked:
        setattr(owner, method, hook if is_on else original)
    cycles = None if install.probe is None else install.probe._cycles
    if cycles is not None:
        cycles.break_chain()  # no cycle may last through a block without the probe


def register() -> None:
    """What SGLang calls; only a scheduler is hooked."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PLUGINS):
        frame = frame.f_back
    path = os.environ.get("SPECMON_TOGGLE")
    if frame is not None and frame.f_globals.get("__name__") == _SCHEDULER and path:
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        toggle = Toggle(path, int(os.environ.get("SPECMON_TOGGLE_CYCLES", "64")))
        HookRegistry.register(f"{_SCHEDULER}.Scheduler.run_batch", toggle.around, HookType.AROUND)


def blocks(lines: list[str], running: int) -> Iterator[tuple[int, bool, float | None]]:
    """Number, on or off, mean cycle in ms; None if something else happened in the block."""
    rows = [tuple(map(int, line.split())) for line in lines]
    starts = [i for i, row in enumerate(rows) if i == 0 or row[2] != rows[i - 1][2]]
    for first, end in pairwise(starts):
        is_clean = end - first > 2 * SETTLING and all(row[1] == running for row in rows[first : end + 1])
        mean = (rows[end][0] - rows[first + SETTLING][0]) / (end - first - SETTLING) / 1e6 if is_clean else None
        yield rows[first][2], bool(rows[first][3]), mean


def changes(found: list[tuple[int, bool, float | None]]) -> list[float]:
    """Change of the cycle in percent for each four blocks that are all clean."""
    fours: dict[int, list[tuple[bool, float]]] = {}
    for number, is_on, mean in found:
        if mean is not None:
            fours.setdefault(number // 4, []).append((is_on, mean))
    whole = [four for four in fours.values() if len(four) == 4]
    return [100 * (sum(m for on, m in four if on) / sum(m for on, m in four if not on) - 1) for four in whole]


def _interval(values: list[float], of: Callable[[list[float]], float]) -> str:
    chance = random.Random(1)
    drawn = sorted(of(chance.choices(values, k=len(values))) for _ in range(10_000))
    return f"{of(values):+.2f} % (95 % {drawn[250]:+.2f} to {drawn[9749]:+.2f})"


def main() -> None:
    """Install, or print the change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", nargs="?", type=Path)
    parser.add_argument("--running", type=int, default=1)
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.install is not None:
        about = options.install / "specmon_probe_toggle-0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: specmon-probe-toggle\nVersion: 0\n")
        (about / "entry_points.txt").write_text(f"[{_PLUGINS}]\nspecmon-probe-toggle = in_a_server:register\n")
        (options.install / "in_a_server.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    if options.notes is not None:
        found = list(blocks(options.notes.read_text(encoding="ascii").splitlines(), options.running))
        fours = changes(found)
        off = [mean for _, is_on, mean in found if mean is not None and not is_on]
        if len(fours) < 2:
            raise SystemExit(
                f"{len(fours)} times four clean blocks: keep {options.running} requests running for longer"
            )
        print(f"cycle without the probe {statistics.mean(off):.3f} ms, {len(fours)} times four blocks; with it")
        print(f"  median {_interval(fours, statistics.median)}, mean {_interval(fours, statistics.fmean)}")


if __name__ == "__main__":
    main()
