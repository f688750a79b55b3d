"""The benchmark that takes the probe out of a running server and puts it back: what it makes of its notes."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

_CYCLES = 60  # of a wave


def _load(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "probe" / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


in_a_server = _load("in_a_server")
same_span = _load("same_span")


def _notes(waves: int, *, cost: float = 0.0, growth: float = 0.0, short: int | None = None) -> list[str]:
    """Waves of 8 requests whose cycles of 4 ms grow with the context, and take a share more with the probe."""
    at, lines = 0, []
    for wave in range(waves):
        is_on = in_a_server.is_on(wave)
        for cycle in range(_CYCLES if wave != short else 20):
            running = 1 if cycle < 2 else 8
            lines.append(f"{at} {running} 8 {wave} {int(is_on)}")
            at += int(4_000_000 * (1 + 0.01 * cycle) * (1 + growth * wave) * (1 + cost * is_on))
    return lines


@pytest.mark.parametrize("cost", [0.0, 0.01, -0.02])
def test_change_of_the_cycle_is_found_though_cycles_grow_within_waves_and_over_them(cost: float) -> None:
    found = in_a_server.cycles_of(_notes(16, cost=cost, growth=0.001), 8)
    assert in_a_server.changes(found) == pytest.approx([100 * cost] * 4, abs=0.01)


def test_four_waves_of_which_one_is_too_short_are_left_out() -> None:
    found = in_a_server.cycles_of(_notes(16, short=5), 8)
    assert set(range(16)) - found.keys() == {5}
    assert len(in_a_server.changes(found)) == 3


def test_waves_of_other_sizes_are_left_out() -> None:
    assert in_a_server.changes(in_a_server.cycles_of(_notes(16), 1)) == []


def test_of_two_loads_of_one_server_the_second_counts() -> None:
    earlier = _notes(16, cost=0.5)
    found = in_a_server.cycles_of([*earlier, *_notes(8, cost=0.01)], 8)
    assert in_a_server.changes(found) == pytest.approx([1.0] * 2, abs=0.01)


def test_rate_of_the_client_is_compared_in_the_same_way() -> None:
    lines = [
        f"8 {wave} {int(in_a_server.is_on(wave))} {2.02 if in_a_server.is_on(wave) else 2.0} 4000" for wave in range(8)
    ]
    assert in_a_server.changes(in_a_server.rates_of(lines, 8)) == pytest.approx([-0.99] * 2, abs=0.01)


def test_methods_change_between_waves_only_and_the_probe_is_in_the_server_for_all_other_requests(
    tmp_path: Path,
) -> None:
    switched: list[bool] = []
    toggle = in_a_server.Toggle(str(tmp_path / "notes"), switched.append)
    mode = SimpleNamespace(is_decode=lambda: True)
    seen = []
    for rid in ("else", *(f"specmon-wave-2-{wave}-0" for wave in range(4)), "else"):
        batch = SimpleNamespace(reqs=[SimpleNamespace(rid=rid)] * 2, forward_mode=mode)
        for _ in range(3):
            toggle.around(lambda *_: seen.append(len(switched)), None, batch)
    assert switched == [False, True]
    assert seen == [0] * 6 + [1] * 6 + [2] * 6
    rows = [line.split()[1:] for line in (tmp_path / "notes").read_text().splitlines()]
    assert rows == [["2", "2", str(wave), mode] for wave, mode in enumerate("1001") for _ in range(3)]


def test_own_events_and_the_timer_s_are_set_against_each_other_pass_by_pass_for_each_stretch_of_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(same_span.time, "time", lambda: now_s)

    class Event:
        def record(self) -> None:
            self.at_ms = 1000 * now_s

        def query(self) -> bool:
            return True

        def elapsed_time(self, end: Event) -> float:
            return end.at_ms - self.at_ms

    spans = same_span.Spans(str(tmp_path / "spans"), Event)
    reporters: list[Callable[..., None]] = []
    spans.listen(lambda *_: None, SimpleNamespace(add_reporter=reporters.append), "its own reporter")
    hook = spans.around("eagle_draft")

    def replay(ms: float) -> None:
        nonlocal now_s
        now_s += ms / 1000
        reporters[0](t=1.02 * ms / 1000, category="eagle_draft")

    for ms in (10.0, 20.0):
        for _ in range(300):
            hook(replay, ms)
        now_s += 5
    hook(replay, 1.0)
    first, second = same_span.stretches((tmp_path / "spans").read_text().splitlines())
    assert first["eagle_draft"][1:] == pytest.approx((10.0, 10.2))
    assert second["eagle_draft"][1:] == pytest.approx((20.0, 20.4))


def test_genuine_device_timer_counts_what_events_around_the_same_spans_count() -> None:
    """SGLang 0.5.16 with STANDALONE on an H200, at 1, 8 and 4 requests; the last stretch is a single short request."""
    spans = Path(__file__).parents[1] / "data" / "metrics" / "sglang-0.5.16-standalone-spans.txt"
    loads = [found for found in same_span.stretches(spans.read_text().splitlines()) if found["eagle_draft"][0] > 1000]
    assert len(loads) == 3
    for found in loads:
        assert set(found) == {"eagle_draft", "eagle_draft_extend", "target_verify"}
        for _, own_ms, timer_ms in found.values():
            assert own_ms == pytest.approx(timer_ms, rel=0.03)


@pytest.mark.parametrize("name", ["in_a_server", "same_span"])
def test_plugin_is_found_by_its_entry_point(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name, "--install", str(tmp_path)])
    _load(name).main()
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    (entry,) = found.entry_points
    assert (entry.group, entry.value) == ("sglang.srt.plugins", f"{name}:register")
    assert (tmp_path / f"{name}.py").is_file()
