"""`summary --reference` on the story and on genuine logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specmon.resources import bundled
from tests.cli.conftest import Specmon

STORY = bundled("fixtures") / "story"
LOGS = Path(__file__).resolve().parents[1]
WITHOUT_GRAPHS = LOGS / "data" / "sglang" / "0.5.16-baseline-nocudagraph.log"
WITH_GRAPHS = LOGS / "cases" / "logs" / "sglang-0.5.16-baseline.log"


def _reference_of(specmon: Specmon, *args: str) -> Any:
    done = specmon("summary", "--format", "json", *args)
    assert done.status == 0, done.err
    return json.loads(done.out)["reference"]


def test_story_names_the_six_variables_and_the_reference_that_fits(specmon: Specmon) -> None:
    found = _reference_of(specmon, str(STORY), "--reference", str(STORY / "references" / "nccl-tuned.toml"))
    assert (found["state"], found["direction"], found["better_match"]) == ("diverged", "slower", "untuned")
    assert (found["running"], found["samples_needed"]) == (1, 3)
    assert [cause["name"] for cause in found["causes"]] == [
        *("NCCL_PROTO", "NCCL_ALGO", "NCCL_P2P_LEVEL", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE", "NCCL_NTHREADS"),
    ]
    assert {cause["now"] for cause in found["causes"]} == {None}


def test_first_life_of_the_story_matches(specmon: Specmon) -> None:
    named = str(STORY / "references" / "nccl-tuned.toml")
    found = _reference_of(specmon, str(STORY), "--run", "1", "--reference", named)
    assert (found["state"], found["samples_seen"], found["causes"]) == ("matches", 73, [])


def test_reference_in_the_working_folder_is_compared_with_its_neighbours(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "references").mkdir()
    for name in ("nccl-tuned.toml", "untuned.toml"):
        (tmp_path / "references" / name).write_text((STORY / "references" / name).read_text())
    assert _reference_of(specmon, str(STORY), "--reference", "nccl-tuned")["better_match"] == "untuned"


def test_genuine_baseline_without_graphs_has_diverged_for_that_cause(specmon: Specmon, tmp_path: Path) -> None:
    """The figures of the H200 baseline at one request, written down by hand and as they would be recorded."""
    by_hand = 'schema = 1\nname = "h200"\n[[level]]\nrunning = 1\ntok_s = 278.7\n'
    for name, more in (("hand", ""), ("recorded", "n = 240\ncycle_ms = 3.588\nsigma = 0.0547\n")):
        path = tmp_path / f"{name}.toml"
        path.write_text(by_hand + more)
        found = _reference_of(specmon, str(WITHOUT_GRAPHS), "--reference", str(path))
        assert (found["state"], found["direction"]) == ("diverged", "slower")
        assert [(cause["kind"], cause["now"]) for cause in found["causes"]] == [("graph", "false")]
        steady = _reference_of(specmon, str(WITH_GRAPHS), "--reference", str(path))
        assert (steady["state"], steady["causes"]) == ("matches", [])
