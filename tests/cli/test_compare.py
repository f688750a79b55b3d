"""`specmon compare`: rows, ranking, ties, several runs a side, the predicted number of steps."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Specmon
from tests.monitor.lines import decode, decodes, launch

STORY = Path(__file__).resolve().parents[2] / "fixtures" / "story"
BASE = launch(0) + decodes(1, 40, 80.0)


def run(steps: int, tok_s: float, *, accept: float = 2.0, at: float = 0, topk: int = 1, jitter: float = 0.0) -> str:
    text = launch(
        at,
        port=30001,
        speculative_algorithm="EAGLE3",
        speculative_draft_model_path="/models/draft",
        speculative_num_steps=steps,
        speculative_num_draft_tokens=steps + 1,
        speculative_eagle_topk=topk,
    )
    if not jitter:
        return text + decodes(at + 1, 40, tok_s, accept=accept)
    wave = [1 + jitter * (step % 5 - 2) for step in range(40)]
    window = 40 * accept / tok_s
    lines = [decode(at + 1 + step * window, tok_s * wave[step], accept=accept) for step in range(40)]
    return text + "".join(lines)


def chain(steps: int, chance: float = 0.7) -> tuple[float, float]:
    """Tokens per second and accept length of a server whose cycle is 12 + 1.5 N ms."""
    accept = round(sum(chance**each for each in range(steps + 1)), 2)
    return 1000 * accept / (12 + 1.5 * (steps + 1)), accept


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., None]:
    def all_of(**logs: str) -> None:
        for name, text in logs.items():
            (tmp_path / f"{name}.log").write_text(text)

    return all_of


def ranking(at_once: Specmon, *args: str, status: int = 0) -> Any:
    done = at_once("compare", "--format", "json", *args)
    assert done.status == status, done.out + done.err
    return json.loads(done.out)


def test_rows_are_sorted_by_speedup(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, slow=run(5, 70.0), fast=run(2, 110.0), middle=run(3, 90.0))
    document = ranking(at_once, "slow.log", "fast.log", "middle.log", "--baseline", "base.log")
    rows = document["rows"]
    assert document["schema_version"] == 1
    assert [(row["source"], row["num_steps"], row["num_draft_tokens"]) for row in rows] == [
        ("fast.log", 2, 3),
        ("middle.log", 3, 4),
        ("slow.log", 5, 6),
    ]
    assert [round(row["speedup"], 3) for row in rows] == [1.375, 1.125, 0.875]
    assert [row["verdict"] for row in rows] == ["faster", "faster", "slower"]
    assert all(row["tie_with"] == [] for row in rows)
    assert document["baseline"]["decode_tok_s"] == pytest.approx(80.0)
    # Each row is a whole comparison object.
    summary = json.loads(at_once("summary", "--format", "json", "base.log", "fast.log").out)["comparison"]
    for key, value in summary.items():
        if key not in ("baseline", "speculative"):
            assert rows[0][key] == value, key


def test_rows_are_named_by_their_logs_whatever_address_these_tell(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, steps2=run(2, 110.0), steps3=run(3, 90.0) + run(5, 70.0, at=300))
    document = ranking(at_once, "steps2.log", "steps3.log", "--baseline", "base.log")
    assert [row["speculative"] for row in document["rows"]] == ["steps2.log", "steps3.log run 1", "steps3.log run 2"]
    assert document["baseline"]["name"] == "base.log"
    (named,) = ranking(at_once, "two=steps2.log", "--baseline", "base.log")["rows"]
    assert named["speculative"] == "two"


def test_baseline_may_be_among_the_logs_of_a_sweep(
    at_once: Specmon, write: Callable[..., None], tmp_path: Path
) -> None:
    write(base=BASE, a=run(2, 110.0), b=run(3, 90.0))
    (tmp_path / "link.log").symlink_to("base.log")
    document = ranking(at_once, "a.log", "b.log", "base.log", "link.log", "--baseline", "base.log")
    assert [row["source"] for row in document["rows"]] == ["a.log", "b.log"]
    assert document["left_out"] == []


def test_overlapping_intervals_are_ties(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, a=run(2, 100.0, jitter=0.05), b=run(3, 101.0, jitter=0.05), c=run(5, 150.0))
    rows = ranking(at_once, "a.log", "b.log", "c.log", "--baseline", "base.log")["rows"]
    ties = {row["source"]: row["tie_with"] for row in rows}
    names = {row["source"]: row["speculative"] for row in rows}
    assert ties == {"a.log": [names["b.log"]], "b.log": [names["a.log"]], "c.log": []}
    text = at_once("compare", "a.log", "b.log", "c.log", "--baseline", "base.log").out
    rows = [line.split() for line in text.splitlines() if ".log  " in line]
    assert [(row[0], row[-1]) for row in rows] == [("1", "-"), ("2", "3"), ("3", "2")]  # b and a, by their places
    assert "ties with" in text.splitlines()[1]


def test_each_run_of_a_log_is_a_row(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, sweep=run(2, 110.0) + run(3, 90.0, at=300) + run(5, 70.0, at=600))
    rows = ranking(at_once, "sweep.log", "--baseline", "base.log")["rows"]
    assert [(row["run"], row["num_steps"]) for row in rows] == [(1, 2), (2, 3), (3, 5)]
    assert len({row["speculative"] for row in rows}) == 3
    (only,) = ranking(at_once, "sweep.log", "--baseline", "base.log", "--run", "2")["rows"]
    assert only["num_steps"] == 3


def test_runs_of_the_same_settings_are_one_row_and_the_unit(at_once: Specmon, write: Callable[..., None]) -> None:
    write(
        base=BASE,
        base2=launch(0, port=30009) + decodes(1, 40, 84.0),
        a=run(2, 100.0),
        b=run(2, 90.0),
        c=run(3, 20.0),
    )
    args = ("a.log", "b.log", "c.log", "--baseline", "base.log", "--baseline", "base2.log")
    first, second = ranking(at_once, *args)["rows"]
    assert (first["runs"], first["num_steps"], second["runs"]) == (2, 2, 1)
    assert first["speedup"] == pytest.approx((100 * 90) ** 0.5 / (80 * 84) ** 0.5, rel=1e-3)
    assert first["ci95"][1] - first["ci95"][0] > 0.1  # runs differ more than the samples of one
    assert first["verdict"] == "cannot tell"
    assert first["more_runs"] >= 1
    assert f"about {first['more_runs']} more" in first["sentence"]
    assert second["verdict"] == "slower"


def test_runs_of_one_setting_that_contradict_one_another_are_rows_of_their_own(
    at_once: Specmon, write: Callable[..., None]
) -> None:
    write(base=BASE, a=run(2, 100.0), odd=run(2, 300.0), b=run(2, 103.0), c=run(2, 98.0))
    document = ranking(at_once, "a.log", "odd.log", "b.log", "c.log", "--baseline", "base.log")
    rows = document["rows"]
    assert [(row["source"], row["runs"], row["tie_with"]) for row in rows] == [("odd.log", 1, []), ("a.log", 3, [])]
    (notice,) = document["notices"]
    assert notice["kind"] == "runs_disagree"
    assert "a.log, b.log, c.log (100.3 tok/s, accept length 2.00, cycle 19.94 ms) and odd.log (300.0" in notice["text"]
    assert "have the same settings" in notice["text"]
    assert notice["text"] in at_once("compare", "a.log", "odd.log", "b.log", "c.log", "--baseline", "base.log").out


def test_baselines_that_contradict_one_another_are_not_pooled(at_once: Specmon, write: Callable[..., None]) -> None:
    """Both speeds of the story are right, each for its own environment: a mean of them is no baseline."""
    write(base=BASE, tuned=launch(0, port=30009) + decodes(1, 40, 113.0), a=run(2, 100.0))
    document = ranking(at_once, "a.log", "--baseline", "base.log", "--baseline", "tuned.log")
    assert [each["name"] for each in document["baselines"]] == ["base.log"]
    assert document["rows"][0]["speedup"] == pytest.approx(1.25)
    (notice,) = document["notices"]
    assert notice["kind"] == "baselines_disagree"
    assert "tuned.log (113.0 tok/s, cycle 8.85 ms)" in notice["text"]


def test_level_is_one_for_all_rows(at_once: Specmon, write: Callable[..., None]) -> None:
    """The baseline has most samples at 8, but one row only at 1: a ranking over two loads would be none."""
    base = BASE + decodes(100, 60, 640.0, running=8)
    both = run(2, 100.0) + decodes(100, 60, 800.0, running=8, accept=2.0)
    write(base=base, both=both, one=run(3, 90.0), other=run(4, 85.0))
    document = ranking(at_once, "both.log", "one.log", "other.log", "--baseline", "base.log")
    assert document["running"] == 1
    assert [row["running"] for row in document["rows"]] == [1, 1, 1]
    at8 = ranking(at_once, "both.log", "one.log", "--baseline", "base.log", "--running", "8")
    assert [row["running"] for row in at8["rows"]] == [8, None]
    assert at8["rows"][1]["verdict"] == "cannot tell"


def test_band_is_compared_by_the_request(at_once: Specmon, write: Callable[..., None]) -> None:
    """Under load the number of requests wanders: no single level fills, a band does."""
    base = launch(0) + "".join(decodes(1 + 40 * each, 20, 80.0 * each, running=each) for each in (29, 30, 31))
    spec = run(2, 100.0) + "".join(
        decodes(300 + 40 * each, 20, 100.0 * each, running=each, accept=2.0) for each in (29, 30, 31)
    )
    write(base=base, spec=spec)
    document = ranking(at_once, "spec.log", "--baseline", "base.log", "--running", "28-32")
    (row,) = document["rows"]
    assert (document["running_range"], row["running_range"]) == ([28, 32], [28, 32])
    assert row["speedup"] == pytest.approx(1.25, rel=0.01)
    assert row["decode_tok_s"] == pytest.approx(100.0, rel=0.01)


def test_best_number_of_steps_is_predicted(at_once: Specmon, write: Callable[..., None]) -> None:
    logs = {}
    for steps in (1, 3, 6):
        tok_s, accept = chain(steps)
        logs[f"k{steps}"] = run(steps, tok_s, accept=accept)
    write(base=BASE, **logs)
    document = ranking(at_once, "k1.log", "k3.log", "k6.log", "--baseline", "base.log")
    found = document["prediction"]
    best = max(range(1, 11), key=lambda steps: chain(steps)[0])
    assert found["lowest"] <= best <= found["highest"]
    assert found["cycle_per_token_ms"] == pytest.approx(1.5, rel=0.02)
    assert found["acceptance"] == pytest.approx(0.7, abs=0.01)
    assert f"best by the fit: {found['best_steps']} draft steps" in found["sentence"]
    two = ranking(at_once, "k1.log", "k3.log", "--baseline", "base.log")
    assert two["prediction"] is None
    assert "here are 2" in two["no_prediction"]


def test_story_is_ranked(at_once: Specmon) -> None:
    rows = ranking(at_once, str(STORY / "spec.log"), "--baseline", str(STORY / "base.log"))["rows"]
    assert [(row["num_steps"], round(row["speedup"], 2)) for row in rows] == [(2, 1.21), (5, 1.13)]
    assert [round(row["break_even_accept_len"], 2) for row in rows] == [1.74, 1.88]
    assert ranking(at_once, str(STORY))["rows"][0]["num_steps"] == 2  # a capture says itself which is the baseline


def test_csv_and_markdown_have_a_line_a_row(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, a=run(2, 110.0), b=run(3, 90.0))
    args = ("compare", "a.log", "b.log", "--baseline", "base.log", "--format")
    rows = list(csv.DictReader(io.StringIO(at_once(*args, "csv").out)))
    assert [row["source"] for row in rows] == ["a.log", "b.log"]
    assert float(rows[0]["speedup"]) == pytest.approx(1.375)
    table = [line for line in at_once(*args, "markdown").out.splitlines() if line.startswith("|")]
    assert len(table) == 4


def test_narrow_terminal_cuts_nothing(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, **{"a-very-long-name-of-a-log-that-fills-the-line": run(2, 110.0), "b": run(3, 90.0)})
    args = ("a-very-long-name-of-a-log-that-fills-the-line.log", "b.log", "--baseline", "base.log")
    done = at_once("compare", *args, env={"COLUMNS": "40"})
    assert "a-very-long-name-of-a-log-that-fills-the-line.log" in done.out
    assert "break-even" in done.out


@pytest.mark.parametrize(
    ("args", "status", "part"),
    [
        ((), 2, "compare needs speculative logs"),
        (("a.log",), 2, "give the baseline's log with --baseline"),
        (("a.log", "--baseline", "spec.log"), 2, "its log is that of a speculative server"),
        (("a.log", "a.log", "--baseline", "base.log"), 2, "given twice"),
        (("a.log", "--baseline", "a.log"), 2, "given twice"),
        (("a.log", "--baseline", "missing.log"), 2, "missing.log: no such file"),
        (("missing.log", "a.log", "--baseline", "base.log"), 2, "missing.log: no such file"),
        (("a.log", "--baseline", "base.log", "--run", "4"), 2, "no log has a run number 4"),
        (("a.log", "--baseline", "base.log", "--running", "x"), 2, "--running 'x'"),
        (("base2.log", "--baseline", "base.log"), 3, "it runs without speculation"),
        (("spec8.log", "--baseline", "base.log"), 3, "not both servers ran 1"),
        (("nothing.log", "--baseline", "base.log"), 3, "No ranking"),
        (("few.log", "--baseline", "base.log"), 3, "10 a side are needed"),
    ],
)
def test_bad_input_is_a_sentence_with_the_right_status(
    at_once: Specmon, write: Callable[..., None], args: tuple[str, ...], status: int, part: str
) -> None:
    write(
        base=BASE,
        base2=launch(0, port=30009) + decodes(1, 40, 84.0),
        a=run(2, 110.0),
        spec=run(3, 90.0),
        spec8=run(2, 110.0).replace("#running-req: 1,", "#running-req: 8,"),
        nothing="hello\n",
        few="".join(run(2, 110.0).splitlines(keepends=True)[:6]),
    )
    done = at_once("compare", *args)
    assert part in done.out + done.err
    assert "Traceback" not in done.err
    assert done.status == status


def test_row_of_several_runs_shows_figures_of_all_of_them(at_once: Specmon, write: Callable[..., None]) -> None:
    write(base=BASE, one=run(2, 100.0), two=run(2, 121.0))
    (row,) = ranking(at_once, "one.log", "two.log", "--baseline", "base.log", status=3)["rows"]
    assert row["runs"] == 2
    assert row["decode_tok_s"] == pytest.approx(110.0)  # the geometric mean
    assert row["speedup"] == pytest.approx(row["decode_tok_s"] / 80.0)
    assert row["cycle_ms"] == pytest.approx((2000 / 100 + 2000 / 121) / 2)
    assert row["break_even_accept_len"] == pytest.approx(row["cycle_ms"] / 12.5)
    assert row["decode_tok_s_ci95"] is None
