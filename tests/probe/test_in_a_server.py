"""The benchmark that takes the probe out of a running server and puts it back: what it makes of its notes."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

_SIZE = 64  # cycles a block


def _load() -> ModuleType:
    path = Path(__file__).parents[2] / "probe" / "benchmarks" / "in_a_server.py"
    spec = importlib.util.spec_from_file_location("in_a_server", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


in_a_server = _load()


def _notes(blocks: int, *, cost: float = 0.0, growth_ns: int = 0, prefill_in: int | None = None) -> list[str]:
    """Cycles of 4 ms at 8 requests that grow steadily, and take a share more in the blocks with the probe."""
    at, lines = 0, []
    for block in range(blocks):
        is_on = block % 8 in (0, 3, 5, 6)
        for cycle in range(_SIZE):
            running = 0 if block == prefill_in and cycle == 40 else 8
            lines.append(f"{at} {running} {block} {int(is_on)}")
            at += int((4_000_000 + growth_ns * (block * _SIZE + cycle)) * (1 + cost * is_on))
    return lines


@pytest.mark.parametrize("cost", [0.0, 0.01, -0.02])
def test_change_of_the_cycle_is_found_though_the_cycle_grows(cost: float) -> None:
    found = list(in_a_server.blocks(_notes(17, cost=cost, growth_ns=300), 8))
    assert in_a_server.changes(found) == pytest.approx([100 * cost] * 4, abs=0.01)


def test_four_blocks_with_a_prefill_are_left_out() -> None:
    found = list(in_a_server.blocks(_notes(17, prefill_in=5), 8))
    assert [number for number, _, mean in found if mean is None] == [5]
    assert len(in_a_server.changes(found)) == 3


def test_blocks_with_other_requests_are_left_out() -> None:
    assert in_a_server.changes(list(in_a_server.blocks(_notes(17), 1))) == []


def test_plugin_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["in_a_server.py", "--install", str(tmp_path)])
    in_a_server.main()
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    (entry,) = found.entry_points
    assert (entry.group, entry.value) == ("sglang.srt.plugins", "in_a_server:register")
    assert (tmp_path / "in_a_server.py").is_file()
