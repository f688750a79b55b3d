"""What logs of custom formats come to, by what their lines cover."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from specmon.formats.custom import load_format
from specmon.formats.detect import built_in_dialects
from specmon.formats.reader import LogReader
from specmon.monitor.life import Life
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.events import Chunk


def life_of(covers: str, regex: str, lines: Iterable[str], extra: str = "") -> Life:
    life = server_of(covers, regex, lines, extra).life
    assert life is not None
    return life


def server_of(covers: str, regex: str, lines: Iterable[str], extra: str = "") -> ServerMonitor:
    text = list(lines)
    toml = f"""
schema = 1
name = "x"
covers = "{covers}"
{extra}
[[pattern]]
name = "decode"
kind = "decode"
regex = '{regex}'
[[sample]]
line = '{text[0]}'
pattern = "decode"
"""
    dialect = load_format(toml, "x.toml")
    session = Session(reader=lambda: LogReader([*built_in_dialects(), dialect]))
    server = session.add("1", "x.log")
    session.feed("1", Chunk(0.0, 0, "".join(f"{line}\n" for line in text).encode()))
    session.finish()
    return server


def clock(seconds: float) -> str:
    return f"2026-02-26 16:{int(seconds // 60):02}:{seconds % 60:02.0f}"


def test_lines_by_the_clock_weigh_by_the_time_that_they_cover() -> None:
    lines = [f"{clock(10 * i)} B=2 R=151.8 A=2.10" for i in range(30)]
    life = life_of("time", r"^(?P<time>\S+ \S+) B=(?P<running>\d+) R=(?P<tok_s>\S+) A=(?P<accept_len>\S+)", lines)
    figures = life.figures()
    (level,) = figures.levels
    assert (life.role, life.speculation) == (Role.SPECULATIVE, "active")
    assert level.decode_tok_s == pytest.approx(151.8)
    assert level.cycle_ms == pytest.approx(1000 * 2.1 * 2 / 151.8)
    assert figures.delivered_tok_s == pytest.approx(151.8)
    assert figures.drafts == pytest.approx(29 * 10 * 151.8 / 2.1)


def test_an_idle_hour_between_lines_by_the_clock_enters_no_speed() -> None:
    stamps = [*range(0, 100, 10), *range(1000, 1100, 10)]
    lines = [f"{clock(at)} B=1 R=62.9" for at in stamps]
    regex = r"^(?P<time>\S+ \S+) B=(?P<running>\d+) R=(?P<tok_s>\S+)(?: A=(?P<accept_len>\S+))?"
    life = life_of("time", regex, lines)
    figures = life.figures()
    assert life.role is Role.BASELINE
    assert figures.excluded["after_idle"] == 1
    assert figures.delivered_tok_s == pytest.approx(62.9)


def test_whole_requests_share_the_server_s_time() -> None:
    lines = [f"done B=2 n=500 in 6.25s A=2.00 {i}" for i in range(20)]
    regex = r"^done B=(?P<running>\d+) n=(?P<tokens>\d+) in (?P<window_s>[\d.]+)s A=(?P<accept_len>\S+)"
    (level,) = life_of("request", regex, lines).figures().levels
    assert level.decode_tok_s == pytest.approx(160.0)  # 80 tok/s for each of two requests
    assert level.cycle_ms == pytest.approx(25.0)
    assert level.clean == 19


def test_single_steps_are_samples_of_one_cycle() -> None:
    lines = [f"step {i} B=4 took 16.0 ms" for i in range(20)]
    (level,) = life_of("step", r"^step \d+ B=(?P<running>\d+) took (?P<cycle_ms>\S+) ms", lines).figures().levels
    assert level.cycle_ms == pytest.approx(16.0)
    assert level.tok_s.median == pytest.approx(250.0)


def test_a_format_that_never_tells_acceptance_proves_no_role() -> None:
    life = life_of("time", r"B=(?P<running>\d+) R=(?P<tok_s>\S+)", [f"B=1 R=70 {i}" for i in range(20)])
    assert life.role is Role.UNKNOWN


def test_ranks_that_share_the_requests_are_summed() -> None:
    lines = [f"{clock(10 * i)} r{rank} B=1 R=50" for i in range(20) for rank in (0, 1)]
    regex = r"^(?P<time>\S+ \S+) r(?P<rank>\d) B=(?P<running>\d+) R=(?P<tok_s>\S+)(?: A=(?P<accept_len>\S+))?"
    (level,) = life_of("time", regex, lines, 'ranks = "add_up"').figures().levels
    assert level.tok_s.median == pytest.approx(100.0)
    (level,) = life_of("time", regex, lines).figures().levels
    assert level.tok_s.median == pytest.approx(50.0)


def test_the_expected_window_follows_the_cycles_of_a_line() -> None:
    # 1000 cycles of 15.9 ms are 16 s apart: nothing was idle.
    lines = [f"{clock(16 * i)} B=1 R=62.9" for i in range(20)]
    regex = r"^(?P<time>\S+ \S+) B=(?P<running>\d+) R=(?P<tok_s>\S+)(?: A=(?P<accept_len>\S+))?(?: (?P<cycles>\d+))?"
    life = life_of("cycles", regex, [f"{line} 1000" for line in lines])
    assert life.figures().excluded["after_idle"] == 0


@pytest.mark.parametrize(
    ("printed", "unit", "words"),
    [
        (27.668, "", ""),
        (0.027668, "", "1,000 times more. If the log prints seconds, write `cycle_ms = 1000` under [unit]."),
        (27668, "", "1,000 times less. If the log prints microseconds, write `cycle_ms = 0.001` under [unit]."),
        (0.027668, "[unit]\ncycle_ms = 1000", ""),
        (1106.7, "", "40 times less. Check the factors of cycle_ms and tok_s under [unit]."),  # a window for a cycle
    ],
)
def test_a_cycle_in_another_unit_is_noticed_with_the_mend(printed: float, unit: str, words: str) -> None:
    lines = [f"{clock(2 * i)} B=1 R=75.9 A=2.10 C={printed}" for i in range(20)]
    regex = r"^(?P<time>\S+ \S+) B=(?P<running>\d+) R=(?P<tok_s>\S+) A=(?P<accept_len>\S+) C=(?P<cycle_ms>\S+)"
    server = server_of("time", regex, lines, unit)
    found = [each.text for each in notices_of(server, is_finished=True) if each.kind == "cycle_disagrees"]
    assert [text[-len(words) :] for text in found] == ([words] if words else [])
