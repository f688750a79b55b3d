"""`specmon doctor` against a real OpenSSH server and processes that look like servers."""

from __future__ import annotations

import json
import shlex
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log, options_of, servers
from tests.conftest import Sshd, running_sshd

pytestmark = pytest.mark.sshd

HOST = "127.0.0.1"


def checks(specmon: Specmon, *args: str) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """The status, and by check its state, text and mend; of several with one name the worst."""
    done = specmon("doctor", *args, "--format", "json")
    answer = json.loads(done.out)
    (host,) = answer["hosts"]
    told: dict[str, tuple[str, str, str]] = {}
    for each in sorted(host["checks"], key=lambda each: ("ok", "note", "fault").index(each["state"])):
        told[each["check"]] = (each["state"], each["text"], each["mend"] or "")
    assert answer["ok"] == all(state != "fault" for state, _, _ in told.values()) == (done.status == 0)
    return done.status, told


class _Page(socketserver.BaseRequestHandler):
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n# HELP a b\na 1\nb{c="d"} 2.0\n'

    def handle(self) -> None:
        self.request.recv(4096)
        self.request.sendall(self.answer)


@contextmanager
def metrics_page() -> Iterator[int]:
    with socketserver.TCPServer((HOST, 0), _Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def test_healthy_host_has_every_line_ok(specmon: Specmon, tmp_path: Path, sshd: Sshd) -> None:
    log = tmp_path / "base.log"
    log.write_text(baseline_log())
    with servers(tmp_path) as running_servers, metrics_page() as port:
        running_servers.start(["sglang", "--model-path", "/m", "--host", HOST, "--port", str(port)], log=log)
        status, told = checks(specmon, HOST, *options_of(sshd))
        text = specmon("doctor", HOST, *options_of(sshd)).out
    assert {state for state, _, _ in told.values()} == {"ok"}, told
    assert status == 0
    assert told.keys() == {
        "name", "reach", "key", "login", "shell", "clock", "servers", "permissions", "log", "format", "metrics",
    }  # fmt: skip
    assert told["name"][1] == f"{HOST} is {HOST}"
    assert "environment and output can be seen" in told["permissions"][1]
    assert "SHA256:" in told["key"][1]
    assert "GNU tail" in told["shell"][1]
    assert "give or take" in told["clock"][1]
    assert "last written" in told["log"][1]
    assert "sglang lines with decode statistics" in told["format"][1]
    assert "answers with 2 series" in told["metrics"][1]
    assert all(line.startswith("  ok") for line in text.splitlines()[1:])


def test_unreachable_host_stops_at_the_step_that_fails(specmon: Specmon, tmp_path: Path, sshd: Sshd) -> None:
    nobody = tmp_path / "nobody"
    nobody.touch()
    key = ("-i", str(sshd.client_key), "-p", str(sshd.port))
    status, told = checks(specmon, HOST, *key, "--known-hosts", str(nobody))
    assert (status, list(told)) == (1, ["key"])
    assert "SHA256:" in told["key"][1]
    assert "once to accept it" in told["key"][2]
    _, told = checks(specmon, "no-such-host.invalid")
    assert list(told) == ["name"]
    assert "Check the spelling" in told["name"][2]
    _, told = checks(specmon, HOST, "-p", "1")
    assert list(told) == ["reach"]
    _, told = checks(specmon, HOST, "-p", str(sshd.port), "--known-hosts", str(sshd.known_hosts))
    assert list(told) == ["login"]
    assert "ssh-add" in told["login"][2]


def test_each_fault_of_a_server_has_its_mend(specmon: Specmon, tmp_path: Path, sshd: Sshd) -> None:
    foreign = tmp_path / "it's foreign.log"
    foreign.write_text("GET / 200\n" * 50)
    with servers(tmp_path) as running_servers:
        running_servers.start(["sglang", "--model-path", "/m", "--port", "1"], log=foreign)
        running_servers.start(["trtllm-serve", "/t", "--port", "1"])
        status, told = checks(specmon, HOST, *options_of(sshd))
    assert status == 1
    assert told["log"][0] == "fault"
    assert "nothing is kept" in told["log"][1]
    assert "2>&1" in told["log"][2]
    assert told["format"][:2] == ("fault", "no line is recognised as a server's")
    program, *words = shlex.split(told["format"][2].split("`")[1])
    assert (program, words[:2], words[-1]) == ("specmon", ["formats", "explain"], f"{HOST}:{foreign}")
    assert "50 lines" in specmon(*words).out  # as it is typed
    assert told["metrics"][0] == "note"
    assert "nobody listens on port 1" in told["metrics"][1]


def test_host_that_forwards_nothing_is_told_with_the_setting(specmon: Specmon, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with running_sshd(folder, "AllowTcpForwarding no") as sshd, servers(tmp_path) as running_servers:
        running_servers.start(["sglang", "--model-path", "/m"], log=tmp_path / "base.log")
        _, told = checks(specmon, HOST, *options_of(sshd))
    assert told["metrics"][0] == "fault"
    assert "AllowTcpForwarding" in told["metrics"][2]


def test_host_without_a_shell_is_told_what_still_works(specmon: Specmon, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with running_sshd(folder, "ForceCommand internal-sftp", "Subsystem sftp internal-sftp") as sshd:
        status, told = checks(specmon, HOST, *options_of(sshd))
    assert status == 1
    assert told["shell"][0] == "fault"
    assert "SFTP" in told["shell"][2]


def test_login_shell_that_talks_is_passed_over_and_told(specmon: Specmon, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "greet.sh").write_text("echo '\x1b[31mWelcome\x07'\neval \"$SSH_ORIGINAL_COMMAND\"\n")
    with running_sshd(folder, f"ForceCommand sh {folder}/greet.sh") as sshd:
        _, told = checks(specmon, HOST, *options_of(sshd))
    assert told["shell"][0] == "note"
    assert "before a command begins" in told["shell"][1]


def test_settings_that_have_no_effect_are_explained(
    specmon: Specmon, environment: dict[str, str], tmp_path: Path, sshd: Sshd
) -> None:
    config = sshd.config(
        "ignored_config",
        "Host gpu01\n HostName 127.0.0.1\n Port PORT\n IdentityFile KEY\n UserKnownHostsFile KNOWN\n"
        " StrictHostKeyChecking accept-new\n ControlMaster auto\n",
    )
    done = specmon("doctor", "gpu01", "-F", str(config))
    assert "StrictHostKeyChecking accept-new is not followed" in done.out
    assert "ControlMaster is not followed" in done.out
    nobody = tmp_path / "nobody"
    nobody.touch()
    config.write_text(config.read_text().replace(str(sshd.known_hosts), str(nobody)))
    done = specmon("connect", "gpu01", "-F", str(config))
    assert "host key unknown (SHA256:" in done.err
    assert "StrictHostKeyChecking accept-new is not followed" in done.err
    assert not nobody.read_text(), "nothing may be remembered silently"
    assert done.status == 2
