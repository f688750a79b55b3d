"""The four assumptions behind a comparison, each with its evidence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from specmon.clients.result import ClientResult
from specmon.monitor.method import ClientEvidence
from specmon.monitor.session import Session
from specmon.monitor.snapshot import CheckPoint
from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel

from .lines import decodes, feed, launch

BASE = launch(0) + decodes(1, 60, 80.0)
SPEC = launch(
    0,
    port=30001,
    speculative_algorithm="EAGLE3",
    speculative_num_steps=3,
    speculative_num_draft_tokens=4,
    speculative_eagle_topk=1,
) + decodes(1, 60, 100.0, accept=2.0)
REFERENCE = Reference(name="usual", levels=(ReferenceLevel(running=1, tok_s=80.5),))


def session_of(
    base: str = BASE,
    spec: str = SPEC,
    *,
    reference: Reference | None = None,
    running: int | None = None,
    env: tuple[dict[str, str], dict[str, str]] | None = None,
) -> Session:
    session = Session(reference=reference, running=running)
    for position, (key, text) in enumerate((("base", base), ("spec", spec))):
        session.add(key, f"/logs/{key}.log")
        feed(session, key, text)
        if env is not None:
            session.attach_fingerprint(key, Fingerprint(env=env[position]))
    session.finish()
    return session


def points(session: Session) -> dict[str, CheckPoint]:
    judged = session.judge()
    baseline, speculative = session.pair()
    assert judged is not None
    assert baseline is not None
    assert baseline.life is not None
    assert speculative is not None
    assert speculative.life is not None
    differences = compare(baseline.life.conditions, speculative.life.conditions, is_speculation_expected=True)
    return {point.id: point for point in session.checklist(judged, differences)}


@pytest.mark.parametrize(
    ("reference", "state", "part"),
    [
        (None, "unknown", "no reference was given"),
        (REFERENCE, "ok", "80.0 tok/s, reference usual 80.5 (−0.6 %), 59 clean samples"),
        (Reference(name="r", levels=(ReferenceLevel(running=1, tok_s=120.0),)), "failed", "beyond ±5 %"),
        (Reference(name="r", levels=(ReferenceLevel(running=8, tok_s=120.0),)), "unknown", "no speed at 1 running"),
        (REFERENCE.model_copy(update={"model": "/models/llama"}), "unknown", "this server runs /models/kimi"),
        (REFERENCE.model_copy(update={"model": "kimi"}), "ok", "80.0 tok/s"),
        (REFERENCE.model_copy(update={"engine": "vllm"}), "unknown", "this is the log of sglang"),
    ],
)
def test_baseline_reproduces_its_reference(reference: Reference | None, state: str, part: str) -> None:
    point = points(session_of(reference=reference))["reproduces"]
    assert (point.state, part in point.evidence) == (state, True), point.evidence


def test_reference_that_is_younger_than_the_log_is_told() -> None:
    younger = REFERENCE.model_copy(update={"recorded_at": datetime(2026, 3, 1, tzinfo=UTC)})
    older = REFERENCE.model_copy(update={"recorded_at": datetime(2026, 2, 20)})
    told = {notice.kind: notice.text for notice in session_of(reference=younger).notices()}
    assert "was recorded on 2026-03-01, after this log was written" in told["reference_younger"]
    assert session_of(reference=older).notices() == ()


def test_method_is_sound_when_both_logs_are_confirmed() -> None:
    short = launch(0) + decodes(1, 12, 80.0)
    whole = points(session_of())["method"]
    assert whole.state == "ok"
    assert whole.evidence.startswith("baseline: ")
    assert ". Speculative: " in whole.evidence
    half = points(session_of(base=short))["method"]
    assert half.state == "unknown"
    assert "Nothing to check the baseline log by" in half.evidence


@pytest.mark.parametrize(("client_tok_s", "state"), [(80.5, "ok"), (140.0, "failed")])
def test_client_confirms_or_contradicts_a_log(client_tok_s: float, state: str) -> None:
    session = session_of()
    result = ClientResult("aiperf", "r.json", client_tok_s, duration_s=30.0)
    session.attach_client(ClientEvidence("base", result, 80.0, 1.0, is_same_time=True))
    point = points(session)["method"]
    assert point.state == state
    assert f"baseline: aiperf got {client_tok_s:.1f} tok/s" in point.evidence
    kinds = [notice.kind for notice in session.notices()]
    assert ("client_disagrees" in kinds) == (state == "failed")


@pytest.mark.parametrize(
    ("env", "spec", "state", "part"),
    [
        (
            ({"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Ring"}),
            SPEC,
            "ok",
            "1 variable: between the two servers",
        ),
        (({"NCCL_ALGO": "Ring"}, {}), SPEC, "failed", "NCCL_ALGO (Ring against unset)"),
        (None, SPEC, "unknown", "the environments were not read"),
        (({}, {}), SPEC.replace("tp_size=8", "tp_size=8, strange_flag=3"), "ok", "flags that both name"),
        (None, decodes(1, 60, 100.0, accept=2.0), "unknown", "the speculative log holds no launch line"),
    ],
)
def test_speculation_is_the_only_difference(
    env: tuple[dict[str, str], dict[str, str]] | None, spec: str, state: str, part: str
) -> None:
    point = points(session_of(spec=spec, env=env))["only_speculation"]
    assert (point.state, part in point.evidence) == (state, True), point.evidence


def test_level_is_right_when_it_is_the_load_of_both() -> None:
    point = points(session_of())["right_level"]
    assert point.state == "ok"
    assert "100 % of the baseline's samples" in point.evidence
    assert "no other load was seen" in point.evidence


def test_level_of_few_samples_is_no_evidence_unless_it_was_asked_for() -> None:
    base = BASE + decodes(100, 15, 640.0, running=8)
    spec = SPEC + decodes(100, 15, 800.0, running=8, accept=2.0)
    point = points(session_of(base, spec, running=8))["right_level"]
    assert point.state == "ok"
    assert "compared at 8 running, which is 20 % of the baseline's samples" in point.evidence
    assert "also measured on both: 1 (1.25×)" in point.evidence
    others = BASE + "".join(decodes(100 * each, 30, 80.0 * each, running=each) for each in (2, 3, 4))
    assert points(session_of(others))["right_level"].state == "unknown"


def test_another_level_of_a_few_samples_is_named_without_a_ratio() -> None:
    base = BASE + decodes(100, 6, 640.0, running=8)
    spec = SPEC + decodes(100, 15, 1600.0, running=8, accept=2.0)
    assert "also measured on both: 8 (too few clean samples)" in points(session_of(base, spec))["right_level"].evidence


def test_another_level_that_tells_another_story_is_a_failure() -> None:
    base = BASE + decodes(100, 15, 640.0, running=8)
    spec = SPEC + decodes(100, 15, 320.0, running=8, accept=2.0)
    point = points(session_of(base, spec))["right_level"]
    assert point.state == "failed"
    assert "Another level tells another story: at 8 running it decodes 0.50×" in point.evidence


def test_screen_gets_the_same_four_points() -> None:
    session = session_of(reference=REFERENCE)
    comparison = session.snapshot(0.0).comparison
    assert comparison is not None
    assert {point.id: point for point in comparison.checklist} == points(session)
