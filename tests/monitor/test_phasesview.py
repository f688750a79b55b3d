"""Phases as the screen gets them: shares, residual, identity, verify cost, history, and what bad input comes to."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from specmon.monitor.phasesview import mend_of
from specmon.monitor.snapshot import ServerView, Snapshot
from specmon.monitor.summarise import Input, summarise

STORY = Path(__file__).resolve().parents[2] / "fixtures" / "story-5-steps"
READ_AT = 1772124042.0  # 2026-02-26 16:40:42 UTC, so that the log needs no other zone
GOOD = "draft_ms=0.610 verify_ms={verify:.3f} draft_extend_ms=0.410 cycle_ms={cycle:.3f}"


def log(lines: list[str], *, accept: float = 2.12, tok_s: float = 71.0) -> bytes:
    """A speculative server's log: a decode line a second, each followed by one of the given lines."""
    rows = ["[2026-02-26 16:40:00] server_args=ServerArgs(model_path='m', speculative_algorithm='EAGLE', port=30001)"]
    for index, line in enumerate(lines):
        stamp = f"[2026-02-26 16:{40 + index // 60:02d}:{index % 60:02d} TP0]"
        rows.append(
            f"{stamp} Decode batch, #running-req: 1, #token: 300, token usage: 0.00, accept len: {accept:.2f}, "
            f"accept rate: 0.40, cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0"
        )
        rows.append(f"{stamp} {line}")
    return ("\n".join(rows) + "\n").encode()


def probe(verify: float = 28.7, cycle: float | None = None) -> str:
    body = GOOD.format(verify=verify, cycle=verify + 1.16 if cycle is None else cycle)
    return f"specmon-phase v1 cycles=40 running=1 {body}"


def shown(lines: list[str]) -> ServerView:
    snapshot = summarise([Input("spec.log", io.BytesIO(log(lines)))], now=READ_AT).snapshot(READ_AT)
    assert snapshot.speculative is not None
    return snapshot.speculative


@pytest.fixture(scope="module")
def story() -> Snapshot:
    inputs = [Input(name, io.BytesIO((STORY / f"{name}.log").read_bytes())) for name in ("base", "spec")]
    return summarise(inputs).snapshot(0.0)


def test_the_story_with_five_steps_spends_96_percent_on_verify(story: Snapshot) -> None:
    assert story.speculative is not None
    phases = story.speculative.phases
    assert phases.source == "probe"
    found = {part.name: (round(part.ms, 1), round(part.share or 0, 2)) for part in phases.parts}
    assert found == {"draft": (0.6, 0.02), "verify": (28.7, 0.96), "draft_extend": (0.4, 0.01), "other": (0.1, 0.0)}
    assert phases.shown is not None
    assert phases.shown.cycle_ms == pytest.approx(29.9, abs=0.05)
    assert sum(part.ms for part in phases.parts) == pytest.approx(phases.shown.cycle_ms)


def test_the_identity_is_checked_on_both_sides(story: Snapshot) -> None:
    for view in (story.baseline, story.speculative):
        assert view is not None
        assert view.phases.identity is not None
        assert view.phases.identity.is_ok
        assert "agrees within 0.1 %" in view.phases.identity.text


def test_verify_is_told_in_steps_of_the_measured_decode_phase(story: Snapshot) -> None:
    assert story.verify_cost is not None
    assert story.verify_cost.multiple == pytest.approx(28.704 / 15.7, rel=1e-3)
    assert story.verify_cost.step == "the baseline's measured decode phase"


def test_unmoved_the_what_if_is_the_comparison(story: Snapshot) -> None:
    assert story.what_if is not None
    assert story.comparison is not None
    assert story.what_if.speedup == pytest.approx(story.comparison.speedup)
    assert story.what_if.break_even_accept_len == pytest.approx(story.comparison.break_even_accept_len)
    assert story.what_if.most_accept_len == 6
    assert story.what_if.verify_multiple == pytest.approx(story.verify_cost.multiple if story.verify_cost else None)


def test_without_a_baseline_with_phases_the_step_of_its_throughput_is_taken() -> None:
    base = (STORY / "base.log").read_bytes()
    bare = b"\n".join(line for line in base.split(b"\n") if b"specmon-phase" not in line)
    inputs = [Input("base", io.BytesIO(bare)), Input("spec", io.BytesIO((STORY / "spec.log").read_bytes()))]
    snapshot = summarise(inputs).snapshot(0.0)
    assert snapshot.verify_cost is not None
    assert snapshot.verify_cost.step == "the baseline's step by its throughput"
    assert snapshot.verify_cost.multiple == pytest.approx(28.704 / 15.9, rel=1e-3)


def test_a_longer_verify_is_attributed_with_its_moment() -> None:
    phases = shown([probe(21.0)] * 30 + [probe(28.7)] * 12).phases
    assert phases.sentence == "verify 21.0 → 28.7 ms since 16:40:30 (cycle 22.2 → 29.9 ms)"
    assert len(phases.windows) == 42


@pytest.mark.parametrize("changed", [1, 2])
def test_no_change_is_told_from_fewer_than_three_windows(changed: int) -> None:
    assert shown([probe(21.0)] * 30 + [probe(28.7)] * changed).phases.sentence == ""


def test_a_cycle_that_differs_from_the_throughput_is_said_with_its_share() -> None:
    phases = shown([probe(20.0)] * 12).phases
    assert phases.identity is not None
    assert phases.identity.is_ok is False
    assert phases.identity.text.startswith("differs by −29.")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (probe().replace(" v1 ", " v2 "), "version 2"),
        ("specmon-phase v1 cycles=40 running=1 verify_ms=28.700", "cut short"),
        (probe().replace("28.700", "nan"), "verify_ms=nan"),
        (probe().replace("28.700", "-28.700"), "verify_ms=-28.700"),
        (probe().replace("28.700", "inf"), "verify_ms=inf"),
        (probe(28.7, cycle=28.9), "add up to more than the whole cycle"),
    ],
    ids=["newer", "half", "nan", "negative", "infinite", "sum"],
)
def test_a_bad_probe_line_is_a_notice_and_never_a_number(line: str, words: str) -> None:
    view = shown([line] * 12)
    assert view.phases.parts == ()
    assert view.phases.windows == ()
    assert any(words in notice for notice in view.phases.notices)
    assert any(words in notice for notice in view.notices)
    assert view.phases.why_none == "no phase line could be used"


def test_bad_lines_between_good_ones_change_no_number() -> None:
    good = shown([probe()] * 12).phases
    mixed = shown([probe()] * 6 + [probe().replace("28.700", "nan")] + [probe()] * 6).phases
    assert [round(part.ms, 6) for part in mixed.parts] == [round(part.ms, 6) for part in good.parts]
    assert len(mixed.notices) == 1


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("sglang", "SGLANG_ENABLE_METRICS_DEVICE_TIMER=1, or `pip install ./probe`"),
        ("vllm", "--enable-logging-iteration-details"),
        ("llama.cpp", "-lv 4"),
        ("tensorrt-llm", "custom format"),
        ("custom:mine", "custom format"),
    ],
)
def test_every_engine_has_its_way_to_phases(engine: str, words: str) -> None:
    assert words in mend_of(engine)


def test_ngram_drafts_are_told_the_way_that_works() -> None:
    data = log(["idle"] * 12).replace(b"'EAGLE'", b"'NGRAM'")
    view = summarise([Input("spec.log", io.BytesIO(data))]).snapshot(0.0).speculative
    assert view is not None
    assert view.phases.mend.startswith("`pip install ./probe`")
    assert view.phases.why_none == "the log has no phase times"
