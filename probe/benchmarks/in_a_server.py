"""What the probe changes of a decode cycle in a running SGLang (0.5.11 and later): it is taken out and put back.

    python probe/benchmarks/in_a_server.py --install FOLDER     # makes this file a plugin of SGLang
    PYTHONPATH=FOLDER SPECMON_TOGGLE=cycles.txt python -m sglang.launch_server ...   # with the probe installed
    python probe/benchmarks/in_a_server.py --load http://127.0.0.1:30000 --running 8 --out waves.txt
    python probe/benchmarks/in_a_server.py cycles.txt waves.txt --running 8

The load is waves: so many requests that start together, each with the same prompts as in every other wave, and the
next wave when all are done. So the same cycle of two waves has the same context and the same accepted tokens. The
classes of the server hold the probe's methods in one wave and SGLang's own in another, in the order on, off, off, on
and then off, on, on, off, so that what grows steadily falls out of four waves. Only cycles with all the requests of
the wave count.

With two addresses after --load, the first is a server with the probe and the second one without it
(`SPECMON_PROBE=0`): the waves go to the one and the other in that order, and `waves.txt` alone tells the change.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, SimpleNamespace

SETTLING = 16  # cycles of a wave left out: requests of a wave do not all begin in the same cycle
_PLUGINS = "sglang.srt.plugins"
_SCHEDULER = "sglang.srt.managers.scheduler"
_NAME = "specmon-wave"  # the requests' ids: NAME-REQUESTS-WAVE-INDEX
_TIMEOUT_S = 600.0

Waves = dict[int, tuple[bool, float]]  # by number: with the probe or not, and what was measured


def is_on(wave: int) -> bool:
    """Whether the probe is in the server in a wave."""
    return wave % 8 in (0, 3, 5, 6)


# -- in the server


class Toggle:
    """Around `Scheduler.run_batch`: notes when each cycle of a wave begins, and switches between waves."""

    def __init__(self, path: str, switch: Callable[[bool], None]) -> None:
        self._path = Path(path)
        self._path.write_text("", encoding="ascii")
        self._switch = switch
        self._wave = ""
        self._is_on = True
        self._notes: list[str] = []

    def around(
        self, original: Callable[..., object], scheduler: object, batch: SimpleNamespace, *more: object
    ) -> object:
        wave = _wave_of(batch)
        if wave != self._wave:
            self._next_wave(wave)
        if wave:
            running = len(batch.reqs) if batch.forward_mode.is_decode() else 0
            self._notes.append(f"{time.perf_counter_ns()} {running} {wave} {int(self._is_on)}\n")
        return original(scheduler, batch, *more)

    def _next_wave(self, wave: str) -> None:
        with self._path.open("a", encoding="ascii") as file:  # in the part of a wave that is left out
            file.writelines(self._notes)
        self._notes.clear()
        self._wave = wave
        wanted = not wave or is_on(int(wave.split()[1]))
        if wanted != self._is_on:
            self._is_on = wanted
            self._switch(wanted)


def _wave_of(batch: SimpleNamespace) -> str:
    """REQUESTS and WAVE of a batch of the load below; "" of any other."""
    rid = str(batch.reqs[0].rid) if batch.reqs else ""
    return " ".join(rid.split("-")[2:4]) if rid.startswith(_NAME) else ""


_hooked: list[tuple[type, str, object, object]] = []  # class, method, the probe's, SGLang's own


def _switch(wanted: bool) -> None:
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
        setattr(owner, method, hook if wanted else original)
    cycles = None if install.probe is None else install.probe._cycles
    if cycles is not None:
        cycles.break_chain()  # no cycle may last through a wave without the probe


def register() -> None:
    """What SGLang calls; only a scheduler is hooked."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_PLUGINS):
        frame = frame.f_back
    path = os.environ.get("SPECMON_TOGGLE")
    if frame is not None and frame.f_globals.get("__name__") == _SCHEDULER and path:
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        HookRegistry.register(f"{_SCHEDULER}.Scheduler.run_batch", Toggle(path, _switch).around, HookType.AROUND)


# -- the load


