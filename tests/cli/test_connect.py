"""`specmon connect` against a real OpenSSH server, as another process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon
from tests.conftest import Sshd, only_servers

pytestmark = pytest.mark.sshd

Sentences = Callable[[str], list[str]]


def line(second: int, tok_s: float, accept_len: float | None = None) -> str:
    spec = "" if accept_len is None else f"accept len: {accept_len:.2f}, accept rate: 0.70, "
    return (
        f"[2026-02-26 16:{40 + second // 60}:{second % 60:02d} TP0] Decode batch, #running-req: 1, #token: 512, "
        f"token usage: 0.00, {spec}cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0\n"
    )


@pytest.fixture
def to_sshd(sshd: Sshd) -> tuple[str, ...]:
    """Options that reach the test's sshd and nothing of the user's own."""
    return ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(sshd.known_hosts))


@contextmanager
def running(args: tuple[str, ...], env: dict[str, str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "specmon", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env, cwd=cwd, text=True
    ) as p:
        try:
            yield p
        finally:
            p.kill()


def wait_for(process: subprocess.Popen[str], *parts: str, seconds: float = 90) -> str:
    """Read lines until one holds all the parts."""
    assert process.stdout is not None
    end = time.monotonic() + seconds
    seen = []
    while time.monotonic() < end:
        text = process.stdout.readline()
        seen.append(text)
        if all(part in text for part in parts):
            return text
        if not text:
            break
    raise AssertionError(f"no line with {parts} in {seen}")


def test_two_growing_logs_are_followed_side_by_side(
    environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    base, spec = tmp_path / "base.log", tmp_path / "spec.log"
    base.write_text("".join(line(second, 62.9) for second in range(2)))
    args = ("connect", "127.0.0.1", *to_sshd, "--baseline", str(base), "--spec", str(spec))
    args += ("--reference-tok-s", "88.8", "--plain", "--interval", "0.2")
    with running(args, environment, tmp_path) as process:
        wait_for(process, "spec", "no such file; waiting")  # a log that is not there yet is waited for
        with base.open("a") as more, spec.open("w") as other:
            for second in range(2, 20):
                more.write(line(second, 62.9))
                other.write(line(second, 75.9, 2.1))
                more.flush()
                other.flush()
        wait_for(process, "BASELINE NOT TRUSTED", "29 %")
        wait_for(process, "base 62.9")
        wait_for(process, "spec 75.9", "1.21×", "0.85×")


def test_lost_connection_is_resumed_without_losing_a_line(
    environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...], sshd: Sshd
) -> None:
    base = tmp_path / "base.log"
    base.write_text("".join(line(second, 80.0) for second in range(5)))
    args = ("connect", "127.0.0.1", *to_sshd, "--baseline", str(base), "--plain", "--interval", "0.2")
    with running(args, environment, tmp_path) as process:
        wait_for(process, "base 80.0")
        assert sshd.kill_sessions()
        with base.open("a") as more:
            more.writelines(line(second, 40.0) for second in range(5, 105))
        wait_for(process, "base 40.0")


def test_unknown_host_key_is_refused_with_its_fingerprint_and_the_next_step(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, sshd: Sshd
) -> None:
    nobody = tmp_path / "known_hosts"
    nobody.touch()
    done = specmon(
        "connect", "127.0.0.1", "-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(nobody),
        "--baseline", "/x.log",
    )  # fmt: skip
    (sentence,) = only_sentences(done.err)
    assert "SHA256:" in sentence
    assert "ssh" in sentence
    assert done.status == 2


def test_changed_host_key_is_refused(specmon: Specmon, only_sentences: Sentences, tmp_path: Path, sshd: Sshd) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    key = other.with_suffix(".pub").read_text()
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{sshd.port} {key}")
    done = specmon(
        "connect", "127.0.0.1", "-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(known),
        "--baseline", "/x.log",
    )  # fmt: skip
    (sentence,) = only_sentences(done.err)
    assert "changed" in sentence
    assert done.status == 2


def test_key_that_the_host_does_not_know_is_a_sentence(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, sshd: Sshd
) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    done = specmon(
        "connect", "127.0.0.1", "-p", str(sshd.port), "-i", str(other), "--known-hosts", str(sshd.known_hosts),
        "--baseline", "/x.log",
    )  # fmt: skip
    (sentence,) = only_sentences(done.err)
    assert sentence.startswith("127.0.0.1: ")
    assert done.status == 2


def test_directory_as_a_log_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    done = specmon("connect", "127.0.0.1", *to_sshd, "--baseline", str(tmp_path), "--interval", "0.1")
    assert any("directory" in sentence for sentence in only_sentences(done.err))
    assert done.status == 2


def test_jump_host_leads_to_the_server(
    environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...], sshd: Sshd
) -> None:
    base = tmp_path / "base.log"
    base.write_text("".join(line(second, 80.0) for second in range(5)))
    jump = f"127.0.0.1:{sshd.port}"
    args = ("connect", "localhost", *to_sshd, "-J", jump, "--baseline", str(base), "--plain", "--interval", "0.2")
    known = tmp_path / "known"
    known.write_text(f"{sshd.known_hosts.read_text()}[localhost]:{sshd.port} {sshd.host_key_line}\n")
    args = tuple(str(known) if arg == str(sshd.known_hosts) else arg for arg in args)
    with running(args, environment, tmp_path) as process:
        wait_for(process, "base 80.0")


FAKE_SERVER = """\
import os, sys, time
sys.stderr.write("[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, host='127.0.0.1', "
                 "port=30017, speculative_algorithm=None)\\n")
