"""`specmon tail` as another process: what it prints where, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from specmon.commands.tail_output import LineOutput, Teller, for_terminal, short_names
from specmon.sources.events import Connected, Gap, Refused, SourceEvent, Waiting
from tests.cli.conftest import Specmon
from tests.conftest import Sshd

Sentences = Callable[[str], list[str]]


class Tailing:
    """A running `specmon tail`."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out = out
        self._err = err

    @property
    def out(self) -> bytes:
        return self._out.read_bytes()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def wait_for(self, is_there: Callable[[Tailing], bool], seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not is_there(self):
            assert self.process.poll() is None, (self.out, self.err)
            assert time.monotonic() < end, (self.out, self.err)
            time.sleep(0.02)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=90)


Tail = Callable[..., Tailing]


@pytest.fixture
def tail(environment: dict[str, str], tmp_path: Path) -> Iterator[Tail]:
    """Starts `specmon tail ARGS…` with its output in files."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*args: str) -> Tailing:
        out, err = tmp_path / "stdout", tmp_path / "stderr"
        with out.open("wb") as out_file, err.open("wb") as err_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "specmon", "tail", *args],
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
                env=environment,
                cwd=tmp_path,
            )
        started.append(process)
        return Tailing(process, out, err)

    yield start
    for process in started:
        process.kill()
        process.wait(timeout=90)


@pytest.fixture
def to_sshd(sshd: Sshd) -> tuple[str, ...]:
    return ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(sshd.known_hosts))


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_new_lines_are_printed_and_bytes_are_unchanged(tail: Tail, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"old\nhalf")
    tailing = tail("a.log")
    new = b"\x1b[31mred\x1b[0m \xff\0 50%\rnext\r\nlast without an end"

    def is_reading(tailing: Tailing) -> bool:
        add(log, b"\nmark\n")  # there is no sign that it reads already; what was begun before is old
        return b"mark" in tailing.out

    tailing.wait_for(is_reading)
    before = len(tailing.out)
    add(log, new)
    tailing.wait_for(lambda tailing: tailing.out.endswith(b"an end"))
    assert tailing.out[before:].replace(b"\nmark\n", b"").endswith(new)
    assert b"old" not in tailing.out
    assert b"half" not in tailing.out
    assert tailing.end() == 130


@pytest.mark.parametrize(
    ("options", "printed"),
    [(("--from-start",), b"one\ntwo\nthree\n"), (("--backfill", "8"), b"three\n"), (("--backfill", "99"), None)],
)
def test_backfill_begins_at_a_line(tail: Tail, tmp_path: Path, options: tuple[str, ...], printed: bytes | None) -> None:
    (tmp_path / "a.log").write_bytes(b"one\ntwo\nthree\n")
    tailing = tail(*options, "a.log")
    tailing.wait_for(lambda tailing: tailing.out == (printed or b"one\ntwo\nthree\n"))


def test_missing_file_is_waited_for_and_told_once(tail: Tail, tmp_path: Path, only_sentences: Sentences) -> None:
    tailing = tail("a.log")
    tailing.wait_for(lambda tailing: "no such file" in tailing.err)
    time.sleep(1.2)  # it looks again in the meantime
    (tmp_path / "a.log").write_bytes(b"first\n")
    tailing.wait_for(lambda tailing: tailing.out == b"first\n")
    sentences = only_sentences(tailing.err)
    assert sentences == ["a.log: no such file. Waiting; it is tried again by itself.", "a.log: reading now."]


def test_rotation_is_told_and_every_line_comes_once(tail: Tail, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"1\n")
    tailing = tail("--from-start", "a.log")
    tailing.wait_for(lambda tailing: tailing.out == b"1\n")
    log.rename(tmp_path / "a.log.1")
    add(tmp_path / "a.log.1", b"2\nhalf of the last")
    add(log, b"3\n")
    tailing.wait_for(lambda tailing: tailing.out == b"1\n2\nhalf of the last\n3\n")
    assert "specmon: a.log: the file was renamed; its new content follows." in tailing.err
    log.write_bytes(b"4\n")
    tailing.wait_for(lambda tailing: tailing.out == b"1\n2\nhalf of the last\n3\n4\n")
    assert "the file was truncated" in tailing.err


def test_several_sources_have_their_names_before_each_line(tail: Tail, tmp_path: Path) -> None:
    for folder, text in [("x", b"one\ntwo\n"), ("y", b"three\nno end")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.log").write_bytes(text)
    (tmp_path / "b.log").write_bytes(b"four\n")
    tailing = tail("--from-start", "x/a.log", "y/a.log", "base=b.log")
    tailing.wait_for(lambda tailing: tailing.out.count(b"\n") == 4)
    assert set(tailing.out.split(b"\n")) == {b"x/a.log| one", b"x/a.log| two", b"y/a.log| three", b"base| four", b""}
    assert tailing.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert tailing.out.endswith(b"y/a.log| no end\n")


def test_line_of_several_megabytes_is_passed_on_whole(tail: Tail, tmp_path: Path) -> None:
    long = b"x" * 5_000_000 + b"\n"
    (tmp_path / "a.log").write_bytes(long)
    (tmp_path / "b.log").write_bytes(b"b\n")
    tailing = tail("--from-start", "a.log", "b.log")
    tailing.wait_for(lambda tailing: len(tailing.out) == len(b"a.log| ") + len(long) + len(b"b.log| b\n"))
    assert b"a.log| " + long in tailing.out


def test_terminal_gets_no_control_characters(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes("\x1b]0;owned\x07 \ttab ü \x9b31m\r\n".encode() + b"\xff\n")
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "specmon", "tail", "--from-start", "a.log"],
            stdout=theirs,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=tmp_path,
        ) as process:
            shown = b""
            while shown.count(b"\n") < 2:
                shown += os.read(ours, 1000)
            process.kill()
    finally:
        os.close(ours)
        os.close(theirs)
    assert shown.decode() == "^[]0;owned^G \ttab ü \\u009b31m\r\n\ufffd\r\n"


def test_reader_that_goes_away_ends_it_quietly(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    with subprocess.Popen(
        [sys.executable, "-m", "specmon", "tail", "--from-start", "a.log"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert os.read(process.stdout.fileno(), 100) == b"one\n"
        process.stdout.close()  # and the log stays silent
        assert process.wait(timeout=90) == 0
        assert process.stderr.read() == b""


def test_stdin_is_printed_to_its_end(specmon: Specmon) -> None:
    done = specmon("tail", "-", stdin=b"one\ntwo")
    assert (done.status, done.out, done.err) == (0, "one\ntwo", "")


@pytest.mark.parametrize(
    ("args", "words"),
    [((".",), "is a directory"), (("--from-start", "--backfill", "1", "a.log"), "exclude each other")],
)
def test_what_can_never_be_read_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, args: tuple[str, ...], words: str
) -> None:
    done = specmon("tail", *args)
    (sentence,) = only_sentences(done.err)
    assert words in sentence
    assert done.status == 2


@pytest.mark.parametrize(
    ("redirection", "words"), [(">/dev/full", "no space left on device"), (">&-", "stdout is closed")]
)
def test_stdout_that_takes_nothing_is_a_sentence(
    environment: dict[str, str], tmp_path: Path, only_sentences: Sentences, redirection: str, words: str
) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m specmon tail --from-start a.log {redirection}', sys.executable],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=90,
    )
    (sentence,) = only_sentences(done.stderr)
    assert words in sentence
    assert done.returncode == 2


@pytest.mark.sshd
def test_lost_connection_is_told_and_loses_no_line(
    tail: Tail, tmp_path: Path, to_sshd: tuple[str, ...], sshd: Sshd
) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"1\n")
    tailing = tail(*to_sshd, "--from-start", f"127.0.0.1:{log}")
    tailing.wait_for(lambda tailing: tailing.out == b"1\n")
    assert sshd.kill_sessions()
    add(log, b"2\n3\n")
    tailing.wait_for(lambda tailing: tailing.out == b"1\n2\n3\n")
    lost, resumed = tailing.err.splitlines()
    assert re.fullmatch(
        r"specmon: 127\.0\.0\.1: connection lost( \(.*\))?\. Waiting; it is tried again by itself\.", lost
    )
    assert re.fullmatch(rf"specmon: 127\.0\.0\.1:{log}: resumed after \d+ s\.", resumed)
    assert tailing.end() == 130


@pytest.mark.sshd
def test_unknown_host_key_ends_with_2(specmon: Specmon, only_sentences: Sentences, tmp_path: Path, sshd: Sshd) -> None:
    known = tmp_path / "none"
    known.touch()
    done = specmon(
        "tail", "-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(known), "127.0.0.1:/x.log"
    )
    (sentence,) = only_sentences(done.err)
    assert "SHA256:" in sentence
    assert (done.status, done.out) == (2, "")


def test_lines_of_one_source_never_hold_another() -> None:
    output = LineOutput(prefix="a| ")
    assert output.chunk(b"one\ntw") == b"a| one\n"
    assert output.chunk(b"o") == b""
    assert output.chunk(b"\n\nthree") == b"a| two\na| \n"
    assert output.interrupt() == b"a| three\n"
    assert output.finish() == b""


def test_bytes_of_the_only_source_are_not_held() -> None:
    output = LineOutput()
    assert output.chunk(b"one\ntw") == b"one\ntw"
    assert output.interrupt() == b"\n"
    assert output.interrupt() == b""
    assert output.chunk(b"three\n") == b"three\n"
    assert output.interrupt() == b""


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (
            Gap(0.0, 1234, "the file was truncated before its end was read"),
            "gpu1:a.log: 1,234 bytes are missing here: the file was truncated before its end was read.",
        ),
        (
            Gap(0.0, None, "it was replaced"),
            "gpu1:a.log: lines may be missing here, nobody knows how many: it was replaced.",
        ),
        (Waiting(0.0, 1, 0.5, "gpu1: connection lost"), "gpu1: connection lost. Waiting; it is tried again by itself."),
        (
            Waiting(0.0, 1, 0.5, "the file changes too fast to be opened"),
            "gpu1:a.log: the file changes too fast to be opened. Waiting; it is tried again by itself.",
        ),
        (Waiting(0.0, 1, 0.5, "gpu1: no. Start it."), "gpu1: no. Start it. Waiting; it is tried again by itself."),
        (Connected(0.0, 0), None),
        (Refused(0.0, "gpu1: host key unknown."), "gpu1: host key unknown."),
    ],
)
def test_what_happens_is_told_in_a_sentence(event: SourceEvent, sentence: str | None) -> None:
    assert Teller("gpu1:a.log").sentence(event) == sentence


def test_same_reason_is_told_once_until_it_is_over() -> None:
    teller, waiting = Teller("a.log"), Waiting(0.0, 1, 0.5, "a.log: no such file")
    told = [teller.sentence(event) for event in (waiting, waiting, Connected(1.0, 0), waiting, Connected(2.0, 0))]
    wait = "a.log: no such file. Waiting; it is tried again by itself."
    assert told == [wait, None, "a.log: reading now.", wait, "a.log: reading again."]


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["/var/log/a.log", "/var/log/b.log"], ["a.log", "b.log"]),
        (["h1:/var/log/a.log", "h2:/var/log/a.log"], ["h1:/var/log/a.log", "h2:/var/log/a.log"]),
        (["/x/1/a.log", "/x/2/a.log"], ["1/a.log", "2/a.log"]),
        (["-"], ["-"]),
        (["gpu1:cmd:cat /var/log/x | grep a/b", "cmd:cat /x"], ["gpu1:cmd:cat /var/log/x | grep a/b", "cmd:cat /x"]),
    ],
)
def test_names_are_as_short_as_they_differ(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short


def test_terminal_text_keeps_tabs_and_line_ends() -> None:
    assert for_terminal(b"a\tb\r\nc\rd\n") == b"a\tb\nc^Md\n"
    assert for_terminal("right to left \u202e\n".encode()) == b"right to left \\u202e\n"
