"""Metrics pages and files of many looks: what is read, and what is refused instead of being taken for numbers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.formats.metricspage import LARGEST_PAGE, LONGEST_LINE, read_series
from specmon.scrape import PageRefused, Refusal, Scrape

DATA = Path(__file__).parents[1] / "data" / "metrics"
PASSES = b'sglang:cuda_graph_passes_total{mode="decode_cuda_graph",tp_rank="0"} 6.0\n'


def read(data: bytes) -> list[Scrape | PageRefused]:
    return list(read_series(data.splitlines(keepends=True)))


def test_looks_of_a_genuine_series_come_with_their_times() -> None:
    pages = read((DATA / "sglang-0.5.16-standalone-timer.metrics-series.txt").read_bytes())
    assert len(pages) == 27
    assert all(isinstance(page, Scrape) for page in pages)
    assert pages[0].at == 1796057715.206
    first = pages[0]
    assert isinstance(first, Scrape)
    told = {(s.name, s.labels.get("mode") or s.labels.get("category")): s.value for s in first.samples}
    assert told["sglang:cuda_graph_passes_total", "decode_cuda_graph"] == 6.0
    assert told["sglang:forward_execution_seconds_total", "target_verify"] == pytest.approx(0.026786, abs=1e-6)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*-before.txt")))
def test_whole_pages_of_engines_are_read_without_a_time(name: str) -> None:
    (page,) = read((DATA / name).read_bytes())
    assert isinstance(page, Scrape)
    assert page.at is None
    assert page.samples


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n", "html"),
        (b"\n  <html>" + PASSES, "html"),
        (PASSES + PASSES[:-5], "cut"),
        (PASSES[:-1], "cut"),
        (b"# HELP up nothing of an engine\nup 1\n", "none"),
        (b'{"detail":"Unauthorized"}\n', "none"),
        (b"", "none"),
        (b'sglang:cuda_graph_passes_total{mode="decode_cuda_graph} 6.0\n', "text"),
        (b"sglang:cuda_graph_passes_total six\n", "text"),
        (b'sglang:cuda_graph_passes_total{mode="x"} 1# scrape 1796057715.2\n', "text"),
    ],
)
def test_page_that_is_none_gives_its_reason_and_no_number(page: bytes, reason: Refusal) -> None:
    assert read(b"# scrape 1.5\n" + page) == [PageRefused(1.5, reason)]


@pytest.mark.parametrize("value", [b"NaN", b"-3.0", b"+Inf", b"-Inf"])
def test_counter_that_is_no_count_is_left_out_and_counted(value: bytes) -> None:
    (page,) = read(PASSES + b'sglang:realtime_tokens_total{mode="decode"} ' + value + b"\n")
    assert isinstance(page, Scrape)
    assert page.refused_figures == 1
    assert [sample.value for sample in page.samples] == [6.0]


def test_gauge_may_be_nan() -> None:
    (page,) = read(PASSES + b"sglang:num_running_reqs NaN\n")
    assert isinstance(page, Scrape)
    assert page.refused_figures == 0


@pytest.mark.parametrize("line", [b"# a comment that goes on\n", PASSES, b"x" * LONGEST_LINE])
def test_fifty_megabytes_are_refused_without_being_kept(line: bytes) -> None:
    def lines() -> Iterator[bytes]:
        yield b"# scrape 7\n"
        for _ in range(50 * (1 << 20) // len(line)):
            yield line

    tracemalloc.start()
    try:
        found = list(read_series(lines()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [PageRefused(7.0, "large")]
    assert peak < 3 * LARGEST_PAGE


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_raise_and_a_good_page_after_them_is_still_read(noise: bytes, is_first: bool) -> None:
    noise = noise.replace(b"# scrape", b"")
    data = b"# scrape 1\n" + noise + b"\n# scrape 2\n" + PASSES
    pages = read(data if is_first else noise + b"\n" + data)
    assert pages[-1].at == 2.0
    assert isinstance(pages[-1], Scrape)


@given(st.text(max_size=40), st.text(max_size=20))
def test_no_line_of_a_known_name_raises(labels: str, value: str) -> None:
    read(f"sglang:num_running_reqs{{{labels}}} {value}\n".encode("utf-8", "replace"))
