"""The pure parts of program sources: frames, stamps, screens, job files, patterns."""

from __future__ import annotations

import os
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.journal import CursorMemory, as_text
from specmon.sources.matches import FindMatches, local_matches, newest, parse_matches
from specmon.sources.program_commands import Ask, Frame, Stream
from specmon.sources.program_follow import last_lines
from specmon.sources.slurm_job import Job, expand, first_host, parse_sacct, parse_scontrol
from specmon.sources.stamped_log import OVERLAP_NS, StampMemory, parse_stamped, rfc3339
from specmon.sources.tmux_screen import Screen, ScreenMemory

# -- frames ------------------------------------------------------------------------------------------------------------


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    return [data[start:end] for start, end in pairwise(places)]


@given(st.binary(max_size=300), st.binary(max_size=40), st.lists(st.integers(0, 10**6), max_size=20))
def test_program_s_bytes_come_out_of_the_frame_however_they_are_cut(
    output: bytes, greeting: bytes, cuts: list[int]
) -> None:
    command = Stream(("x",))
    mark = command.mark.encode()
    sent = greeting + mark + b"|begin\n" + output + mark + b"|end|3\n"
    frame = Frame(command.mark)
    assert b"".join(frame.feed(piece) for piece in pieces(sent, cuts)) == output
    assert frame.status == 3


def test_whole_line_is_not_held_back() -> None:
    frame = Frame("ab")
    assert frame.feed(b"ab|begin\nline\n") == b"line\n"
    assert frame.feed(b"half a") == b"half "
    assert frame.feed(b" b\n") == b"a b\n"


def test_missing_program_is_told_from_no_answer() -> None:
    ask = Ask(("docker",))
    mark = ask.mark.encode()
    assert ask.answer_of(b"hello\n" + mark + b"|missing\n") is None
    assert ask.answer_of(b"hello\n" + mark + b"|begin\nx\n") == b"x\n"
    with pytest.raises(ValueError, match="no usable answer"):
        ask.answer_of(b"This account is not available.\n")


@pytest.mark.parametrize("command", [Ask(("a b", "'; rm -rf /", "$(x)", "-f")), Stream(("a\nb", "!", "`x`"))])
def test_words_are_quoted(command: Ask | Stream) -> None:
    assert tuple(shlex.split(command.text())[-len(command.words) :]) == command.words


# -- stamped logs ------------------------------------------------------------------------------------------------------

S = 1_000_000_000


def stamped(at_ns: int, text: str) -> bytes:
    return f"{rfc3339(at_ns)} {text}\n".encode()


def read(memory: StampMemory, log: list[bytes], until: int) -> list[bytes]:
    """What a reading of a log, up to its line number `until`, gives out."""
    since = memory.resume
    memory.begin()
    asked = [line for line in log[:until] if since is None or line[:30] >= since.encode()]
    taken = [memory.take(line) for line in asked]
    assert all(one is not None and one.verdict in ("old", "new") for one in taken)
    return [one.data for one in taken if one is not None and one.verdict == "new"]


