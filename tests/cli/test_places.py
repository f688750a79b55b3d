"""Programs, ports and patterns as SOURCEs of every command, on this machine and over a real sshd."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon
from tests.monitor.lines import decodes, launch
from tests.sources.programs import Container, Pod, Site, site_at
from tests.sources.test_discovery import playing_server

Sentences = Callable[[str], list[str]]

BASE = launch(0) + decodes(1, 60, 80.0)
SPEC = launch(0, port=30001, speculative_algorithm="EAGLE3", speculative_num_steps=3) + decodes(
    1, 60, 120.0, accept=2.5
)


@pytest.fixture
def site(tmp_path: Path, environment: dict[str, str]) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=False) as site:
        environment["PATH"] = f"{site.bin}:{environment['PATH']}"
        yield site


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=True) as site:
        yield site


def reached(site: Site) -> tuple[str, ...]:
    sshd = site.sshd
    assert sshd is not None
    return ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(sshd.known_hosts))


def containers(site: Site) -> tuple[Container, Container]:
    root = site.install("docker")
    base, spec = Container(root, "base", "c1"), Container(root, "spec", "c2")
    for container, text in ((base, BASE), (spec, SPEC)):
        say(container, text)
    return base, spec


def say(container: Container, text: str) -> None:
    for line in text.splitlines(keepends=True):
        container.write(1, text=line.replace("{", "{{").replace("}", "}}"))


@contextmanager
def started(args: tuple[str, ...], env: dict[str, str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", "specmon", *args], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True,
        env=env, cwd=cwd,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def test_containers_are_summed_up_with_their_names_and_dates(specmon: Specmon, site: Site) -> None:
    containers(site)
    done = specmon("summary", "docker:base", "docker:spec", "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert [server["source"] for server in found["servers"]] == ["docker:base", "docker:spec"]
    assert [server["role"] for server in found["servers"]] == ["baseline", "speculative"]
    assert found["comparison"]["speedup"] == pytest.approx(1.5, abs=0.02)


def test_every_report_takes_a_container(specmon: Specmon, site: Site) -> None:
    containers(site)
    recorded = specmon("reference", "record", "ref", "docker:base")
    assert recorded.status == 0, recorded.err
    checked = specmon("check", "docker:base", "docker:spec", "--reference", "ref")
    assert checked.status == 0, checked.out + checked.err
    compared = specmon("compare", "docker:spec", "--baseline", "docker:base", "--format", "json")
    assert compared.status == 0, compared.err
    assert json.loads(compared.out)["rows"][0]["speedup"] == pytest.approx(1.5, abs=0.02)
    replayed = specmon("replay", "docker:base", "--plain", "--speed", "max")
    assert replayed.status == 0, replayed.err
    assert "base 80.0" in replayed.out


def test_pods_jobs_and_commands_are_summed_up(specmon: Specmon, site: Site, tmp_path: Path) -> None:
    pod = Pod(site.install("kubectl"), "spec-0")
    with (pod.folder / "containerd:__spec-0-0").open("w") as file:
        file.writelines(
            f"2026-11-30T10:00:00.000000{number:03d}Z {line}\n" for number, line in enumerate(SPEC.splitlines())
        )
    log = tmp_path / "base.log"
    log.write_text(BASE)
    site.script("scontrol", f"echo 'JobId=12 JobState=RUNNING WorkDir=/ StdErr={log} StdOut={log}'")
    done = specmon("summary", "kube:prod/spec-0", "slurm:12", f"cmd:cat {log}", "--format", "json")
    servers = json.loads(done.out)["servers"]
    assert [server["role"] for server in servers] == ["speculative", "baseline", "baseline"]
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("command", "source", "words"),
    [
        ("summary", "slurm:12", "no program scontrol"),
        ("tail", "slurm:12", "no program scontrol"),
        ("check", "docker:absent", "no such container"),
        ("summary", "cmd:specmon-has-no-such-command", "cannot run it"),
        ("replay", "cmd:specmon-has-no-such-command", "cannot run it"),
    ],
)
def test_what_cannot_be_had_is_a_sentence_and_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, site: Site, command: str, source: str, words: str
) -> None:
    site.install("docker")
    done = specmon(command, source)
    assert done.status == 2
    (sentence,) = only_sentences(done.err)
    assert words in sentence


def test_denied_docker_ends_a_tail_with_2(specmon: Specmon, only_sentences: Sentences, site: Site) -> None:
    (site.install("docker") / "denied").touch()
    done = specmon("tail", "docker:spec")
    assert done.status == 2
    (sentence,) = only_sentences(done.err)
    assert "group docker" in sentence


def test_tail_prints_what_the_server_wrote_without_the_carrier(
    environment: dict[str, str], site: Site, tmp_path: Path
) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    container.write(3)
    with started(("tail", "--from-start", "docker:spec"), environment, tmp_path) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [
            f"line {number:06d} of the log\n" for number in range(3)
        ]
        container.write(1)
        assert process.stdout.readline() == "line 000003 of the log\n"


@pytest.mark.sshd
def test_container_of_the_first_host_is_watched_live(environment: dict[str, str], far: Site, tmp_path: Path) -> None:
    _, spec = containers(far)
    args = ("connect", "127.0.0.1", *reached(far), "--baseline", "docker:base", "--spec", "docker:spec", "--plain")
    with started((*args, "--interval", "0.2"), environment, tmp_path) as process:
        wait_for(process, "spec 120", "1.50×")
        say(spec, decodes(61, 60, 60.0, accept=1.2))
        wait_for(process, "spec 90.")  # half of it at 120, half at 60


def wait_for(process: subprocess.Popen[str], *parts: str, seconds: float = 90) -> None:
    assert process.stdout is not None
    end, seen = time.monotonic() + seconds, []
    while time.monotonic() < end and (text := process.stdout.readline()):
        seen.append(text)
        if all(part in text for part in parts):
            return
    raise AssertionError(f"no line with {parts} in {seen[-5:]}")


@pytest.mark.sshd
def test_server_is_named_by_its_port(specmon: Specmon, only_sentences: Sentences, far: Site, tmp_path: Path) -> None:
    with playing_server(tmp_path):
        (tmp_path / "the log").write_text(BASE)
        done = specmon("summary", "127.0.0.1:31234", *reached(far), "--format", "json")
        other = specmon("summary", "127.0.0.1:31235", *reached(far))
    assert done.status == 0, done.err
    assert json.loads(done.out)["servers"][0]["role"] == "baseline"
    assert other.status == 2
    assert "127.0.0.1:31234 (sglang)" in other.err
    assert "ssh:127.0.0.1:31235" in other.err


@pytest.mark.sshd
def test_pattern_on_a_host_means_every_match_of_a_report(specmon: Specmon, far: Site, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(BASE)
    (tmp_path / "b.log").write_text(SPEC)
    done = specmon("summary", f"127.0.0.1:{tmp_path}/[ab].log", *reached(far), "--format", "json")
    assert done.status == 0, done.err
    assert len(json.loads(done.out)["servers"]) == 2
    none = specmon("summary", f"127.0.0.1:{tmp_path}/*.txt", *reached(far))
    assert none.status == 2
    assert "no file matches" in none.err