sys.stderr.write("[2026-02-26 16:40:00] The server is fired up and ready to roll!\\n")
for second in range(20):
    sys.stderr.write("[2026-02-26 16:40:%02d] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, "
                     "cuda graph: True, gen throughput (token/s): 62.90, #queue-req: 0\\n" % second)
sys.stderr.flush()
time.sleep(60)
"""


def test_running_server_is_found_by_its_process_and_its_lost_variable_is_named(
    environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text(FAKE_SERVER)
    log = tmp_path / "server.log"
    env = {**environment, "PYTHONPATH": str(package.parent), "NCCL_ALGO": "Ring", "API_KEY": "hidden"}
    reference = tmp_path / "tuned.toml"
    reference.write_text(
        'name = "tuned"\n[[level]]\nrunning = 1\ntok_s = 88.8\n'
        '[fingerprint.env]\nNCCL_PROTO = "LL"\nNCCL_ALGO = "Ring"\n'
    )
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/m", "--port", "30017"]
    with only_servers(), log.open("wb") as out, subprocess.Popen(command, env=env, stdout=out, stderr=out) as server:
        try:
            args = ("connect", "127.0.0.1", *to_sshd, "--reference", str(reference), "--plain", "--interval", "0.2")
            with running(args, environment, tmp_path) as process:
                text = wait_for(process, "BASELINE NOT TRUSTED", "NCCL_PROTO")
                assert "NCCL_ALGO" not in text
                wait_for(process, "base 62.9")
        finally:
            server.kill()


def test_host_without_any_server_says_so(specmon: Specmon, only_sentences: Sentences, to_sshd: tuple[str, ...]) -> None:
    with only_servers():
        done = specmon("connect", "127.0.0.1", *to_sshd)
    sentences = only_sentences(done.err)
    assert any("--baseline" in sentence for sentence in sentences)
    assert done.status == 2


def test_interrupt_ends_with_130(environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...]) -> None:
    import signal

    base = tmp_path / "base.log"
    base.write_text(line(0, 80.0))
    args = ("connect", "127.0.0.1", *to_sshd, "--baseline", str(base), "--plain", "--interval", "0.2")
    with running(args, environment, tmp_path) as process:
        wait_for(process, "base")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=90)
        assert process.returncode == 130
        assert "Traceback" not in err
