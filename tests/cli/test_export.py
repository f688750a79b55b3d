"""`specmon export prometheus` as Prometheus meets it: a real port, over a real sshd."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from specmon.commands.export import Page, listening_place
from specmon.errors import ConfigError
from specmon.monitor.snapshot import Role, Snapshot
from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log, decode, speculative_log
from tests.cli.test_connect import running, to_sshd

__all__ = ["to_sshd"]


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found is not None, line
    return found[0]


def figures(address: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    with urllib.request.urlopen(address, timeout=30) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_for(address: str, is_there: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """The figures without labels, and `NAME role` for those of a server, once the condition holds."""
    end = time.monotonic() + 60
    while True:
        page = figures(address)
        roles = {dict(labels)["server"]: dict(labels)["role"] for name, labels in page if name == "specmon_server_info"}
        flat = {
            f"{name} {roles[labels['server']]}" if "server" in labels else " ".join((name, *labels.values())): value
            for (name, held), value in page.items()
            if len(labels := dict(held)) <= 1
        }
        if is_there(flat):
            return flat
        assert time.monotonic() < end, flat
        time.sleep(0.1)


@pytest.mark.sshd
def test_figures_of_growing_logs_are_served_until_the_interrupt(
    environment: dict[str, str], tmp_path: Path, to_sshd: tuple[str, ...]
) -> None:
    base, spec = tmp_path / "base.log", tmp_path / "spec.log"
    base.write_text(baseline_log())
    spec.write_text(speculative_log())
    args = ("export", "prometheus", "127.0.0.1", *to_sshd, "--baseline", str(base), "--spec", str(spec))
    args += ("--reference-tok-s", "88.8", "--listen", "127.0.0.1:0")
    with running(args, environment, tmp_path) as process:
        address = address_of(process)
        page = wait_for(address, lambda page: "specmon_speedup_ratio" in page)
        assert page["specmon_speedup_ratio"] == pytest.approx(75.9 / 62.9, abs=0.001)
        assert page["specmon_decode_tokens_per_second baseline"] == pytest.approx(62.9)
        assert page["specmon_baseline_deviation_ratio baseline"] == pytest.approx(62.9 / 88.8 - 1, abs=0.001)
        with spec.open("a") as more:
            more.writelines(decode(second, 40.0, 1.1) for second in range(20, 21))
        wait_for(address, lambda page: page["specmon_last_tokens_per_second speculative"] == 40.0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in err


def test_address_that_is_taken_is_a_sentence(
    specmon: Specmon, only_sentences: Callable[[str], list[str]], tmp_path: Path
) -> None:
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        done = specmon("export", "prometheus", "local:", "--baseline", str(log), "--listen", place)
    assert done.status == 2
    sentence = only_sentences(done.err)[-1]
    assert f"cannot listen on {place}" in sentence
    assert "--listen" in sentence


@pytest.mark.parametrize(
    ("listen", "place"),
    [("127.0.0.1:9753", ("127.0.0.1", 9753)), ("9753", ("127.0.0.1", 9753)), ("[::1]:80", ("::1", 80)),
     ("0.0.0.0:0", ("0.0.0.0", 0))],
)  # fmt: skip
def test_place_to_listen(listen: str, place: tuple[str, int]) -> None:
    assert listening_place(listen) == place


@pytest.mark.parametrize(
    "listen", ["", ":", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:80", ":80", "a:-1", "x:²"]
)
def test_place_that_is_none_is_a_sentence(listen: str) -> None:
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:9753"):
        listening_place(listen)


def test_address_that_others_reach_is_warned_about(
    specmon: Specmon, only_sentences: Callable[[str], list[str]]
) -> None:
    # Nothing there can be followed, so that it ends.
    done = specmon("export", "prometheus", "local:", "--baseline", "local:/", "--listen", "0.0.0.0:0")
    assert "there is no login" in only_sentences(done.err)[0]
    assert done.status == 2


def test_figures_are_taken_anew_only_after_a_while() -> None:
    class Asked:
        """A feed that counts how often it is looked at."""

        controls = None
        looks = 0

        async def run(self) -> None:
            pass

        def put(self, key: str, side: Role) -> None:
            pass

        def snapshot(self) -> Snapshot:
            self.looks += 1
            return Snapshot()

    feed = Asked()
    page = Page(feed)
    page.text("", now=10.0)
    for accept in ("", "text/plain", "application/openmetrics-text"):
        page.text(accept, now=10.4)
    assert feed.looks == 1
    page.text("", now=10.6)
    assert feed.looks == 2
