"""Metrics pages beside logs and on the command line, as a user gives them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon

DATA = Path(__file__).parents[1] / "data"
BOTH = [DATA / "metrics" / f"sglang-0.5.16-{name}-both.log" for name in ("baseline", "standalone")]
SERIES = DATA / "metrics" / "sglang-0.5.16-standalone-timer.metrics-series.txt"
LOG = DATA / "sglang" / "0.5.16-standalone-timer.log"
VLLM = "vllm-0.32.0-cpu-spec-draft2l-k3-near-zero-accept"


def test_series_beside_the_logs_are_found_and_preferred_to_the_probe(specmon: Specmon) -> None:
    done = specmon("summary", *map(str, BOTH), "--format", "json")
    assert done.status == 0
    told = json.loads(done.out)
    runs = [server["runs"][-1] for server in told["servers"]]
    assert [run["phases"]["source"] for run in runs] == ["metrics", "metrics"]
    assert [run["counters"]["tokens"] for run in runs] == [41844, 53387]
    level = next(each for each in runs[1]["phases"]["by_running"] if each["running"] == 1)
    assert {name: round(ms, 2) for name, ms in level["ms"].items()} == {
        "draft": 0.34,
        "verify": 6.22,
        "draft_extend": 0.3,
    }
    method = next(each for each in told["comparison"]["checklist"] if each["id"] == "method")
    assert method["state"] == "ok"
    assert "token counter" in method["evidence"]


@pytest.mark.parametrize(("name", "forward"), [("baseline", "decode"), ("standalone", "verify")])
def test_timer_probe_and_identity_agree_within_3_percent_where_the_load_comes_in_waves(
    name: str, forward: str, specmon: Specmon, tmp_path: Path
) -> None:
    """Genuine (SGLang 0.5.16 on an H200): 1, 8 and 4 requests at a time that start together, so few prefills."""
    log = DATA / "metrics" / f"sglang-0.5.16-{name}-waves.log.xz"
    alone = shutil.copy(log, tmp_path)
    told = json.loads(specmon("summary", str(log), str(alone), "--format", "json").out)["servers"]
    with_series, without = (server["runs"][-1] for server in told)
    assert (with_series["phases"]["source"], without["phases"]["source"]) == ("metrics", "probe")
    levels = {level["running"]: level for level in without["decode"]["levels"]}
    timed = {level["running"]: level for level in with_series["phases"]["by_running"]}
    for probe in without["phases"]["by_running"]:
        running = probe["running"]
        if running not in (1, 4, 8):
            continue  # the ends of waves
        assert levels[running]["clean"] >= 60
        assert probe["cycle_ms"] == pytest.approx(probe["identity_cycle_ms"], rel=0.03)
        assert probe["ms"][forward] == pytest.approx(timed[running]["ms"][forward], rel=0.03)
        assert sum(probe["ms"].values()) + probe["residual_ms"] == pytest.approx(probe["cycle_ms"])
        assert 0 <= probe["residual_ms"] < 0.01 * probe["cycle_ms"]


def test_summary_says_where_the_phases_are_from(specmon: Specmon) -> None:
    text = specmon("summary", str(LOG), "--metrics", str(SERIES)).out
    assert "ms (metrics)" in text
    assert "the server's own counters: 38,477 tokens, accept length 2.39 over 15,880 drafts" in text


def test_log_without_metrics_says_nothing_of_counters(specmon: Specmon) -> None:
    done = specmon("summary", str(LOG), "--format", "json")
    assert json.loads(done.out)["servers"][0]["runs"][-1]["counters"] is None


def test_series_beside_a_log_is_found_by_its_name_alone(specmon: Specmon, tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "spec.log")
    other = tmp_path / "spec.metrics-series.txt"
    shutil.copy(SERIES, other)
    assert "ms (metrics)" not in specmon("summary", "spec.log").out
    assert "ms (metrics)" in specmon("summary", "spec.log", "--metrics", str(other)).out
    shutil.copy(SERIES, tmp_path / "spec.metrics")
    assert "ms (metrics)" in specmon("summary", "spec.log").out


@pytest.mark.parametrize("side", ["base", "baseline"])
def test_baseline_goes_by_its_short_name_too(specmon: Specmon, side: str) -> None:
    log = DATA / "metrics" / "sglang-0.5.16-baseline-both.log"
    series = DATA / "metrics" / "sglang-0.5.16-baseline-timer.metrics-series.txt"
    assert specmon("summary", str(log), str(LOG), "--metrics", f"{side}={series}").status == 0


@pytest.mark.parametrize("side", ["spec", "speculative", str(LOG)])
def test_file_is_put_to_the_server_that_is_named(specmon: Specmon, side: str) -> None:
    done = specmon("summary", str(BOTH[0]), str(LOG), "--metrics", f"{side}={SERIES}", "--format", "json")
    servers = {server["role"]: server for server in json.loads(done.out)["servers"]}
    assert servers["speculative"]["runs"][-1]["counters"]["drafts"] == 15880


def test_pages_before_and_after_a_test_are_a_series(specmon: Specmon, tmp_path: Path) -> None:
    shutil.copy(DATA / "vllm" / f"{VLLM}.log", tmp_path / "spec.log")
    for when in ("before", "after"):
        shutil.copy(DATA / "metrics" / f"{VLLM}.metrics-{when}.txt", tmp_path / f"spec.metrics-{when}.txt")
    text = specmon("summary", "spec.log").out
    assert "7,272 tokens, accept length 1.04 over 6,928 drafts, accepted by position 0.03, 0.01, 0.01" in text


def test_restarts_of_a_server_share_out_a_series_at_its_resets(specmon: Specmon, tmp_path: Path) -> None:
    first, second = LOG.read_text(), BOTH[1].read_text()
    (tmp_path / "spec.log").write_text(first + second)
    later = BOTH[1].with_name(BOTH[1].name.replace(".log", ".metrics"))
    (tmp_path / "spec.metrics").write_text(SERIES.read_text() + later.read_text())
    runs = json.loads(specmon("summary", "spec.log", "--format", "json").out)["servers"][0]["runs"]
    assert [run["counters"]["tokens"] for run in runs] == [38477, 53387]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<html><body>Not here</body></html>\n", "1 metrics page not used: HTML"),
        ("sglang:num_running_reqs 1", "1 metrics page not used: cut short"),
        ("up 1\n", "1 metrics page not used: without any metric"),
        ('sglang:realtime_tokens_total{mode="decode"} -4\n', "with a counter that is NaN, infinite or negative"),
    ],
)
def test_page_that_is_none_is_a_notice_and_no_number(specmon: Specmon, tmp_path: Path, page: str, said: str) -> None:
    (tmp_path / "page.txt").write_text(page)
    done = specmon("summary", str(LOG), "--metrics", "page.txt", "--format", "json")
    assert done.status == 0
    server = json.loads(done.out)["servers"][0]
    assert [said in notice["text"] for notice in server["notices"] if notice["kind"] == "metrics_refused"] == [True]
    assert server["runs"][-1]["counters"] is None
    assert server["runs"][-1]["phases"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.txt", "metrics nowhere.txt: no such file or directory. Check the path."),
        (f"elsewhere={SERIES}", "'elsewhere' is no server. Write --metrics baseline=FILE"),
        (str(SERIES), "it does not say of which server it is. Write --metrics baseline=FILE"),
    ],
)
def test_file_that_cannot_be_put_to_a_server_is_wrong_usage(specmon: Specmon, given: str, said: str) -> None:
    done = specmon("summary", *map(str, BOTH), "--metrics", given)
    assert done.status == 2
    assert said in done.err


def captured(tmp_path: Path) -> str:
    """A capture directory with looks in it."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.toml").write_text(
        'schema = 1\nstarts_at = 2026-11-30T21:42:00Z\n[[server]]\nname = "spec"\nrole = "speculative"\n'
    )
    shutil.copy(BOTH[1], folder / "spec.log")
    shutil.copy(BOTH[1].with_name(BOTH[1].name.replace(".log", ".metrics")), folder / "spec.metrics")
    return str(folder)


