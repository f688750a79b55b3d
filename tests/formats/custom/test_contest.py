"""Whose log it is when a custom format and a built-in dialect both read lines of it."""

from __future__ import annotations

import pytest

from specmon.formats import Dialect
from specmon.formats.custom import load_format
from specmon.formats.detect import built_in_dialects
from specmon.formats.reader import LogReader

SGLANG = (
    b"[2026-02-26 16:40:00 TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, "
    b"cuda graph: True, gen throughput (token/s): 75.90, #queue-req: 0\n"
)
LAUNCH = b"[2026-02-26 16:39:00] server_args=ServerArgs(model_path='kimi', tp_size=8)\n"
OWN = b"decoding: 1 req 70.0 tok/s\n"
NOISE = b"nothing that anybody knows\n"


def custom(name: str, regex: str, line: str) -> Dialect:
    return load_format(
        f"""
schema = 1
name = "{name}"
covers = "time"
[[pattern]]
name = "decode"
kind = "decode"
regex = '{regex}'
[[sample]]
line = '{line}'
pattern = "decode"
""",
        f"{name}.toml",
    )


FORK = custom("fork", r"decoding: (?P<running>\d+) req (?P<tok_s>\S+) tok/s", OWN.decode().strip())
SHADOW = custom("shadow", r"#running-req: (?P<running>\d+),.*\(token/s\): (?P<tok_s>[\d.]+)", SGLANG.decode().strip())
TWIN = custom("twin", r"(?P<running>\d+) req (?P<tok_s>\S+) tok/s", OWN.decode().strip())


def samples(text: bytes, *customs: Dialect, block: int = 1 << 20) -> list[tuple[str | None, float]]:
    """Engine and tok/s of each sample."""
    reader = LogReader([*built_in_dialects(), *customs])
    portions, offset, part = [], 0, b""
    for line in text.splitlines(keepends=True):
        part += line
        if len(part) >= block:
            portions += reader.feed(part, offset)
            offset, part = offset + len(part), b""
    portions += (reader.feed(part, offset) if part else []) + reader.finish()
    return [(portion.engine, tok_s) for portion in portions for tok_s in portion.block.decode.tok_s]


def clashes(text: bytes, *customs: Dialect) -> list[tuple[str, str]]:
    reader = LogReader([*built_in_dialects(), *customs])
    events = [event for portion in reader.feed(text, 0) + reader.finish() for event in portion.block.events]
    return [(event.reads, event.other) for event in events if event.kind == "formats_clash"]  # type: ignore[attr-defined]  # told by its kind


def test_a_log_of_the_custom_format_alone_is_its_own() -> None:
    assert samples(NOISE + 2 * OWN, FORK) == [("custom:fork", 70.0)] * 2


def test_a_log_of_an_engine_stays_the_engine_s() -> None:
    assert samples(LAUNCH + NOISE + 2 * SGLANG, FORK) == [("sglang", 75.9)] * 2


def test_a_fork_with_the_engine_s_launch_line_and_its_own_statistics_is_the_fork_s() -> None:
    assert samples(LAUNCH + NOISE * 30 + 3 * OWN, FORK) == [("custom:fork", 70.0)] * 3


def test_at_a_tie_the_built_in_dialect_reads_and_the_clash_is_told_once() -> None:
    assert samples(5 * SGLANG, SHADOW) == [("sglang", 75.9)] * 5
    assert clashes(5 * SGLANG, SHADOW) == [("sglang", "custom:shadow")]


def test_the_custom_format_takes_over_once_it_has_read_more() -> None:
    assert samples(SGLANG + 3 * OWN, FORK) == [("sglang", 75.9)] + [("custom:fork", 70.0)] * 2


def test_of_two_custom_formats_the_first_one_reads_and_the_other_is_told() -> None:
    assert samples(2 * OWN, FORK, TWIN) == [("custom:fork", 70.0)] * 2
    assert samples(2 * OWN, TWIN, FORK) == [("custom:twin", 70.0)] * 2
    assert clashes(2 * OWN, FORK, TWIN) == [("custom:fork", "custom:twin")]


def test_a_log_without_statistics_is_given_to_the_engine_after_a_launch_s_lines() -> None:
    reader = LogReader([*built_in_dialects(), FORK])
    portions = reader.feed(LAUNCH + NOISE * 500, 0)
    assert [event.kind for portion in portions for event in portion.block.events] == ["launch"]


@pytest.mark.parametrize(
    "text",
    [LAUNCH + NOISE * 3 + 3 * OWN, SGLANG + 3 * OWN + 4 * SGLANG, 3 * OWN + 9 * SGLANG, LAUNCH + NOISE * 450 + 3 * OWN],
)
@pytest.mark.parametrize("block", [1, 200, 1000])
def test_where_a_log_is_cut_does_not_matter(text: bytes, block: int) -> None:
    assert samples(text, FORK, TWIN, block=block) == samples(text, FORK, TWIN)


def test_carriers_come_off_before_a_custom_format_reads_but_never_what_it_begins_with() -> None:
    stamped = custom(
        "stamped",
        r"^\[(?P<time>\S+ \S+)\] \[INFO\] (?P<running>\d+) at (?P<tok_s>\S+)",
        "[2026-02-26 16:40:00] [INFO] 1 at 70",
    )
    line = b"[2026-02-26 16:40:00] [INFO] 1 at 70\n"
    assert samples(line, stamped) == [("custom:stamped", 70.0)]
    assert samples(b"web-1  | " + line, stamped) == [("custom:stamped", 70.0)]
    assert samples(b"web-1  | " + OWN, FORK) == [("custom:fork", 70.0)]
