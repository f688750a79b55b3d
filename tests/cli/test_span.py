"""--since, --until and --run: which part of a log is judged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Specmon
from tests.cli.test_connect import line

LAUNCH = "[2026-02-26 16:{minute}:00] server_args=ServerArgs(model_path='/m', tp_size=1, speculative_algorithm=None)\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Ten samples at 80 tok/s, then ten at 60, a second apart from 16:40:00 on."""
    path = tmp_path / "a.log"
    path.write_text("".join(line(second, 80.0 if second < 10 else 60.0) for second in range(20)))
    return path.name


def judged(specmon: Specmon, *args: str) -> tuple[dict[str, Any], list[str]]:
    """The run that is judged last, and the kinds of the notices."""
    done = specmon("summary", "--format", "json", *args)
    assert done.status == 0, done.err
    (server,) = json.loads(done.out)["servers"]
    return server["runs"][-1]["decode"], [notice["kind"] for notice in server["notices"]]


@pytest.mark.parametrize(
    ("args", "samples", "tok_s"),
    [
        ((), 20, None),
        (("--since", "2026-02-26T16:40:10"), 10, 60.0),
        (("--until", "2026-02-26 16:40:09"), 10, 80.0),
        (("--since", "16:40:02", "--until", "16:40:05"), 4, 80.0),
        (("--since", "-5s"), 6, 60.0),
        (("--since", "-1m"), 20, None),
    ],
)
def test_samples_outside_enter_no_figure_and_are_counted(
    specmon: Specmon, log: str, args: tuple[str, ...], samples: int, tok_s: float | None
) -> None:
    decode, notices = judged(specmon, log, *args)
    assert decode["samples"] == samples
    assert ("outside_window" in notices) == (samples < 20)
    if tok_s is not None:
        assert decode["levels"][0]["tok_s"]["median"] == tok_s
        assert decode["excluded"]["first_after_start"] == 1  # its window reaches out of the time asked for


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("--since", "yesterday"), "no time"),
        (("--since", "2026-02-26T16:41", "--until", "2026-02-26T16:40"), "Swap the two"),
        (("--since", "16:41", "--until", "-1h"), "--since 16:41:00 lies behind --until 15:"),
        (("--run", "2"), "has 1 run, so"),
    ],
)
def test_window_that_cannot_be_is_a_sentence(specmon: Specmon, log: str, args: tuple[str, ...], part: str) -> None:
    done = specmon("summary", log, *args)
    assert done.status == 2
    assert done.err.startswith("specmon: ")
    assert part in done.err
    assert "Traceback" not in done.err


def test_run_is_chosen_by_its_number(specmon: Specmon, tmp_path: Path) -> None:
    text = LAUNCH.format(minute=39) + "".join(line(second, 80.0) for second in range(12))
    text += LAUNCH.format(minute=45) + "".join(line(400 + second, 60.0) for second in range(12))
    (tmp_path / "two.log").write_text(text)
    for args, part in (((), "60.0 tok/s"), (("--run", "2"), "60.0 tok/s"), (("--run", "1"), "80.0 tok/s")):
        done = specmon("summary", "two.log", *args)
        assert done.status == 0
        assert part in done.out.splitlines()[0]


def test_newest_time_of_a_packed_log_is_known(specmon: Specmon, log: str, tmp_path: Path) -> None:
    (tmp_path / "b.log.gz").write_bytes(gzip.compress((tmp_path / log).read_bytes()))
    assert judged(specmon, "b.log.gz", "--since", "-5s")[0]["samples"] == 6


def test_replay_counts_from_the_end_of_a_log_that_it_has_to_read_first(
    specmon: Specmon, log: str, tmp_path: Path
) -> None:
    done = specmon("replay", "--plain", "--speed", "max", "--since", "-5s", "-", stdin=(tmp_path / log).read_bytes())
    assert done.status == 0, done.err
    assert "60.0 tok/s" in done.out
    assert "80.0" not in done.out


@pytest.mark.parametrize(("warm_up", "left_out"), [("0", 0), ("5", 4), ("10", 9), ("3600", 19)])
def test_samples_of_the_warm_up_count_from_when_the_server_was_ready(
    specmon: Specmon, log: str, tmp_path: Path, warm_up: str, left_out: int
) -> None:
    ready = "[2026-02-26 16:40:00] The server is fired up and ready to roll!\n"
    (tmp_path / log).write_text(LAUNCH.format(minute="39") + ready + (tmp_path / log).read_text())
    decode, _ = judged(specmon, log, "--warm-up", warm_up)
    assert decode["excluded"]["first_after_start"] == 1
    assert decode["excluded"]["warm_up"] == left_out
    assert decode["clean"] == 19 - left_out


def test_warm_up_of_each_life_is_its_own(specmon: Specmon, tmp_path: Path) -> None:
    lives = "".join(
        LAUNCH.format(minute="39")
        + f"[2026-02-26 16:40:{start:02}] The server is fired up and ready to roll!\n"
        + "".join(line(second, 80.0) for second in range(start, start + 20))
        for start in (0, 30)
    )
    (tmp_path / "two.log").write_text(lives)
    decode, _ = judged(specmon, "two.log", "--warm-up", "5")
    assert decode["excluded"]["warm_up"] == 4


@pytest.mark.parametrize("value", ["-1", "nan", "soon"])
def test_warm_up_is_a_number_of_seconds(specmon: Specmon, log: str, value: str) -> None:
    done = specmon("summary", log, "--warm-up", value)
    assert (done.status, "Traceback" in done.err) == (2, False)
