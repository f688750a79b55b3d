"""The verdict on two logs: one sentence for whatever they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from specmon.analysis.load import Band
from specmon.errors import ConfigError
from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.monitor.verdict import Judged, attribution_of
from specmon.references.model import Reference, ReferenceLevel

from .lines import decode, decodes, feed, launch, plain, prefill, ready, session_of

_BASE = launch(0)
_SPEC = launch(0, speculative_algorithm="EAGLE3")


def _noisy(tok_s: float, count: int = 40, *, accept: float | None = None, running: int = 1, seed: int = 1) -> str:
    chance = np.random.default_rng(seed)
    at, lines = 10.0, []
    for factor in chance.normal(1, 0.005, count).tolist():
        at += 40 * running * (accept or 1.0) / tok_s
        lines.append(decode(at, tok_s * factor, accept=accept, running=running))
    return "".join(lines)


def _wandering(tok_s: float, *, accept: float | None = None, seed: int = 1) -> str:
    """Throughput per request at a load that stays nowhere for more than two lines."""
    chance = np.random.default_rng(seed)
    loads = [12, 16, *chance.permutation(np.repeat(np.arange(28, 37), 3)).tolist()]
    lines = []
    at = 10.0
    for running in loads:
        for _ in range(2):
            at += 40 * (accept or 1.0) / tok_s
            speed = tok_s * running * (1 + chance.normal(0, 0.005))
            lines.append(decode(at, speed, running=running, accept=accept))
    return "".join(lines)


def _judged(baseline: str, speculative: str, running: int | Band | None = None) -> Judged:
    session = Session(running=running)
    for key, text in (("base", baseline), ("spec", speculative)):
        session.add(key, f"/logs/{key}.log", role=Role.BASELINE if key == "base" else Role.SPECULATIVE)
        feed(session, key, text)
    session.finish()
    judged = session.judge()
    assert judged is not None
    return judged


@pytest.mark.parametrize(
    ("baseline", "speculative", "sentence"),
    [
        (
            _BASE + _noisy(62.9),
            _SPEC + _noisy(75.9, accept=2.1),
            "speculation decodes faster: 1.21× (95 % 1.20 to 1.21) at 1 running, 75.9 against 62.9 tok/s",
        ),
        (
            _BASE + _noisy(62.9),
            _SPEC + _noisy(62.9, accept=2.1),
            "equal within 2 %: 1.00× (95 % 1.00 to 1.00) at 1 running, 62.9 against 62.9 tok/s",
        ),
        (
            _BASE + decodes(10, 30),
            _SPEC + decodes(10, 2, accept=2.0),
            "cannot tell at 1 running: 29 and 1 clean samples (baseline, speculative), 10 a side are needed "
            "(so far 1.00×)",
        ),
        (
            _BASE + decodes(10, 1),
            _SPEC + decodes(10, 30, accept=2.0),
            "cannot tell at 1 running: 0 and 29 clean samples (baseline, speculative), 10 a side are needed",
        ),
        (
            _BASE + "".join(prefill(10 + s) + decode(10.5 + s) for s in range(20)),
            _SPEC + decodes(10, 30, accept=2.0),
            "cannot tell at 1 running: 0 and 29 clean samples (baseline, speculative), 10 a side are needed",
        ),
        (
            _BASE + decodes(10, 30, running=1),
            _SPEC + decodes(10, 30, running=4, accept=2.0),
            "cannot tell: no common number of running requests (baseline 1; speculative 4)",
        ),
        (_BASE, _SPEC + decodes(10, 30, accept=2.0), "cannot tell: the baseline server has no decode sample yet"),
        (
            _BASE + "".join(decode(10.0 + second, 0.0) for second in range(30)),
            _SPEC + decodes(10, 30, accept=2.0),
            "cannot tell at 1 running: 0 and 29 clean samples (baseline, speculative), 10 a side are needed",
        ),
        (
            _BASE + decodes(10, 30).replace("100.00", "nan"),
            _SPEC + decodes(10, 30, accept=2.0),
            "cannot tell: the baseline server has no decode sample yet",
        ),
    ],
    ids=["faster", "equal", "one sample", "first only", "all dirty", "no common level", "no sample", "zero", "nan"],
)
def test_every_pair_of_logs_gets_a_sentence(baseline: str, speculative: str, sentence: str) -> None:
    assert _judged(baseline, speculative).sentence == sentence


def test_one_log_on_both_sides_is_not_compared() -> None:
    log = _BASE + _noisy(62.9)
    judged = _judged(log, log)
    assert judged.sentence == "not comparable: both sides hold the same samples: it is one log given twice"


@pytest.mark.parametrize(
    ("logs", "kind", "words"),
    [
        ((_BASE, _BASE), "several_baseline", "2 baseline servers were given (a, b). Choose one with --baseline"),
        ((_SPEC, _SPEC), "several_speculative", "2 speculative servers were given (a, b). Choose one with --spec"),
    ],
)
def test_two_servers_of_one_role_ask_for_a_choice(logs: tuple[str, str], kind: str, words: str) -> None:
    tail = decodes(10, 30, accept=None if kind == "several_baseline" else 2.0)
    session = Session()
    for key, text in zip("ab", logs, strict=True):
        session.add(key, f"/logs/{key}.log", label=key)
        feed(session, key, text + tail)
    session.finish()
    assert session.judge() is None
    (notice,) = session.notices()
    assert notice.kind == kind
    assert notice.text.startswith(words)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_path": "/models/glm"}, "the models differ (/models/kimi against /models/glm)"),
        ({"tp_size": 4}, "tensor parallelism differs (8 against 4)"),
        ({"dp_size": 2}, "data parallelism differs (1 against 2)"),
        ({"pp_size": 2}, "pipeline parallelism differs (1 against 2)"),
        ({"quantization": "fp8"}, "the quantisation differs (awq against fp8)"),
        ({"kv_cache_dtype": "fp8_e5m2"}, "the KV cache types differ (auto against fp8_e5m2)"),
    ],
)
def test_fatal_difference_refuses(change: dict[str, object], reason: str) -> None:
    flags: dict[str, object] = {"quantization": "awq", "kv_cache_dtype": "auto"}
    judged = _judged(
        launch(0, **flags) + _noisy(62.9),
        launch(0, speculative_algorithm="EAGLE3", **(flags | change)) + _noisy(75.9, accept=2.1),
    )
    assert judged.comparison.verdict == "not comparable"
    assert reason in judged.reasons
    assert judged.sentence == f"not comparable: {reason}"


def test_servers_with_and_without_graphs_are_refused() -> None:
    slow = _noisy(62.9).replace("cuda graph: True", "cuda graph: False")
    judged = _judged(_BASE + slow, _SPEC + _noisy(75.9, accept=2.1))
    assert judged.sentence == "not comparable: the baseline ran without CUDA graphs, the speculative server with"


@pytest.mark.parametrize(
    ("baseline", "speculative", "reason"),
    [
        (
            launch(0, disable_overlap_schedule=True) + _noisy(62.9),
            launch(0, speculative_algorithm="EAGLE3", disable_overlap_schedule=False) + _noisy(75.9, accept=2.1),
            "only one of the two schedules with overlap",
        ),
        (
            _BASE + _noisy(62.9),
            _SPEC + _noisy(75.9, accept=2.1).replace("#token: 300", "#token: 700"),
            "the contexts differ more than twofold (300 and 700 tokens a request)",
        ),
        (
            _BASE + _noisy(62.9),
            _SPEC + _noisy(75.9, accept=2.1).replace("#queue-req: 0", "#queue-req: 3"),
            "requests wait in the queue (0 and 3)",
        ),
        (
            _BASE + _noisy(62.9, 60).replace("cuda graph: True", "cuda graph: False", 30),
            _SPEC + _noisy(75.9, accept=2.1),
            "CUDA graphs: mixed on the baseline, true on the other",
        ),
    ],
    ids=["overlap", "context", "queue", "graphs"],
)
def test_other_differences_stand_beside_the_verdict(baseline: str, speculative: str, reason: str) -> None:
    judged = _judged(baseline, speculative)
    assert judged.comparison.verdict == "faster"
    assert reason in judged.reasons


def test_another_engine_version_stands_beside_the_verdict() -> None:
    session = session_of(base=_BASE + _noisy(62.9), spec=_SPEC + _noisy(75.9, accept=2.1))
    for server, version in zip(session.servers, ("0.5.8", "0.5.9"), strict=True):
        assert server.life is not None
        assert server.life.launch is not None
        server.life.launch = replace(server.life.launch, version=version)
    judged = session.judge()
    assert judged is not None
    assert judged.comparison.verdict == "faster"
    assert "the engine versions differ (0.5.8 and 0.5.9)" in judged.reasons


def test_wandering_load_is_compared_over_a_band() -> None:
    judged = _judged(_BASE + _wandering(30.0), _SPEC + _wandering(39.0, accept=2.1, seed=2))
    assert judged.comparison.verdict == "faster"
    assert judged.comparison.running_range == (29, 35)
    assert judged.sentence.startswith("speculation decodes faster: 1.30× (95 % 1.")
    assert "at 29 to 35 running, 39.0 against 30.0 tok/s a request" in judged.sentence


def test_asked_band_and_asked_level_are_taken() -> None:
    logs = _BASE + _wandering(30.0), _SPEC + _wandering(39.0, accept=2.1, seed=2)
    assert _judged(*logs, Band(30, 31)).comparison.running_range == (30, 31)
    at_level = _judged(*logs, 30)
    assert (at_level.comparison.running, at_level.comparison.running_range) == (30, None)
    nowhere = _judged(*logs, Band(50, 60)).sentence
    assert nowhere.startswith("cannot tell: not both servers ran 50 to 60 requests (baseline 12, 16, 28")


def test_full_level_is_preferred_to_a_band() -> None:
    judged = _judged(
        _BASE + _wandering(30.0) + decodes(1000, 30, 3000.0, running=60),
        _SPEC + _wandering(39.0, accept=2.1) + decodes(1000, 30, 3300.0, running=60, accept=2.0),
    )
    assert (judged.comparison.running, judged.comparison.running_range) == (60, None)


def _reference(spread: float | None) -> Reference:
    return Reference(name="tuned", levels=(ReferenceLevel(running=1, tok_s=62.9, spread=spread),))


def test_spread_between_sessions_of_the_reference_widens_the_interval() -> None:
    found = []
    for spread in (None, 0.02, 0.2):
        session = Session(reference=_reference(spread))
        feed(session, "base", _BASE + _noisy(62.9))
        feed(session, "spec", _SPEC + _noisy(67.0, accept=2.1))
        session.finish()
        judged = session.judge()
        assert judged is not None
        found.append(judged)
    assert [judged.comparison.verdict for judged in found] == ["faster", "faster", "cannot tell"]
    narrow, wide = found[0].comparison.ci95, found[1].comparison.ci95
    assert narrow is not None
    assert wide is not None
    assert wide[1] - wide[0] > 5 * (narrow[1] - narrow[0])
    assert "sessions of reference tuned differ by 2.0 %; the interval holds that" in found[1].reasons
    assert found[2].sentence.endswith("sessions of the reference differ too much for any number of samples to decide")
    assert [judged.against.verdict for judged in found if judged.against] == ["faster", "faster", "cannot tell"]


def test_speedup_is_attributed_and_a_restart_too() -> None:
    before = _SPEC + decodes(10, 30, 70.0, accept=2.1)
    now = launch(100, speculative_algorithm="EAGLE3") + decodes(110, 30, 77.0, accept=2.1)
    session = session_of(base=_BASE + decodes(10, 30, 62.5), spec=before + ready(90) + now)
    baseline, speculative = session.pair()
    assert baseline is not None
    assert speculative is not None
    judged = session.judge()
    assert judged is not None
    assert baseline.life is not None
    assert speculative.life is not None
    told = attribution_of(judged.comparison, baseline.life, speculative.life, speculative.lives[0])
    assert told == (
        "2.10 tokens a cycle gain 2.10×, a cycle of 27.3 ms instead of 16.0 ms costs 1.70×. "
        "since its run before: cycle 30.0 → 27.3 ms (−9.1 %)"
    )


@pytest.mark.parametrize(
    ("text", "load"), [(None, None), ("8", 8), ("28-34", Band(28, 34)), (" 28..34 ", Band(28, 34)), ("8-8", Band(8, 8))]
)
def test_asked_load(text: str | None, load: int | Band | None) -> None:
    assert asked_load(text) == load


@pytest.mark.parametrize(
    ("text", "words"), [("0", "no number"), ("", "no number"), ("x", "no number"), ("9-8", "Swap")]
)
def test_what_is_no_load_is_refused_with_the_form_to_write(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        asked_load(text)


def test_phases_of_the_probe_enter_the_attribution() -> None:
    phases = plain(
        60,
        "specmon-phase v1 cycles=40 running=1 draft_ms=0.610 verify_ms=26.500 draft_extend_ms=0.410 cycle_ms=27.700 "
        "accept_len=2.10",
    )
    session = session_of(base=_BASE + _noisy(62.9), spec=_SPEC + _noisy(75.9, accept=2.1) + phases)
    baseline, speculative = (server.life if server is not None else None for server in session.pair())
    judged = session.judge()
    assert judged is not None
    assert baseline is not None
    assert speculative is not None
    told = attribution_of(judged.comparison, baseline, speculative)
    assert told is not None
    assert "; verify takes 26.5 ms of it (96 %), " in told


def test_sums_over_different_numbers_of_ranks_are_no_ratio() -> None:
    def ranks(count: int, tok_s: float, accept: float | None = None) -> str:
        return "".join(
            decode(1 + step, tok_s, accept=accept, tag=f"DP{rank} TP{rank}")
            for step in range(40)
            for rank in range(count)
        )

    session = session_of(base=_BASE + ranks(3, 100.0), spec=_SPEC + ranks(2, 133.0, accept=2.0))
    judged = session.judge()
    assert judged is not None
    assert judged.comparison.verdict == "not comparable"
    assert "sums over 3 and 2 ranks" in judged.sentence
