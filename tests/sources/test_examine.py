"""What a checkup reads out of a machine's answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.examine import Growth, Tools, parse_clock, parse_growth, parse_tools, read_clock
from specmon.sources.machine import CommandResult, ThisMachine
from specmon.sources.ssh_config import explain, explain_system, ignored_settings, parse_told

MARK = "0123456789abcdef"


def test_tools_are_read_behind_the_greeting() -> None:
    answer = f"hello\n{MARK}\nshell /bin/fish\nsystem Linux 6.1\nlacks stat\ntail BusyBox\n".encode()
    assert parse_tools(answer, MARK) == Tools("/bin/fish", "Linux 6.1", "BusyBox", ("stat",), 6)
    assert parse_tools(b"This account is not available.\n", MARK) is None


@pytest.mark.parametrize(
    ("told", "skew_s", "uncertain_by_s"),
    [
        (b"1000.250000000", 0.0, 0.25),  # in the middle of the round trip
        (b"1005.250000000", 5.0, 0.25),
        (b"990.250000000", -10.0, 0.25),
        (b"1000.%N", 0.25, 0.75),  # BusyBox: whole seconds
        (b"1000", 0.25, 0.75),
    ],
)
def test_skew_is_counted_from_the_middle_of_the_round_trip(told: bytes, skew_s: float, uncertain_by_s: float) -> None:
    reading = parse_clock(b"motd\n" + MARK.encode() + b" " + told + b"\n", MARK, asked_at=1000.0, round_trip_s=0.5)
    assert reading is not None
    assert reading.skew_s == pytest.approx(skew_s)
    assert reading.uncertain_by_s == pytest.approx(uncertain_by_s)


async def test_quickest_of_several_answers_counts() -> None:
    trips = iter([0.4, 0.1, 0.9, 0.3, 0.2])
    now = [1000.0]

    class Far(ThisMachine):
        async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
            trip = next(trips)
            mark = command.rsplit(" ", 1)[1]
            now[0] += trip
            return CommandResult(f"{mark} {now[0] - trip / 2 + 7:.9f}\n".encode(), b"", 0)

    reading = await read_clock(Far(), clock=lambda: now[0], ticks=lambda: now[0])
    assert reading.skew_s == pytest.approx(7.0, abs=1e-6)
    assert reading.round_trip_s == pytest.approx(0.1)


def test_growth_is_the_difference_of_two_looks() -> None:
    answer = f"{MARK}\n100 1000\n350 1002\n1003\n".encode()
    assert parse_growth(answer, MARK, 2.0) == Growth(350, 250, 2.0, 1.0)
    assert parse_growth(f"{MARK}\n1003\n".encode(), MARK, 2.0) is None


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reading(answer: bytes) -> None:
    parse_tools(answer, MARK)
    parse_tools(MARK.encode() + b"\n" + answer, MARK)
    parse_clock(MARK.encode() + b" " + answer, MARK, 0.0, 0.1)
    parse_growth(MARK.encode() + b"\n" + answer, MARK, 2.0)
    parse_told(answer.decode("latin-1"))


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ("stricthostkeychecking ask\ncontrolmaster false\n", []),
        ("stricthostkeychecking accept-new\n", ["StrictHostKeyChecking"]),
        ("stricthostkeychecking off\ncontrolmaster auto\n", ["StrictHostKeyChecking", "ControlMaster"]),
        ("userknownhostsfile /dev/null\n", ["UserKnownHostsFile"]),
        ("verifyhostkeydns yes\nknownhostscommand /x %H\n", ["VerifyHostKeyDNS", "KnownHostsCommand"]),
        ("proxyusefdpass yes\n", ["ProxyUseFdpass"]),
    ],
)
def test_settings_that_are_not_followed_are_told(told: str, options: list[str]) -> None:
    assert [each.option for each in explain(parse_told(told))] == options


def test_way_that_only_the_systems_file_knows_is_told() -> None:
    alone = {"hostname": "gpu01", "user": "me", "port": "22"}
    (told,) = explain_system({**alone, "proxyjump": "login"}, alone)
    assert told.text == "ProxyJump login comes from /etc/ssh/ssh_config, which is not read"
    assert explain_system(alone, alone) == []


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")
async def test_line_under_a_match_that_is_read_otherwise_is_told(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Match exec "echo %n | grep -q gpu1"\n  Port 4722\nHost gpu2\n  Port 4722\n')
    told = await ignored_settings("gpu1", config)
    assert [(each.option, "Port 4722 is followed by `ssh` and not here" in each.text) for each in told] == [
        ("Port", True)
    ]
    assert await ignored_settings("gpu2", config) == []
