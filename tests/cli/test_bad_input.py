"""Bad input gets one clear sentence with the next step and the right exit code, never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon

Sentences = Callable[[str], list[str]]


def decode_line(second: int = 0) -> bytes:
    return (
        f"[2026-02-26 16:40:{second:02d} TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, "
        "cuda graph: True, gen throughput (token/s): 88.80, #queue-req: 0\n"
    ).encode()


@pytest.mark.parametrize("command", ["summary", "replay"])
@pytest.mark.parametrize("what", ["missing", "directory"])
def test_source_that_is_no_file_is_named_and_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, command: str, what: str
) -> None:
    (tmp_path / "directory").mkdir()
    done = specmon(command, what)
    (sentence,) = only_sentences(done.err)
    assert sentence.startswith(what)
    assert done.status == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_a_sentence(specmon: Specmon, only_sentences: Sentences, tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.touch(mode=0)
    done = specmon("summary", "secret.log")
    assert "permission" in only_sentences(done.err)[0]
    assert done.status == 2


def test_summary_prints_the_others_when_one_cannot_be_read(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path
) -> None:
    (tmp_path / "good.log").write_bytes(decode_line(0) + decode_line(1))
    done = specmon("summary", "--format", "json", "good.log", "missing.log")
    document = json.loads(done.out)
    assert [server["lines"]["samples"] for server in document["servers"]] == [2, 0]
    assert [notice["kind"] for notice in document["servers"][1]["notices"]] == ["unreadable"]
    assert len(only_sentences(done.err)) == 1
    assert done.status == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.log", b""),
        ("foreign.log", b"GET / 200\nGET /x 404\n" * 50),
        ("binary.log", bytes(range(256)) * 400),
        ("nul.log", b"\0" * 100_000),
        ("endless.log", b"x" * 3_000_000),
        ("latin1.log", "Größe: ä\n".encode("latin-1") * 10),
    ],
)
def test_file_that_holds_nothing_useful_is_no_server_log_and_ends_with_0(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = specmon("summary", "--format", "json", name)
    (server,) = json.loads(done.out)["servers"]
    assert [notice["kind"] for notice in server["notices"]] == ["not_a_server_log"]
    assert server["engine"] is None
    assert only_sentences(done.err) == []
    assert done.status == 0
    text = specmon("summary", name)
    assert text.status == 0
    assert ("No line" in text.out or "no line" in text.out) == (content != b"")


@pytest.mark.parametrize(
    ("content", "state"),
    [(b"", "is empty"), (b"\n\r\n  \n", "holds nothing but blank lines"), (b"  ", "is empty")],
)
def test_file_without_text_is_told_to_be_empty(specmon: Specmon, tmp_path: Path, content: bytes, state: str) -> None:
    (tmp_path / "a.log").write_bytes(content)
    (server,) = json.loads(specmon("summary", "--format", "json", "a.log").out)["servers"]
    ((kind, text),) = [(notice["kind"], notice["text"]) for notice in server["notices"]]
    assert kind == "not_a_server_log"
    assert text.startswith(f"a.log {state}")
    assert "2>&1" in text
    explained = specmon("formats", "explain", "a.log")
    assert explained.status == 0
    assert explained.out.startswith("a.log is empty" if content == b"" else "a.log holds nothing but")


def _writing(path: Path, data: bytes) -> threading.Thread:
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    return writer


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("command", "part"),
    [
        (("summary", "--format", "json"), '"samples": 30'),
        (("replay", "--plain", "--speed", "max"), "88.8"),
        (("formats", "explain"), "30 lines; recognised as sglang (30)"),
    ],
    ids=["summary", "replay", "explain"],
)
def test_pipe_with_a_path_is_read_to_its_end(
    specmon: Specmon, tmp_path: Path, pack: Callable[[bytes], bytes], command: tuple[str, ...], part: str
) -> None:
    writer = _writing(tmp_path / "pipe", pack(b"".join(decode_line(second) for second in range(30))))
    done = specmon(*command, "pipe")
    writer.join(timeout=90)
    assert not writer.is_alive()  # all that was written has been read
    assert (done.status, done.err) == (0, "")
    assert part in done.out


def test_process_substitution_of_a_shell_is_read(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(decode_line(0) + decode_line(1)))
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    script = 'exec "$0" -m specmon summary --format json <(gzip -dc a.log.gz)'
    done = subprocess.run(
        [bash, "-c", script, sys.executable],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout)["servers"][0]["lines"]["samples"] == 2


def test_newest_time_of_a_pipe_is_not_known_beforehand(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = specmon("summary", "--since", "-5s", "pipe")
    (sentence,) = only_sentences(done.err)
    assert "Write a date and a time" in sentence
    assert done.status == 2


def test_log_without_any_decode_line_says_what_to_do(specmon: Specmon, tmp_path: Path) -> None:
    lines = [
        "[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, speculative_algorithm=None)",
        "[2026-02-26 16:40:00] The server is fired up and ready to roll!",
        *(
            f'[2026-02-26 16:4{n}:00] INFO:     127.0.0.1:4000{n} - "POST /generate HTTP/1.1" 200 OK'
            for n in range(1, 5)
        ),
    ]
    (tmp_path / "quiet.log").write_text("\n".join(lines) + "\n")
    done = specmon("summary", "--format", "json", "quiet.log")
    (server,) = json.loads(done.out)["servers"]
    notices = {notice["kind"]: notice["text"] for notice in server["notices"]}
    assert "2>&1" in notices["stats_missing"]
    assert done.status == 0


def test_piped_log_is_read(specmon: Specmon) -> None:
    done = specmon("summary", "--format", "json", "-", stdin=decode_line(0) + decode_line(1))
    assert json.loads(done.out)["servers"][0]["lines"]["samples"] == 2


@pytest.mark.parametrize("arguments", ["--help", "summary none.log", "tail none.log", "formats list"])
def test_closed_stdout_is_a_sentence(
    arguments: str, environment: dict[str, str], only_sentences: Sentences, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m specmon {arguments} >&-'],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "stdout is closed" in " ".join(only_sentences(done.stderr))


def test_closed_stdin_is_a_sentence(environment: dict[str, str], only_sentences: Sentences) -> None:
    script = 'exec "$0" -m specmon summary - <&-'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], capture_output=True, env=environment, timeout=60, check=False
    )
    (sentence,) = only_sentences(done.stderr.decode())
    assert "stdin" in sentence
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("summary",), "needs a log"),
        (("replay",), "needs a log"),
        (("summary", "docker:"), "docker:NAME"),
        (("tail", "kube:pod"), "kube:NAMESPACE/POD"),
        (("connect", "h", "--baseline", ""), "SOURCE"),
        (("summary", "x", "--reference", "absent"), "absent"),
        (("summary", "x", "--reference-tok-s", "fast"), "88.8@1"),
        (("summary", "x", "--reference-tok-s", "88.8", "--reference", "y"), "one of them"),
    ],
)
def test_wrong_usage_is_a_sentence_and_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, args: tuple[str, ...], part: str
) -> None:
    done = specmon(*args)
    sentences = only_sentences(done.err)
    assert any(part in sentence for sentence in sentences), done.err
    assert done.status == 2


@pytest.mark.parametrize(
    "args", [("connect",), ("fly",), ("replay", "--speed", "0", "x"), ("replay", "--speed", "quick", "x"), ("--fly",)]
)
def test_wrong_options_show_the_usage_and_end_with_2(specmon: Specmon, args: tuple[str, ...]) -> None:
    done = specmon(*args)
    assert done.err.startswith("Usage: specmon")
    assert "Traceback" not in done.err
    assert done.status == 2


def test_program_alone_prints_its_help(specmon: Specmon) -> None:
    done = specmon()
    assert done.out.startswith("Usage: specmon")
    assert done.status == 0


@pytest.mark.parametrize(
    "command", ["connect", "discover", "doctor", "capture", "replay", "demo", "summary", "check", "compare"]
)
def test_every_command_has_an_example_in_its_help(specmon: Specmon, command: str) -> None:
    done = specmon(command, "--help")
    assert f"Example: specmon {command}" in done.out
    assert done.status == 0


def test_host_that_refuses_is_a_sentence(specmon: Specmon, only_sentences: Sentences) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    done = specmon("connect", "127.0.0.1", "--port", str(port), "--baseline", "/a.log")
    (sentence,) = only_sentences(done.err)
    assert sentence.startswith("127.0.0.1: ")
    assert done.status == 2


def test_host_that_does_not_exist_is_a_sentence(specmon: Specmon, only_sentences: Sentences) -> None:
    done = specmon("connect", "no-such-host.invalid", "--baseline", "/a.log")
    (sentence,) = only_sentences(done.err)
    assert sentence.startswith("no-such-host.invalid: ")
    assert done.status == 2


def test_ssh_configuration_that_is_not_there_is_a_sentence(specmon: Specmon, only_sentences: Sentences) -> None:
    done = specmon("connect", "h", "-F", "/no/such/config", "--baseline", "/a.log")
    assert len(only_sentences(done.err)) == 1
    assert done.status == 2


def test_reader_that_closes_the_pipe_is_no_fault(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "good.log").write_bytes(b"".join(decode_line(n % 60) for n in range(2000)))
    script = '"$0" -m specmon summary good.log | head -c 1 >/dev/null'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable],
        capture_output=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.stderr == b""


def test_control_characters_of_a_log_never_reach_the_terminal(specmon: Specmon, tmp_path: Path) -> None:
    evil = b"[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m\\x1b[2J\x1b]0;x\x07', tp_size=1)\n"
    (tmp_path / "evil.log").write_bytes(evil + decode_line(1) + decode_line(2))
    for args in (("summary", "evil.log"), ("replay", "--plain", "--speed", "max", "evil.log")):
        done = specmon(*args)
        assert done.status == 0
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
