"""References that people write: each field refuses what cannot be, and says where it stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from specmon.errors import ConfigError
from specmon.references.store import parse

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

GOOD = """\
schema = 1
name = "tuned"
note = "x"
recorded_at = 2026-02-20T10:00:00Z
host = "gpu01"
engine = "sglang"
engine_version = "0.5.9"
model = "/m"
tolerance = 0.05

[[level]]
running = 1
n = 212
tok_s = 88.8
tok_s_ci95 = [88.6, 89.0]
cycle_ms = 11.26
sigma = 0.006
spread = 0.01
context_tokens = [300, 700]

[[session]]
recorded_at = 2026-02-20T10:00:00Z
started_at = 2026-02-20T09:50:00Z
run = 1
[[session.level]]
running = 1
tok_s = 88.8

[[session]]
run = 2
[[session.level]]
running = 1
tok_s = 88.9
[[session.level]]
running = 8
tok_s = 640.0

[fingerprint]
unset_flags = ["quantization"]
[fingerprint.flags]
tp_size = 8
[fingerprint.env]
NCCL_PROTO = "LL"
[fingerprint.versions]
nccl = "2.27.3"
[fingerprint.gpu]
count = 8
"""
LINES = GOOD.splitlines()


def fault_of(line: str, value: str, *, occurrence: int = 1) -> str:
    """The sentence for a file in which one line has another value; `line` is the beginning of the line."""
    number = [index for index, text in enumerate(LINES) if text.startswith(line)][occurrence - 1]
    key = LINES[number].partition(" = ")[0]
    lines = [*LINES[:number], f"{key} = {value}", *LINES[number + 1 :]]
    with pytest.raises(ConfigError) as caught:
        parse("\n".join(lines), "r.toml", now=NOW)
    sentence = str(caught.value)
    assert sentence.startswith(f"reference r.toml:{number + 1}: "), sentence
    assert "\n" not in sentence
    return sentence


def test_the_whole_form_is_accepted() -> None:
    found = parse(GOOD, "r.toml", now=NOW)
    assert found.fingerprint.flags == {"tp_size": 8, "quantization": None}


POSITIVE = ("tok_s", "cycle_ms", "sigma", "spread")


@pytest.mark.parametrize("key", POSITIVE)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0", "0.0", "-1", '"88.8"', "true", "[1.0]", "{ a = 1 }"])
def test_measured_figure_is_a_number_above_zero(key: str, value: str) -> None:
    assert f"level.1.{key}: " in fault_of(f"{key} =", value)


@pytest.mark.parametrize("key", ["tok_s_ci95", "context_tokens"])
@pytest.mark.parametrize("value", ["[1.0]", "[1, 2, 3]", '["a", 2]', "[nan, 2]", "[0, 2]", "[-1, 2]", "[3, 2]", "5"])
def test_interval_has_a_lower_and_an_upper_end(key: str, value: str) -> None:
    assert f"level.1.{key}" in fault_of(f"{key} =", value)


@pytest.mark.parametrize("key", ["running", "n"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", '"1"', "true", "nan"])
def test_count_is_a_whole_number_from_one(key: str, value: str) -> None:
    assert f"level.1.{key}: " in fault_of(f"{key} =", value)


@pytest.mark.parametrize("key", ["name", "note", "host", "engine", "engine_version", "model"])
@pytest.mark.parametrize("value", ["1", "true", '["a"]', "2026-02-20"])
def test_text_is_a_text(key: str, value: str) -> None:
    assert f": {key}: " in fault_of(f"{key} =", value)


@pytest.mark.parametrize("value", ["0", "1", "-0.1", "5", "nan", '"5 %"', "true"])
def test_tolerance_is_a_share(value: str) -> None:
    assert ": tolerance: " in fault_of("tolerance", value)


@pytest.mark.parametrize("value", ["0", '"1"', "1.5", "true"])
def test_schema_is_a_number(value: str) -> None:
    assert ": schema: " in fault_of("schema", value)


@pytest.mark.parametrize("value", ['"2026-02-20T10:00:00Z"', "1772123456", "10:00:00", "true"])
def test_time_is_a_date_and_time_without_quotes(value: str) -> None:
    assert "recorded_at: write a date and a time without quotes" in fault_of("recorded_at", value)
    assert "session.1.started_at: write a date" in fault_of("started_at", value)


@pytest.mark.parametrize("moment", ["2026-03-02T12:00:01Z", "2026-03-02T12:00:01", "2099-01-01"])
def test_time_in_the_future_is_refused(moment: str) -> None:
    assert "recorded_at lies in the future" in fault_of("recorded_at", moment)
    assert "recorded_at lies in the future" in fault_of("recorded_at", moment, occurrence=2)


@pytest.mark.parametrize("moment", ["2026-03-02T01:00:00", "2026-03-01T21:00:00+09:00", "2026-02-20", "1999-12-31"])
def test_time_of_another_zone_or_a_date_alone_is_fine(moment: str) -> None:
    parse(GOOD.replace("2026-02-20T10:00:00Z", moment), "r.toml", now=NOW)


def test_without_a_clock_no_time_lies_in_the_future() -> None:
    later = (NOW + timedelta(days=400)).isoformat()
    parse(GOOD.replace("2026-02-20T10:00:00Z", later), "r.toml")


@pytest.mark.parametrize(
    ("line", "value", "place"),
    [
        ("run =", '"last"', "session.1.run: "),
        ("tp_size", "2026-02-20", "fingerprint.flags.tp_size"),
        ("NCCL_PROTO", "1", "fingerprint.env.NCCL_PROTO: "),
        ("nccl", "2.27", "fingerprint.versions.nccl: "),
    ],
)
def test_other_fields_name_their_place(line: str, value: str, place: str) -> None:
    assert place in fault_of(line, value)


def test_fault_in_the_second_session_is_found_in_the_second_session() -> None:
    assert "session.2.level.1.tok_s: " in fault_of("tok_s =", "-1", occurrence=3)
    assert "session.2.level.2.tok_s: " in fault_of("tok_s =", "-1", occurrence=4)


@pytest.mark.parametrize("value", ["3", '"quantization"', "[1]", '["tp_size"]'])
def test_unset_flags_are_names_that_are_not_set_elsewhere(value: str) -> None:
    text = GOOD.replace('["quantization"]', value)
    with pytest.raises(ConfigError, match=r"r\.toml:38: fingerprint: .*unset_flags"):
        parse(text, "r.toml")


def test_two_levels_with_the_same_load_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"two .*levels of a session.* have the same `running`"):
        parse(GOOD.replace("running = 8", "running = 1"), "r.toml")
    again = GOOD + "[[level]]\nrunning = 1\ntok_s = 90.0\n"
    with pytest.raises(ConfigError, match=r"two \[\[level\]\] tables have the same `running`"):
        parse(again, "r.toml")


@pytest.mark.parametrize("key", ["odd", "tok_S"])
@pytest.mark.parametrize("table", ["", "[[level]]", "[[session]]", "[fingerprint]"])
def test_key_that_is_not_known_is_named_with_its_line(key: str, table: str) -> None:
    at = LINES.index(table) if table else 0
    text = "\n".join([*LINES[: at + 1], f"{key} = 1", *LINES[at + 1 :]])
    with pytest.raises(ConfigError, match=rf"r\.toml:{at + 2}: .*{key}: is not known"):
        parse(text, "r.toml")


def test_newer_file_is_still_held_to_what_is_known() -> None:
    newer = GOOD.replace("schema = 1", "schema = 2\nfuture = 1").replace("tok_s = 88.8", "tok_s = -1", 1)
    with pytest.raises(ConfigError, match=r"level\.1\.tok_s: "):
        parse(newer, "r.toml")


@pytest.mark.parametrize("key", POSITIVE)
@pytest.mark.parametrize("value", ["1e308", "5e-324", "1e13"])
def test_figure_that_nobody_can_measure_is_refused(key: str, value: str) -> None:
    assert key in fault_of(f"{key} =", value)


@pytest.mark.parametrize("key", ["sigma", "spread"])
def test_percentage_in_the_place_of_a_share_is_refused(key: str) -> None:
    assert f"{key}: input should be less than or equal to 2" in fault_of(key, "5.6")


@pytest.mark.parametrize("value", ["0.01126", "1e11"])
def test_step_time_that_does_not_belong_to_the_speed_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"does not fit tok_s 88.8: at 1 running that is a step of 11.26 ms"):
        parse(GOOD.replace("cycle_ms = 11.26", f"cycle_ms = {value}"), "r.toml", now=NOW)


def test_speed_may_be_the_sum_of_many_ranks() -> None:
    level = parse(GOOD.replace("cycle_ms = 11.26", "cycle_ms = 90.08"), "r.toml", now=NOW).level_at(1)
    assert level is not None
    assert level.step_ms == 90.08
