"""--running: one level or a band of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon
from tests.monitor.lines import decodes, launch


@pytest.fixture
def logs(tmp_path: Path) -> tuple[str, str]:
    """30 and 31 running on both sides, one after the other."""
    base, spec = tmp_path / "base.log", tmp_path / "spec.log"
    base.write_text(launch(0) + decodes(10, 20, 900.0, running=30) + decodes(100, 20, 930.0, running=31))
    spec.write_text(
        launch(0, speculative_algorithm="EAGLE3")
        + decodes(10, 20, 1200.0, running=30, accept=2.0)
        + decodes(100, 20, 1240.0, running=31, accept=2.0)
    )
    return base.name, spec.name


@pytest.mark.parametrize(("running", "compared"), [("30", (30, None)), ("30-31", (31, [30, 31])), (None, (31, None))])
def test_comparison_is_at_the_load_that_is_asked_for(
    specmon: Specmon, logs: tuple[str, str], running: str | None, compared: tuple[int, list[int] | None]
) -> None:
    option = () if running is None else ("--running", running)
    done = specmon("summary", "--format", "json", *option, *logs)
    assert done.status == 0, done.err
    found = json.loads(done.out)["comparison"]
    assert (found["running"], found["running_range"]) == compared
    assert found["verdict"] == "faster"
    assert found["delivered_ci95"] is not None
    assert found["attribution"].startswith("2.00 tokens a cycle gain 2.00×")


@pytest.mark.parametrize("command", ["summary", "replay"])
def test_load_that_is_none_is_a_sentence(specmon: Specmon, logs: tuple[str, str], command: str) -> None:
    done = specmon(command, "--running", "many", *logs)
    assert (done.status, done.out) == (2, "")
    assert "--running 'many' is no number of requests: write 8 for one level, or 28-34" in done.err