@given(
    st.lists(
        st.tuples(st.integers(0, 3 * S // 10), st.integers(0, S // 2), st.sampled_from("abc")), min_size=1, max_size=60
    ),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_each_line_comes_once_however_often_the_reading_begins_again(
    steps: list[tuple[int, int, str]], ends: list[int]
) -> None:
    # Stamps go on by 0 to 0.3 s and are up to 0.5 s out of order; many lines are alike, also in their stamps.
    at, log = 1_796_000_000 * S, []
    for step, back, text in steps:
        at += step // (S // 10) * (S // 10)
        log.append(stamped(at - back // (S // 4) * (S // 4), text))
    memory = StampMemory()
    seen: list[bytes] = []
    for end in [*sorted(ends), len(log)]:
        seen += read(memory, log, end)
    assert seen == log


def test_line_that_is_gone_is_a_gap_before_the_next_one() -> None:
    memory = StampMemory()
    memory.begin()
    memory.take(stamped(100 * S, "a"))
    memory.begin()
    later = memory.take(stamped(101 * S, "b"))
    after = memory.take(stamped(102 * S, "c"))
    assert (later and later.verdict, after and after.verdict) == ("gap", "new")


def test_gap_that_is_not_believed_is_not_handed_out() -> None:
    memory = StampMemory()
    memory.begin()
    memory.take(stamped(100 * S, "a"))
    memory.begin()
    memory.believes_gaps = False
    doubted = memory.take(stamped(101 * S, "b"))
    assert doubted is not None
    assert doubted.verdict == "doubt"
    assert memory.newest_ns == 100 * S


def test_lines_before_a_limited_reading_stay_out() -> None:
    memory = StampMemory()
    memory.begin(is_limited=True)  # --tail 2
    memory.take(stamped(100 * S, "c"))
    memory.take(stamped(100 * S + 5, "d"))
    memory.begin()
    verdicts = [
        taken.verdict
        for line in (stamped(100 * S, "b"), stamped(100 * S, "c"), stamped(100 * S + 5, "d"), stamped(101 * S, "e"))
        if (taken := memory.take(line)) is not None
    ]
    assert verdicts == ["old", "old", "old", "new"]


def test_memory_does_not_grow_with_the_log() -> None:
    memory = StampMemory()
    memory.begin()
    for number in range(20_000):
        memory.take(stamped(number * OVERLAP_NS // 10, "x"))
    assert len(memory._remembered) < 30


@pytest.mark.parametrize(
    ("line", "at_ns", "text"),
    [
        (b"2026-06-24T17:38:02.436246479Z x\n", 1782322682436246479, b"x\n"),
        (b"2026-06-24T17:38:02.43Z x\n", 1782322682430000000, b"x\n"),
        (b"2026-06-24T19:38:02.5+02:00 x\n", 1782322682500000000, b"x\n"),
        (b"2026-06-24T17:38:02Z \n", 1782322682000000000, b"\n"),
    ],
)
def test_stamp_of_a_runtime_is_read(line: bytes, at_ns: int, text: bytes) -> None:
    found = parse_stamped(line)
    assert found is not None
    assert (found.at_ns, found.text) == (at_ns, text)


@pytest.mark.parametrize(
    "line", [b"Error response from daemon: x\n", b"[2026-06-24 17:38:02] x\n", b"", b"2026-99-99T"]
)
def test_line_without_a_stamp_is_the_program_s_own(line: bytes) -> None:
    assert parse_stamped(line) is None


@pytest.mark.parametrize(
    ("size", "kept"), [(0, b""), (3, b""), (4, b"two\n"), (6, b"two\n"), (8, b"one\ntwo\n"), (99, b"one\ntwo\n")]
)
def test_backfill_is_made_of_whole_lines(size: int, kept: bytes) -> None:
    assert last_lines([b"one\nt", b"wo\n"], size) == kept


# -- journal -----------------------------------------------------------------------------------------------------------


def test_entry_is_known_by_its_cursor() -> None:
    memory = CursorMemory()
    memory.begin()
    lines = [b'{"__CURSOR":"s=%d","MESSAGE":"x"}\n' % number for number in range(4)]
    assert [taken.verdict for line in lines[:2] if (taken := memory.take(line))] == ["new", "new"]
    memory.begin()
    assert memory.resume == "s=1"
    assert [taken.verdict for line in lines[1:3] if (taken := memory.take(line))] == ["old", "new"]
    memory.begin()
    assert [taken.verdict for line in lines[3:] if (taken := memory.take(line))] == ["gap"]
    assert memory.take(b"-- No entries --\n") is None


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("ready", b"ready\n"),
        ([27, 91, 49, 109, 255], b"\x1b[1m\xff\n"),
        (None, b"\n"),
    ],
)
def test_entry_as_text_is_what_journalctl_prints(message: object, text: bytes) -> None:
    entry = {
        "__REALTIME_TIMESTAMP": "1767225600123456",
        "_HOSTNAME": "gpu01",
        "SYSLOG_IDENTIFIER": "python3",
        "_PID": "12",
        "MESSAGE": message,
    }
    assert as_text(entry) == b"2026-01-01T00:00:00.123456+0000 gpu01 python3[12]: " + text


# -- tmux --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 6), st.integers(40, 100))
def test_screen_gives_each_line_once_while_the_known_ones_are_in_it(
    steps: list[int], period: int, history: int
) -> None:
    # Lines repeat with a short period; the count of rows tells how many are new.
    printed: list[bytes] = []
    memory = ScreenMemory()
    seen: list[bytes] = []
    for step in steps:
        printed += [b"line %d" % (number % period) for number in range(len(printed), len(printed) + step)]
        fresh = memory.take(Screen(tuple(printed[-history:]), len(printed), is_whole=len(printed) <= history))
        assert fresh is not None
        assert not fresh.has_gap
        seen += fresh.lines
    assert seen == printed


def test_screen_that_does_not_reach_back_is_asked_for_whole_and_is_a_gap_then() -> None:
    memory = ScreenMemory()
    memory.take(Screen((b"a", b"b"), 2, is_whole=True))
    assert memory.take(Screen((b"x", b"y"), 90, is_whole=False)) is None
    fresh = memory.take(Screen((b"x", b"y"), 90, is_whole=True))
    assert fresh is not None
    assert (fresh.lines, fresh.has_gap) == ((b"x", b"y"), True)


def test_lines_of_a_full_history_are_found_by_their_text() -> None:
    memory = ScreenMemory()
    lines = [b"line %d" % number for number in range(100)]
    memory.take(Screen(tuple(lines[:50]), 50, is_whole=True))
    fresh = memory.take(Screen(tuple(lines[30:100]), 70, is_whole=True, history_is_full=True))
    assert fresh is not None
    assert list(fresh.lines) == lines[50:]


# -- slurm -------------------------------------------------------------------------------------------------------------

SCONTROL = (
    "JobId=4711 JobName=spec run UserId=me(1000) GroupId=me(1000) MCS_label=N/A Priority=1 JobState=RUNNING "
    "Reason=None Partition=gpu NodeList=gpu[03-04] BatchHost=gpu03 Command=/home/me/run.sh --x=1 "
    "WorkDir=/home/me StdErr=/home/me/logs/spec-4711.err StdIn=/dev/null StdOut=/home/me/logs/spec-4711.out Power="
)


def test_job_s_files_are_read_from_scontrol() -> None:
    assert parse_scontrol(SCONTROL + "\n") == [
        Job("RUNNING", "/home/me/logs/spec-4711.out", "/home/me/logs/spec-4711.err", "4711", "gpu03")
    ]


def test_one_file_for_both_streams_is_named_once() -> None:
    job = parse_scontrol(SCONTROL.replace("spec-4711.err", "spec-4711.out"))[0]
    assert job.paths == ("/home/me/logs/spec-4711.out",)


def test_patterns_that_scontrol_leaves_are_put_in() -> None:
    job = parse_scontrol(SCONTROL.replace("spec-4711.err", "%x-%6j-%N.err").replace("/home/me/logs/spec", "out/spec"))[
        0
    ]
    assert job.paths == ("/home/me/logs/spec run-004711-gpu03.err", "/home/me/out/spec-4711.out")


COLUMNS = ("JobID", "JobIDRaw", "State", "JobName", "User", "NodeList", "WorkDir", "StdOut", "StdErr")


def test_job_of_the_past_is_read_from_sacct() -> None:
    row = "4711_3|4714|COMPLETED|spec|me|gpu03|/home/me|%x-%A_%a.out||\n"
    assert parse_sacct(row.replace("||", "|"), COLUMNS)[0].paths == ("/home/me/spec-4711_3.out",)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("slurm-%j.out", "slurm-4714.out"),
        ("%A_%4a.out", "4711_0003.out"),
        ("%%j-%t-%n-%s", "%j-0-0-batch"),
        ("%b.%u", "3.me"),
        (r"a\%j", "a%j"),
        ("%q", "%q"),
    ],
)
def test_pattern_of_sbatch_is_expanded(pattern: str, path: str) -> None:
    assert expand(pattern, {"j": "4714", "A": "4711", "a": "3", "x": "spec", "u": "me", "N": "gpu03"}) == path


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("gpu03", "gpu03"), ("gpu[03-05,9],cpu1", "gpu03"), ("a,b", "a"), ("n[1-2]-ib", "n1-ib"), ("", "")],
)
def test_first_host_of_a_list(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


# -- patterns ----------------------------------------------------------------------------------------------------------


def test_newest_match_is_neither_packed_nor_rotated(tmp_path: Path) -> None:
    for age, name in enumerate(["b.log-20261130", "b.log.1", "b.log.2.gz", "b.log", "a.log"]):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    found = newest(local_matches(str(tmp_path / "*.log*")))
    assert found is not None
    assert found.path == str(tmp_path / "b.log")


def test_answer_about_matches_keeps_any_name() -> None:
    name = "a 'b'\n,.log"
    answer = f"/m/1,22,1000,81a4,{name}\n/m/1,24,950,41ed,folder\n/m/1,23,900,81a4,old\n".encode()
    assert [(match.path, match.inode) for match in parse_matches(answer, "m")] == [("old", 23), (name, 22)]


def test_thousands_of_matches_start_no_process_each(tmp_path: Path) -> None:
    """A GPU host is looked at each second: a process for each of 20,000 names would keep it busy for minutes."""
    for number in range(450):
        (tmp_path / f"run-{number}.log").touch()
    trace = tmp_path / "trace"
    command = FindMatches(f"{tmp_path}/run-*.log")
    # The commands that are run, one a line: a function's own line is no process.
    words = shlex.split(command.text())
    words[words.index("-c")] = "-xc"
    with trace.open("wb") as errors:
        answer = subprocess.run(words[1:], check=True, stdout=subprocess.PIPE, stderr=errors, timeout=90).stdout
    assert len(parse_matches(answer, command.mark)) == 450
    assert trace.read_text().count("+ stat ") < 10