def test_capture_directory_brings_its_looks_along(specmon: Specmon, tmp_path: Path) -> None:
    done = specmon("summary", captured(tmp_path), "--format", "json")
    run = json.loads(done.out)["servers"][0]["runs"][-1]
    assert (run["phases"]["source"], run["counters"]["tokens"]) == ("metrics", 53387)


def test_replay_of_a_capture_directory_and_of_named_files_ends_well(specmon: Specmon, tmp_path: Path) -> None:
    fast = ("--plain", "--speed", "100000", "--interval", "0.1")
    assert specmon("replay", *fast, captured(tmp_path)).status == 0
    assert specmon("replay", *fast, "--spec", str(LOG), "--metrics", f"spec={SERIES}").status == 0
    refused = specmon("replay", *fast, "--spec", str(LOG), "--metrics", f"elsewhere={SERIES}")
    assert refused.status == 2
    assert "'elsewhere' is no server" in refused.err


def test_page_of_fifty_megabytes_is_refused_with_a_notice(specmon: Specmon, tmp_path: Path) -> None:
    line = b'sglang:realtime_tokens_total{mode="decode"} 41844.0\n'
    (tmp_path / "large.txt").write_bytes(line * (50 * (1 << 20) // len(line)))
    done = specmon("summary", str(LOG), "--metrics", "large.txt")
    assert done.status == 0
    assert "1 metrics page not used: larger than any server's" in done.out
    assert "counters" not in done.out


def test_part_of_a_log_is_held_against_the_same_part_of_the_series(specmon: Specmon) -> None:
    done = specmon("summary", str(BOTH[0]), "--until", "2026-11-30T21:44:45", "--format", "json")
    counters = json.loads(done.out)["servers"][0]["runs"][-1]["counters"]
    assert 4000 < counters["tokens"] < 6000  # of 41,844
