"""`specmon capture` and `connect --record`: over a real OpenSSH server, and read again by the other commands."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specmon.captures.reader import open_capture
from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log, decode, options_of, servers, speculative_log
from tests.cli.test_connect import running, wait_for
from tests.conftest import Sshd

Sentences = Callable[[str], list[str]]
HOST = "127.0.0.1"


def content(folder: Path, index: int = 0) -> bytes:
    return b"".join(open_capture(folder).logs[index].chunks())


def wait_until(is_so: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@pytest.mark.sshd
def test_servers_of_a_host_are_captured_with_their_conditions_and_read_by_the_other_commands(
    specmon: Specmon, environment: dict[str, str], tmp_path: Path, sshd: Sshd
) -> None:
    logs = tmp_path / "base.log", tmp_path / "spec.log"
    logs[0].write_text(baseline_log(5))
    logs[1].write_text(speculative_log(5))
    out = tmp_path / "kept"
    with servers(tmp_path) as started:
        started.start(["sglang", "--model-path", "/m"], log=logs[0], env={"NCCL_PROTO": "LL", "API_KEY": "sesame"})
        started.start(["sglang", "--model-path", "/m", "--speculative-algorithm", "EAGLE3"], log=logs[1])
        args = ("capture", HOST, *options_of(sshd), "--out", str(out), "--for", "6")
        with running(args, environment, tmp_path) as process:
            wait_until(lambda: (out / "base.times").exists() and b" " in (out / "base.times").read_bytes())
            with logs[0].open("a") as base, logs[1].open("a") as spec:
                base.writelines(decode(second, 62.9) for second in range(5, 25))
                spec.writelines(decode(second, 75.9, 2.1) for second in range(5, 25))
            _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert [content(out, index).decode() for index in range(2)] == [log.read_text() for log in logs]
    capture = open_capture(out)
    assert [(log.server.name, log.server.host, log.server.source) for log in capture.logs] == [
        ("base", HOST, str(logs[0])),
        ("spec", HOST, str(logs[1])),
    ]
    (life,) = capture.logs[0].lives
    assert life.env is not None
    assert life.env["NCCL_PROTO"] == "LL"
    assert "sesame" not in (out / "base.fingerprint.toml").read_text()
    result = json.loads(specmon("summary", str(out), "--format", "json").out)
    assert result["comparison"]["verdict"]
    assert abs(result["comparison"]["speedup"] - 75.9 / 62.9) < 0.01
    played = specmon("replay", str(out), "--plain", "--speed", "max", "--interval", "0.2")
    assert "1.21×" in played.out
    assert specmon("reference", "record", "kept", str(out), "--out", str(tmp_path / "references")).status == 0
    assert 'NCCL_PROTO = "LL"' in (tmp_path / "references" / "kept.toml").read_text()


@pytest.mark.sshd
def test_connect_records_what_it_follows(environment: dict[str, str], tmp_path: Path, sshd: Sshd) -> None:
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    out = tmp_path / "kept"
    args = ("connect", HOST, *options_of(sshd), "--baseline", f"mine={log}", "--record", str(out))
    with running((*args, "--plain", "--interval", "0.2"), environment, tmp_path) as process:
        wait_for(process, "base 62.9")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=90) == 130
    assert content(out).decode() == log.read_text()
    (kept,) = open_capture(out).logs
    assert (kept.server.name, kept.server.role) == ("mine", "baseline")


def test_interrupt_ends_a_capture_whole(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = tmp_path / f"kept{status}"
        with running(("capture", str(log), "--out", str(out)), environment, tmp_path) as process:
            wait_until(lambda out=out: (out / "base.times").exists() and (out / "base.times").stat().st_size > 0)  # type: ignore[misc]
            process.send_signal(number)
            _, err = process.communicate(timeout=90)
        assert (process.returncode, "Traceback" in err) == (status, False)
        assert f"{log.stat().st_size:,} bytes of 1 logs" in err
        assert content(out).decode() == log.read_text()


def test_rotation_keeps_lines_apart(environment: dict[str, str], tmp_path: Path) -> None:
    log, out = tmp_path / "base.log", tmp_path / "kept"
    log.write_text("first\nhalf a li")
    with running(("capture", str(log), "--out", str(out)), environment, tmp_path) as process:
        wait_until(lambda: (out / "base.times").exists() and (out / "base.times").stat().st_size > 0)
        log.rename(tmp_path / "base.log.1")
        log.write_text("second\n")
        wait_until(lambda: b"second" in content(out))
        process.send_signal(signal.SIGINT)
        process.wait(timeout=90)
    assert content(out) == b"first\nhalf a li\nsecond\n"
    assert "# " in (out / "base.times").read_text()


def test_killed_capture_can_be_read_at_once(specmon: Specmon, environment: dict[str, str], tmp_path: Path) -> None:
    """Killed at moments that nobody chose, while a log grows."""
    log = tmp_path / "base.log"
    chance = random.Random(5)
    command = [sys.executable, "-m", "specmon", "capture", str(log), "--out"]
    for attempt in range(2):
        log.write_text(baseline_log(30))
        out = tmp_path / f"kept{attempt}"
        process = subprocess.Popen([*command, str(out)], env=environment, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda out=out: (out / "base.times").exists() and (out / "base.times").stat().st_size > 0)  # type: ignore[misc]
            end = time.monotonic() + 0.3 + chance.random()
            second = 30
            while time.monotonic() < end:
                with log.open("a") as more:
                    more.write(decode(second, 62.9))
                second += 1
                time.sleep(0.003)
        finally:
            process.kill()
            process.wait()
        got = content(out)
        assert len(got) >= len(baseline_log(30))
        assert log.read_bytes().startswith(got)
        (server,) = json.loads(specmon("summary", str(out), "--format", "json").out)["servers"]
        assert abs(server["runs"][-1]["decode"]["last_tok_s"] - 62.9) < 0.1
        done = specmon("replay", str(out), "--plain", "--speed", "max", "--interval", "0.1")
        assert (done.status, done.err) == (0, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_full_disk_ends_a_capture_with_one_sentence(
    environment: dict[str, str], tmp_path: Path, only_sentences: Sentences
) -> None:
    disk, log = tmp_path / "disk", tmp_path / "base.log"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        log.write_text(baseline_log())
        out = disk / "kept"
        with running(("capture", str(log), "--out", str(out)), environment, tmp_path) as process:
            wait_until(lambda: (out / "base.times").exists() and (out / "base.times").stat().st_size > 0)
            with log.open("ab") as more:
                more.write(random.Random(1).randbytes(300_000).replace(b"\n", b"x") + b"\n")
                while process.poll() is None:  # lines that come while it ends are no reason to tell it again
                    more.write(b"one more\n")
                    more.flush()
                    time.sleep(0.002)
            _, err = process.communicate(timeout=90)
        assert process.returncode == 2
        told = [sentence for sentence in only_sentences(err) if "no space left" in sentence]
        assert len(told) == 1
        assert "What was written before can be read" in told[0]
        assert log.read_bytes().startswith(content(out))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.sshd
def test_full_disk_does_not_stop_the_screen(environment: dict[str, str], tmp_path: Path, sshd: Sshd) -> None:
    """The limit on the size of files stands for a disk: nobody needs to be root for it.

    Without -B the limit would also cut the compiled files of modules, and every later import would fail.
    """
    log, out = tmp_path / "base.log", tmp_path / "kept"
    log.write_text(baseline_log())
    args = ["connect", HOST, *options_of(sshd), "--baseline", str(log), "--record", str(out), "--plain"]
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); "
        f"from specmon.cli import main; main({[*args, '--interval', '0.2']!r})"
    )
    with subprocess.Popen(
        [sys.executable, "-B", "-c", limited],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for(process, "base 62.9")
            with log.open("ab") as more:
                more.write(random.Random(1).randbytes(300_000).replace(b"\n", b"x") + b"\n")
            with log.open("a") as lines:
                lines.writelines(decode(second, 31.0) for second in range(20, 120))
            wait_for(process, "base 31.0")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=90)
        finally:
            process.kill()
    assert err.count("writing has stopped: file too large") == 1
    assert "Traceback" not in err


def test_folder_in_use_is_refused(specmon: Specmon, only_sentences: Sentences, tmp_path: Path) -> None:
    log, out = tmp_path / "base.log", tmp_path / "kept"
    log.write_text(baseline_log())
    assert specmon("capture", str(log), "--out", str(out), "--for", "0.5").status == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for args in (("capture", str(log), "--out"), ("connect", "nowhere.invalid", "--record")):
        done = specmon(*args, str(out))
        (sentence,) = only_sentences(done.err)
        assert "holds a capture already" in sentence
        assert done.status == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_log_name_that_no_file_should_have_becomes_one(specmon: Specmon, tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("a\x1b[2J b.log", "é.log", "-x.log", "x.log")]
    for log in logs:
        log.write_text("one\n")
    out = tmp_path / "kept"
    done = specmon("capture", *(str(log) for log in logs), "--out", str(out), "--for", "0.5")
    assert done.status == 0
    assert "\x1b" not in done.err
    assert [log.server.name for log in open_capture(out).logs] == ["a_b", "_", "x", "x-2"]


@pytest.mark.parametrize(
    ("manifest", "words"),
    [("name = '../../x'", "server.0.name"), ("name = 'x'\nhost = \"\\u001b[2J\"", "control characters")],
)
def test_malicious_capture_is_a_sentence_of_every_command(
    at_once: Specmon, only_sentences: Sentences, tmp_path: Path, manifest: str, words: str
) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "manifest.toml").write_text(f"schema = 1\nstarts_at = 2026-02-26T16:40:00Z\n[[server]]\n{manifest}\n")
    (folder / "x.log").write_text("x\n")
    for command in (("summary",), ("replay", "--plain"), ("check",), ("reference", "record", "n")):
        done = at_once(*command, str(folder))
        assert done.status == 2, command
        assert any(words in sentence for sentence in only_sentences(done.err)), (command, done.err)
        assert "\x1b" not in done.out + done.err
