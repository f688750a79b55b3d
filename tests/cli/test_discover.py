"""`specmon discover`, and how `connect` chooses: processes with real command lines, over a real OpenSSH server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from pwd import getpwuid
from typing import Any

import pytest

from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log, options_of, servers, speculative_log
from tests.cli.test_connect import running, wait_for
from tests.conftest import Sshd

pytestmark = pytest.mark.sshd

Sentences = Callable[[str], list[str]]
HOST = "127.0.0.1"


@pytest.fixture
def to_sshd(sshd: Sshd) -> tuple[str, ...]:
    return options_of(sshd)


def found(specmon: Specmon, *args: str) -> dict[str, Any]:
    done = specmon("discover", *args, "--format", "json")
    assert done.status == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    assert answer["schema_version"] == 1
    return answer


def test_all_four_engines_are_told_with_role_port_model_and_log(
    specmon: Specmon, tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    logs = {name: tmp_path / f"{name}.log" for name in ("sglang", "vllm", "llama")}
    with servers(tmp_path) as running_servers:
        pids = [
            running_servers.start(["sglang", "--model-path", "/m", "--port", "30017"], log=logs["sglang"]).pid,
            running_servers.start(["vllm", "serve", "/v", "--speculative-config", '{"method": "ngram"}'],
                                  log=logs["vllm"]).pid,
            running_servers.start(["llama-server", "-m", "/t.gguf", "--port", "81"], log=logs["llama"]).pid,
            running_servers.start(["trtllm-serve", "/t", "--extra_llm_api_options", "x.yaml"]).pid,
        ]  # fmt: skip
        (host,) = found(specmon, HOST, *to_sshd)["hosts"]
        text = specmon("discover", HOST, *to_sshd).out
    by_pid = {server["pid"]: server for server in host["servers"]}
    told = [
        (*(by_pid[pid][name] for name in ("engine", "role", "port", "model", "connect")), by_pid[pid]["log"]["path"])
        for pid in pids
    ]
    assert told == [
        ("sglang", "baseline", 30017, "/m", "ambiguous", str(logs["sglang"])),
        ("vllm", "speculative", 8000, "/v", "follow", str(logs["vllm"])),
        ("llama.cpp", "baseline", 81, "/t.gguf", "ambiguous", str(logs["llama"])),
        ("tensorrt-llm", "unknown", 8000, "/t", "leave_out", None),
    ]
    assert {server["user"] for server in by_pid.values()} == {getpwuid(os.getuid()).pw_name}
    assert all(server["started_at"].startswith("20") for server in by_pid.values())
    for words in (
        "speculative · vllm · port 8000 · /v",
        "/dev/null, where nothing is kept",
        "2>&1 | tee FILE",
        "/metrics of port 8000",
        f"--baseline {HOST}:{logs['llama']}",
    ):
        assert words in text


def test_this_machine_is_looked_at_without_ssh(specmon: Specmon, tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    with servers(tmp_path) as running_servers:
        pid = running_servers.start(["sglang", "--model-path", "/m"], log=log).pid
        for words in ((), ("local:",)):
            (host,) = found(specmon, *words)["hosts"]
            (server,) = [each for each in host["servers"] if each["pid"] == pid]
            assert server["log"]["source"] == f"local:{log}"


def test_secrets_of_a_command_line_are_not_shown(specmon: Specmon, tmp_path: Path, to_sshd: tuple[str, ...]) -> None:
    with servers(tmp_path) as running_servers:
        running_servers.start(
            ["sglang", "--model-path", "/m", "--api-key", "sesame", "--admin-api-key=sesame"],
            log=tmp_path / "base.log",
            env={"SGLANG_API_KEY": "sesame", "NCCL_NOTE": "hf_abcdefghijklmnop"},
        )
        for form in ("text", "json"):
            done = specmon("discover", HOST, *to_sshd, "--format", form)
            assert "/m" in done.out
            assert "sesame" not in done.out + done.err
            assert "hf_abcdef" not in done.out + done.err


def test_name_of_a_log_cannot_steer_the_terminal(specmon: Specmon, tmp_path: Path, to_sshd: tuple[str, ...]) -> None:
    log = tmp_path / "a\x1b]0;owned\x07\x1b[2J.log"
    with servers(tmp_path) as running_servers:
        running_servers.start(["sglang", "--model-path", "/m\x1b[2J"], log=log)
        done = specmon("discover", HOST, *to_sshd)
    assert "owned" in done.out
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err


def test_two_servers_of_one_role_are_an_error_with_the_candidates(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with servers(tmp_path) as running_servers:
        for number, log in enumerate(logs):
            running_servers.start(["sglang", "--model-path", "/m", "--port", f"3001{number}"], log=log)
        done = specmon("connect", HOST, *to_sshd, "--plain")
    (sentence,) = only_sentences(done.err)
    assert sentence.startswith("2 baseline servers run: ")
    assert all(f"--baseline {HOST}:{log}" in sentence for log in logs)
    assert done.status == 2


def test_of_two_processes_that_write_to_one_log_the_newest_counts(
    specmon: Specmon, tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    log = tmp_path / "base.log"
    with servers(tmp_path) as running_servers:
        pids = {running_servers.start(["sglang", "--model-path", "/m"], log=log).pid for _ in range(2)}
        (host,) = found(specmon, HOST, *to_sshd)["hosts"]
    told = {server["connect"]: server["why"] for server in host["servers"] if server["pid"] in pids}
    assert told.keys() == {"follow", "leave_out"}
    assert "writes to the same log" in told["leave_out"]


def test_last_run_of_a_server_that_has_ended_stands_on_the_other_side(
    specmon: Specmon, environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    live, ended, foreign = folder / "spec.log", folder / "base of monday.log", folder / "other.log"
    live.write_text(speculative_log())
    ended.write_text(baseline_log())
    foreign.write_text(baseline_log().replace("'/m'", "'/another-model'"))
    os.utime(ended, (1.7e9, 1.7e9))
    with servers(tmp_path) as running_servers:
        running_servers.start(["sglang", "--model-path", "/m", "--speculative-algorithm", "EAGLE3"], log=live)
        answer = found(specmon, HOST, *to_sshd)["finished_run"]
        assert (answer["role"], answer["source"]) == ("baseline", f"{HOST}:{ended}")
        assert answer["modified_at"] == "2023-11-14T22:13:20+00:00"
        with running(("connect", HOST, *to_sshd, "--plain", "--interval", "0.2"), environment, tmp_path) as process:
            wait_for(process, "base 62.9", "(ended run, written ", " d ago)")
            wait_for(process, "spec 75.9", "1.21×")


def test_server_of_this_machine_is_followed_without_ssh(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    with servers(tmp_path) as running_servers:
        running_servers.start(["sglang", "--model-path", "/m"], log=log)
        with running(("connect", "local:", "--plain", "--interval", "0.2"), environment, tmp_path) as process:
            wait_for(process, "base 62.9")
