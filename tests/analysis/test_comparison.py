"""Speed-up, break-even and the verdict word, in the order in which they are tried."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from specmon.analysis.comparability import fatal_differences, graph_mismatch, is_same_load, qualifications
from specmon.analysis.comparison import common_level, compare_levels, compare_with_number
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.analysis.student import student95
from specmon.analysis.uncertainty import LogError


def _level(
    decode: float | None,
    spread: float = 0.01,
    *,
    running: int = 1,
    clean: int = 50,
    accept: float = 1.0,
    delivered: float | None = None,
    context: float | None = None,
    queue: float | None = None,
    graph: str = "true",
) -> LevelFigures:
    return LevelFigures(
        running=running,
        samples=clean,
        clean=clean,
        decode_tok_s=decode,
        decode_tok_s_ci95=None if decode is None or clean < 6 else (decode * (1 - spread), decode * (1 + spread)),
        delivered_tok_s=delivered,
        accept_len=accept,
        cycle_ms=None if decode is None else 1000 * accept * running / decode,
        context_tokens=context,
        queue=queue,
        cuda_graph=graph,
    )


def test_break_even_and_headroom_follow_from_the_cycles() -> None:
    found = compare_levels(_level(62.9), _level(75.9, accept=2.10))
    assert found.speedup == pytest.approx(1.207, rel=1e-3)
    assert found.break_even_accept_len == pytest.approx(1.74, rel=1e-3)
    assert found.headroom is not None
    assert found.speedup == pytest.approx(found.headroom + 1)


@pytest.mark.parametrize(
    ("speculative", "spread", "clean", "verdict"),
    [
        (150.0, 0.01, 50, "faster"),
        (60.0, 0.01, 50, "slower"),
        (100.0, 0.002, 50, "equal"),
        (101.0, 0.002, 50, "equal"),  # surely faster, by less than it is worth
        (102.0, 0.03, 50, "cannot tell"),
        (150.0, 0.01, 9, "cannot tell"),
        (None, 0.01, 50, "cannot tell"),
    ],
)
def test_verdict(speculative: float | None, spread: float, clean: int, verdict: str) -> None:
    found = compare_levels(_level(100.0, spread), _level(speculative, spread, clean=clean, accept=2.0))
    assert found.verdict == verdict


def test_delivered_speedup_has_an_interval() -> None:
    error = LogError(0.02, 10)
    base = replace(_level(100.0, delivered=95.0), delivered_error=error)
    found = compare_levels(base, replace(_level(150.0, delivered=140.0), delivered_error=error))
    assert found.delivered_ci95 is not None
    half = student95(20) * 0.02 * math.sqrt(2)
    assert found.delivered_ci95[1] == pytest.approx(140 / 95 * math.exp(half))


def test_spread_between_sessions_widens_and_no_number_of_samples_removes_it() -> None:
    alone = compare_levels(_level(100.0, 0.002), _level(103.0, 0.002))
    assert alone.verdict == "faster"
    wide = compare_levels(_level(100.0, 0.002), _level(103.0, 0.002), between=0.05)
    assert (wide.verdict, wide.decided_by, wide.between) == ("cannot tell", None, 0.05)
    assert wide.ci95 is not None
    assert math.log(wide.ci95[1] / 1.03) == pytest.approx(1.96 * 0.05, rel=0.01)


def test_undecided_says_how_many_samples_would_decide() -> None:
    found = compare_levels(_level(100.0, 0.03), _level(102.0, 0.03, accept=2.0))
    assert found.decided_by is not None
    assert 150 < found.decided_by < 300  # half width 4.2 %, distance 2 %: about (4.2 / 2)² times 50


def test_fatal_difference_comes_before_speed() -> None:
    assert compare_levels(_level(100.0), _level(500.0, clean=3), is_comparable=False).verdict == "not comparable"


def test_delivery_that_disagrees_is_noticed() -> None:
    found = compare_levels(_level(100.0, delivered=95.0), _level(150.0, accept=3.0, delivered=92.0))
    assert found.delivered_speedup == pytest.approx(0.968, rel=1e-3)
    assert found.is_delivery_different
    assert not compare_levels(_level(100.0, delivered=95.0), _level(150.0, delivered=140.0)).is_delivery_different
    # On two sides of 1, but by nothing.
    assert not compare_levels(_level(100.0, delivered=95.0), _level(100.1, delivered=94.9)).is_delivery_different


def test_common_level_has_most_clean_samples_on_its_weaker_side() -> None:
    baseline = RunFigures(levels=(_level(1.0, clean=100), _level(1.0, running=4, clean=20), _level(1.0, running=9)))
    speculative = RunFigures(levels=(_level(1.0, clean=5), _level(1.0, running=4, clean=30)))
    pair = common_level(baseline, speculative)
    assert pair is not None
    assert [level.running for level in pair] == [4, 4]
    asked = common_level(baseline, speculative, 1)
    assert asked is not None
    assert asked[0].running == 1
    assert common_level(baseline, speculative, 9) is None


def test_against_a_recorded_number() -> None:
    found = compare_with_number(_level(75.9, accept=2.10), 88.8, 11.26)
    assert found is not None
    assert found.speedup == pytest.approx(0.855, rel=1e-3)
    assert found.break_even_accept_len == pytest.approx(2.46, rel=2e-3)
    assert found.verdict == "slower"
    assert compare_with_number(_level(None), 88.8, 11.26) is None


@pytest.mark.parametrize("name", ["model_path", "tp_size", "quantization", "kv_cache_dtype"])
def test_fatal_flags(name: str) -> None:
    assert len(fatal_differences({name: "a"}, {name: "b"})) == 1
    assert fatal_differences({name: "a"}, {}) == ()
    assert fatal_differences({name: "a"}, {name: "a"}) == ()


def test_one_model_in_two_places_is_only_noted() -> None:
    flags = {"model_path": "/a/kimi"}, {"model_path": "/b/kimi"}
    assert fatal_differences(*flags) == ()
    assert "same name" in qualifications(*flags, None, None)[0]


@pytest.mark.parametrize(
    ("baseline", "speculative", "word"),
    [
        (_level(1.0, context=300), _level(1.0, context=700), "contexts"),
        (_level(1.0), _level(1.0, queue=3), "queue"),
        (_level(1.0), _level(1.0, graph="mixed"), "graphs"),
    ],
)
def test_what_stands_beside_a_verdict(baseline: LevelFigures, speculative: LevelFigures, word: str) -> None:
    (reason,) = qualifications({}, {}, baseline, speculative)
    assert word in reason


def test_same_load_needs_like_contexts_and_queues() -> None:
    assert is_same_load(_level(1.0, context=300), _level(1.0, context=500))
    assert not is_same_load(_level(1.0, context=300), _level(1.0, context=700))
    assert not is_same_load(_level(1.0), _level(1.0, queue=1))


def test_server_without_graphs_is_not_compared_with_one_that_has_them() -> None:
    (reason,) = graph_mismatch(_level(1.0, graph="false"), _level(1.0))
    assert reason == "the baseline ran without CUDA graphs, the speculative server with"
    assert graph_mismatch(_level(1.0), _level(1.0)) == ()
    assert graph_mismatch(_level(1.0, graph="unknown"), _level(1.0)) == ()