def _wave(url: str, running: int, tokens: int, name: str | None) -> tuple[float, int]:
    """One wave: seconds and tokens. Without a name it is not noted, and the probe stays in."""
    asked = {
        "text": [f"def number_{index}(value):\n    '''No. {7919 * index % 1000}'''\n" for index in range(running)],
        "sampling_params": {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True},
    }
    if name is not None:
        asked["rid"] = [f"{_NAME}-{running}-{name}-{index}" for index in range(running)]
    request = urllib.request.Request(
        f"{url}/generate", json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    begun_s = time.perf_counter()
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        got = json.load(answer)
    return time.perf_counter() - begun_s, sum(each["meta_info"]["completion_tokens"] for each in got)


def load(urls: list[str], running: int, tokens: int, seconds: float, out: Path, *, is_named: bool = True) -> None:
    """Send waves, four at least, and write a line for each: REQUESTS WAVE ON SECONDS TOKENS."""
    for url in urls:
        for _ in range(2):
            _wave(url, running, tokens, None)
    ends_s = time.monotonic() + seconds
    wave = 0
    with out.open("a", encoding="ascii") as lines:
        while time.monotonic() < ends_s or (is_named and wave % 4):
            url = urls[0] if is_on(wave) else urls[-1]
            took_s, got = _wave(url, running, tokens, str(wave) if is_named else None)
            lines.write(f"{running} {wave} {int(is_on(wave) or not is_named)} {took_s:.6f} {got}\n")
            wave += 1


# -- what comes out


def cycles_of(lines: Iterable[str], running: int) -> Waves:
    """Mean cycle of each wave in ms, over the cycles with all its requests."""
    starts: dict[int, list[int]] = {}
    modes: dict[int, bool] = {}
    for line in lines:
        at_ns, now, of, wave, mode = map(int, line.split())
        if of == now == running:
            if wave < max(starts, default=0):
                starts.clear()  # another load, whose waves are counted from 0 again
            starts.setdefault(wave, []).append(at_ns)
            modes[wave] = bool(mode)
    return {
        wave: (modes[wave], (at[-1] - at[SETTLING]) / (len(at) - 1 - SETTLING) / 1e6)
        for wave, at in starts.items()
        if len(at) > 2 * SETTLING
    }


def rates_of(lines: Iterable[str], running: int) -> Waves:
    """Tokens a second of each wave as the client saw it: prefill and HTTP are in it."""
    rates: Waves = {}
    for line in lines:
        of, wave, mode, took_s, tokens = line.split()
        if int(of) == running:
            if int(wave) < max(rates, default=0):
                rates.clear()
            rates[int(wave)] = (mode == "1", float(tokens) / float(took_s))
    return rates


def changes(waves: Waves) -> list[float]:
    """Change in percent with the probe for each four waves that are all there."""
    fours: dict[int, list[tuple[bool, float]]] = {}
    for number, measured in waves.items():
        fours.setdefault(number // 4, []).append(measured)
    whole = [four for four in fours.values() if len(four) == 4]
    return [100 * (sum(m for on, m in four if on) / sum(m for on, m in four if not on) - 1) for four in whole]


def _interval(values: list[float], of: Callable[[list[float]], float]) -> str:
    chance = random.Random(1)
    drawn = sorted(of(chance.choices(values, k=len(values))) for _ in range(10_000))
    return f"{of(values):+.2f} % (95 % {drawn[250]:+.2f} to {drawn[9749]:+.2f})"


def _tell(what: str, unit: str, waves: Waves, running: int) -> None:
    found = changes(waves)
    if len(found) < 2:
        raise SystemExit(f"{len(found)} times four waves of {running} requests: load the server for longer")
    off = statistics.mean(value for on, value in waves.values() if not on)
    print(f"{what} without the probe {off:.3f} {unit}, {len(found)} times four waves; with it")
    print(f"  mean {_interval(found, statistics.fmean)}, median {_interval(found, statistics.median)}")


def main() -> None:
    """Install, load, or print the change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", nargs="*", type=Path)
    parser.add_argument("--running", type=int, default=1, help="requests of a wave")
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    parser.add_argument("--load", nargs="+", metavar="URL")
    parser.add_argument("--tokens", type=int, default=400, help="that each request makes")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("waves.txt"))
    parser.add_argument("--plain", action="store_true", help="only load: the probe stays in the server")
    options = parser.parse_args()
    if options.install is not None:
        about = options.install / "specmon_probe_toggle-0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: specmon-probe-toggle\nVersion: 0\n")
        (about / "entry_points.txt").write_text(f"[{_PLUGINS}]\nspecmon-probe-toggle = in_a_server:register\n")
        (options.install / "in_a_server.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    if options.load:
        load(options.load, options.running, options.tokens, options.seconds, options.out, is_named=not options.plain)
    for path in options.notes:
        lines = path.read_text(encoding="ascii").splitlines()
        if lines and "." in lines[0]:
            _tell("client", "tok/s", rates_of(lines, options.running), options.running)
        else:
            _tell("cycle", "ms", cycles_of(lines, options.running), options.running)


if __name__ == "__main__":
    main()
