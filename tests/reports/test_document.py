"""The JSON contract: every key, always; unknown is null; nothing invented."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.monitor.summarise import Input, summarise
from specmon.references.model import Reference, ReferenceLevel
from specmon.reports import to_json
from specmon.reports.times import stamp

_SERVER = {"name", "source", "stream", "role", "engine", "lines", "notices", "runs"}
_RUN = {
    *("index", "state", "started_at", "ready_at", "first_sample_at", "last_sample_at", "launch", "env"),
    *("speculation", "ranks", "decode", "prefill", "phases", "counters", "events"),
}
_LEVEL = {
    *("running", "samples", "clean", "tok_s", "prefill_share", "acceptance_rate", "accept_by_position"),
    *("context_tokens", "queue", "decode_tok_s", "decode_tok_s_ci95", "delivered_tok_s", "accept_len"),
    *("cycle_ms", "cuda_graph"),
}
_COMPARISON = {
    *("running", "running_range", "baseline", "speculative", "speedup", "ci95", "delivered_speedup"),
    *("delivered_ci95", "prefill_share", "accept_len", "break_even_accept_len", "headroom", "verdict"),
    *("sentence", "reasons", "attribution", "checklist", "differences", "against_reference"),
}
_REFERENCE = {
    *("name", "server", "running", "samples_seen", "samples_needed", "direction", "state", "deviation"),
    *("since", "causes", "better_match"),
}


def _line(second: int, tok_s: float, accept: str = "") -> str:
    return (
        f"[2026-02-26 16:40:{second:02d} TP0] Decode batch, #running-req: 1, #token: 300, token usage: 0.00, {accept}"
        f"cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0, \n"
    )


_BASE = "".join(_line(second, 100.0) for second in range(20))
_SPEC = "".join(_line(second, 150.0, "accept len: 2.40, accept rate: 0.60, ") for second in range(20))


def _summary(*logs: str, reference: Reference | None = None) -> Any:
    inputs = [Input(f"/logs/{number}.log", io.BytesIO(log.encode())) for number, log in enumerate(logs)]
    return json.loads(to_json(summarise(inputs, reference=reference)))


@pytest.mark.parametrize("log", ["", "nothing of a server\n", "\x00\xff\x00", _BASE, _SPEC, _line(0, 1.0)])
def test_every_key_is_there_whatever_the_log(log: str) -> None:
    document = _summary(log)
    assert set(document) == {"schema_version", "specmon_version", "notices", "servers", "comparison", "reference"}
    assert (document["schema_version"], document["comparison"], document["reference"]) == (1, None, None)
    (server,) = document["servers"]
    assert set(server) == _SERVER
    for run in server["runs"]:
        assert set(run) == _RUN
        for level in run["decode"]["levels"]:
            assert set(level) == _LEVEL
            assert set(level["tok_s"]) == {"median", "mean", "mad", "ci95", "p5", "p95"}


def test_nothing_useful_is_told_and_has_no_run() -> None:
    (server,) = _summary("nothing of a server\n")["servers"]
    assert (server["engine"], server["role"], server["runs"]) == (None, "unknown", [])
    assert [notice["kind"] for notice in server["notices"]] == ["not_a_server_log"]


def test_comparison_of_a_pair() -> None:
    document = _summary(_BASE, _SPEC)
    comparison = document["comparison"]
    assert set(comparison) == _COMPARISON
    assert comparison["verdict"] == "faster"
    assert comparison["speedup"] == pytest.approx(1.5)
    assert comparison["break_even_accept_len"] == pytest.approx(1.6)
    assert "1.50×" in comparison["sentence"]
    assert [point["id"] for point in comparison["checklist"]] == [
        "reproduces",
        "method",
        "only_speculation",
        "right_level",
    ]
    assert all(
        set(difference) == {"kind", "name", "baseline", "speculative", "class"}
        for difference in comparison["differences"]
    )


def test_acceptance_rate_is_recomputed_never_copied() -> None:
    launch = (
        "[2026-02-26 16:39:00] server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE', "
        "speculative_num_draft_tokens=4)\n"
    )
    level = _summary(launch + _SPEC)["servers"][0]["runs"][0]["decode"]["levels"][0]
    assert level["acceptance_rate"] == pytest.approx(1.4 / 3)
    assert _summary(_SPEC)["servers"][0]["runs"][0]["decode"]["levels"][0]["acceptance_rate"] is None


def test_two_baselines_are_no_pair() -> None:
    document = _summary(_BASE, _BASE, _SPEC)
    assert document["comparison"] is None
    assert [notice["kind"] for notice in document["notices"]] == ["several_baseline"]


def test_no_common_level_is_told() -> None:
    document = _summary(_BASE, _SPEC.replace("#running-req: 1", "#running-req: 4"))
    assert document["comparison"]["verdict"] == "cannot tell"
    assert [notice["kind"] for notice in document["notices"]] == ["no_common_level"]


def test_reference_is_judged() -> None:
    level = ReferenceLevel(running=1, tok_s=140.0)
    document = _summary(_BASE, _SPEC, reference=Reference(name="tuned", levels=(level,)))
    reference = document["reference"]
    assert set(reference) == _REFERENCE
    assert (reference["state"], reference["direction"], reference["samples_seen"]) == ("diverged", "slower", 19)
    assert reference["deviation"] == pytest.approx(100 / 140 - 1)
    assert reference["since"] == "2026-02-26T16:40:01"
    against = document["comparison"]["against_reference"]
    assert against["speedup"] == pytest.approx(150 / 140)
    assert document["comparison"]["checklist"][0]["state"] == "failed"


def test_reference_without_a_baseline_waits() -> None:
    level = ReferenceLevel(running=1, tok_s=140.0)
    document = _summary(_SPEC, reference=Reference(name="tuned", levels=(level,)))
    assert document["reference"]["state"] == "waiting"
    assert document["reference"]["deviation"] is None


def test_source_that_cannot_be_opened_is_a_server() -> None:
    session = summarise([Input("/none", None, role=Role.BASELINE, unreadable="/none: no such file. Check the path.")])
    (server,) = json.loads(to_json(session))["servers"]
    assert server["notices"] == [{"kind": "unreadable", "text": "/none: no such file. Check the path."}]


def test_not_a_number_never_reaches_the_document() -> None:
    log = "[2026-02-26 16:39:00] server_args=ServerArgs(model_path='/m', x=1e999)\n" + _line(0, 0.0) + _line(1, 0.0)
    assert "NaN" not in to_json(summarise([Input("a", io.BytesIO(log.encode()))]))
    assert "Infinity" not in to_json(summarise([Input("a", io.BytesIO(log.encode()))]))


@pytest.mark.parametrize(
    ("at", "offset", "text"),
    [
        (1763811988.0, None, "2025-11-22T11:46:28"),
        (1763811988.25, None, "2025-11-22T11:46:28.250"),
        (1763811988.0, 0, "2025-11-22T11:46:28+00:00"),
        (None, None, None),
        (float("nan"), None, None),
    ],
)
def test_times_stay_on_the_logs_clock(at: float | None, offset: int | None, text: str | None) -> None:
    assert stamp(at, offset) == text


def test_empty_session_has_a_document() -> None:
    assert json.loads(to_json(Session()))["servers"] == []
