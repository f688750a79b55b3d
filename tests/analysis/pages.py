"""Metrics pages written by hand for the tests of what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from specmon.analysis.counters import reading_of
from specmon.analysis.countertimes import CounterTimes
from specmon.formats.metricspage import read_series
from specmon.scrape import Scrape

DATA = Path(__file__).parents[1] / "data" / "metrics"


def scrape(text: str, at: float | None = None) -> Scrape:
    """One page."""
    (page,) = read_series(f"{line.strip()}\n".encode() for line in text.strip().splitlines())
    assert isinstance(page, Scrape)
    return Scrape(at, page.samples, page.refused_figures)


def sglang(
    at: float,
    *,
    passes: float,
    tokens: float,
    running: float = 1,
    seconds: Mapping[str, float] | None = None,
    answered: float | None = None,
    verifies: float | None = None,
    eager: float = 0,
) -> Scrape:
    """A page of SGLang with one rank."""
    lines = [
        f'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",tp_rank="0"}} {passes}',
        f'sglang:cuda_graph_passes_total{{mode="decode_none",tp_rank="0"}} {eager}',
        'sglang:cuda_graph_passes_total{mode="prefill_none",tp_rank="0"} 12345',
        f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {tokens}',
        'sglang:realtime_tokens_total{mode="prefill_compute",tp_rank="0"} 54321',
        f'sglang:num_running_reqs{{tp_rank="0"}} {running}',
    ]
    lines += [
        f'sglang:forward_execution_seconds_total{{category="{name}",tp_rank="0"}} {value}'
        for name, value in (seconds or {}).items()
    ]
    if answered is not None:
        lines.append(f"sglang:generation_tokens_total {answered}")
    if verifies is not None:
        lines.append(f"sglang:spec_verify_calls_total {verifies}")
    return scrape("\n".join(lines), at)


def times_of(*pages: Scrape) -> CounterTimes:
    """The figures of a series."""
    times = CounterTimes()
    for page in pages:
        times.add(reading_of(page))
    times.finish()
    return times


def times_of_files(*names: str) -> CounterTimes:
    """The figures of genuine files, read one after the other."""
    times = CounterTimes()
    for name in names:
        with (DATA / name).open("rb") as lines:
            for page in read_series(lines):
                assert isinstance(page, Scrape)
                times.add(reading_of(page))
    times.finish()
    return times
