"""Host keys that are not on record, against a real OpenSSH server: only the user's own word lets one pass.

And the configuration of the user, certificates included, as it is followed.
"""
# ruff: noqa: ASYNC240 (small files of a test)

from __future__ import annotations

import getpass
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from specmon.errors import SourceRefused
from specmon.sources.ssh import SshHost, SshSettings
from specmon.sources.ssh_login import Question
from tests.conftest import Sshd, running_sshd

from .faults import Daemon

pytestmark = pytest.mark.sshd
HOST = "127.0.0.1"


class Answers:
    """Somebody at the terminal, who gives these answers and no more."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> str | None:
        self.asked.append(question)
        return self._answers.pop(0) if self._answers else None


def fingerprint(sshd: Sshd) -> str:
    return asyncssh.import_public_key(sshd.host_key_line).get_fingerprint()


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "ssh" / "known_hosts"


def settings_of(sshd: Sshd, known: Path) -> SshSettings:
    return replace(sshd.settings, known_hosts=(known,))


async def test_key_accepted_once_is_shown_and_not_written_down(sshd: Sshd, known: Path) -> None:
    answers = Answers("once")
    async with SshHost(HOST, settings_of(sshd, known), prompt=answers) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
        assert sshd.kill_sessions()
        await (await host.connect()).wait_closed()
        assert (await host.run("echo again")).stdout == b"again\n"  # the same key, for as long as we run
    (question,) = answers.asked
    assert (question.kind, question.is_echoed) == ("host key", True)
    assert f"ssh-ed25519 {fingerprint(sshd)}" in question.text
    assert str(known) in question.text
    assert not known.exists()


async def test_key_that_is_remembered_is_on_record_from_then_on(sshd: Sshd, known: Path) -> None:
    known.parent.mkdir()
    known.write_text("# mine, without an end of line")
    async with SshHost(HOST, settings_of(sshd, known), prompt=Answers(" remember\n")) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
    assert known.read_text() == f"# mine, without an end of line\n{sshd.known_hosts.read_text()}"
    nobody = Answers()
    async with SshHost(HOST, settings_of(sshd, known), prompt=nobody) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
    assert not nobody.asked


async def test_file_that_is_made_is_the_users_alone(sshd: Sshd, known: Path) -> None:
    async with SshHost(HOST, settings_of(sshd, known), prompt=Answers("remember")) as host:
        await host.connect()
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    assert stat.S_IMODE(known.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("answer", [None, "", "y", "yes", "Once", "no", "remember it"])
async def test_every_other_answer_refuses(sshd: Sshd, known: Path, answer: str | None) -> None:
    answers = Answers(answer)
    async with SshHost(HOST, settings_of(sshd, known), prompt=answers) as host:
        with pytest.raises(SourceRefused, match=r"host key unknown \(SHA256:"):
            await host.connect()
    assert len(answers.asked) == 1
    assert not known.exists()


async def test_key_that_has_changed_is_no_question(sshd: Sshd, known: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    known.parent.mkdir()
    known.write_text(f"[{HOST}]:{sshd.port} {other}")
    answers = Answers("once", "remember")
    async with SshHost(HOST, settings_of(sshd, known), prompt=answers) as host:
        with pytest.raises(SourceRefused, match="host key has CHANGED"):
            await host.connect()
    assert not answers.asked


async def test_key_that_changes_after_it_was_accepted_is_refused(daemon: Daemon, known: Path) -> None:
    answers = Answers("once", "once")
    async with SshHost(HOST, settings_of(daemon.sshd, known), prompt=answers) as host:
        connection = await host.connect()
        daemon.stop()
        await connection.wait_closed()
        for name in ("host_key", "host_key.pub"):
            (daemon.sshd.folder / name).unlink()
        daemon.start()
        with pytest.raises(SourceRefused, match="host key has CHANGED"):
            await host.connect()
    assert len(answers.asked) == 1


async def test_key_that_is_revoked_is_no_question(sshd: Sshd, known: Path) -> None:
    known.parent.mkdir()
    known.write_text(f"@revoked * {sshd.host_key_line}\n")
    answers = Answers("once")
    async with SshHost(HOST, settings_of(sshd, known), prompt=answers) as host:
        with pytest.raises(SourceRefused):
            await host.connect()
    assert not answers.asked


async def test_key_that_is_known_only_as_revoked_is_no_question(sshd: Sshd, known: Path) -> None:
    known.parent.mkdir()
    known.write_text(f"@revoked [{HOST}]:{sshd.port} {sshd.host_key_line}\n")
    answers = Answers("once")
    async with SshHost(HOST, settings_of(sshd, known), prompt=answers) as host:
        with pytest.raises(SourceRefused, match="revoked"):
            await host.connect()
    assert not answers.asked


async def test_key_of_the_address_vouches_for_no_name(sshd: Sshd, known: Path) -> None:
    """Whoever can forge a name may have a host of his own that the user knows by its address."""
    async with SshHost("localhost", replace(sshd.settings, known_hosts=(sshd.known_hosts,))) as host:
        with pytest.raises(SourceRefused, match="localhost: host key unknown"):
            await host.connect()


@pytest.mark.parametrize("line", ["@bogus * x", "one-word", "@revoked", "|1|?|? ssh-ed25519 AAAA", "\xff\x00 \x01"])
async def test_line_that_is_none_does_not_spoil_the_others(sshd: Sshd, known: Path, line: str) -> None:
    known.parent.mkdir()
    known.write_text(f"{line}\n{sshd.known_hosts.read_text()}", encoding="latin-1")
    async with SshHost(HOST, settings_of(sshd, known)) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"


@pytest.mark.parametrize("file", ["%d/.ssh/%h_%p_%n_%%", "~/.ssh/%h_%p_%n_%%", "${HOME}/.ssh/%h_%p_%k_%%"])
async def test_name_of_the_known_hosts_file_may_hold_tokens(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / f"127.0.0.1_{sshd.port}_gpu1_%").write_bytes(sshd.known_hosts.read_bytes())
    config = sshd.config(
        "tokens", f"Host gpu1\n  HostName 127.0.0.1\n  Port PORT\n  IdentityFile KEY\n  UserKnownHostsFile {file}\n"
    )
    async with SshHost("gpu1", SshSettings(config_file=config, use_agent=False)) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"


@pytest.mark.parametrize("line", ["IdentityFile /no/key", "IdentityFile KEY.pub", "CertificateFile /no/cert"])
async def test_key_that_only_other_machines_have_is_passed_over(sshd: Sshd, line: str) -> None:
    text = f"Host gpu1\n  HostName 127.0.0.1\n  Port PORT\n  UserKnownHostsFile KNOWN\n  {line}\n  IdentityFile KEY\n"
    config = sshd.config("passed_over", text)
    async with SshHost("gpu1", SshSettings(config_file=config, use_agent=False)) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"


async def test_key_of_a_jump_host_is_asked_about_by_its_name(sshd: Sshd, known: Path) -> None:
    alias = "Host NAME\n HostName 127.0.0.1\n Port PORT\n IdentityFile KEY\n HostKeyAlias NAME\n"
    config = sshd.config(
        "asked_jump", alias.replace("NAME", "far") + " ProxyJump near\n" + alias.replace("NAME", "near")
    )
    answers = Answers("once", "remember")
    settings = SshSettings(config_file=config, use_agent=False, known_hosts=(known,))
    async with SshHost("far", settings, prompt=answers) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
    assert [question.text.split(":")[0:2] for question in answers.asked] == [
        ["jump host near", " this host key is not on record"],
        ["far", " this host key is not on record"],
    ]
    assert known.read_text().splitlines() == [f"far {' '.join(sshd.host_key_line.split()[:2])}"]


async def test_file_that_cannot_be_written_is_told(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "folder"
    known.mkdir()
    async with SshHost(HOST, settings_of(sshd, known), prompt=Answers("remember")) as host:
        with pytest.raises(SourceRefused, match=r"cannot be written to .*is a directory.*Answer `once`"):
            await host.connect()


@contextmanager
def certified(folder: Path) -> Iterator[tuple[Sshd, Path, Path]]:
    """An sshd that trusts an authority for users and shows a certificate of one for hosts; a signed user key."""
    folder.mkdir()

    def make(name: str) -> Path:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        return folder / name

    def sign(authority: Path, key: Path, *more: str) -> None:
        command = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", *more, f"{key}.pub"]
        subprocess.run(command, check=True, capture_output=True)

    users, hosts, user, host = make("users_ca"), make("hosts_ca"), make("user"), make("host_key")
    sign(users, user, "-n", getpass.getuser())
    sign(hosts, host, "-h", "-n", HOST)
    with running_sshd(
        folder, f"TrustedUserCAKeys {users}.pub", f"HostCertificate {host}-cert.pub", "AuthorizedKeysFile none"
    ) as sshd:
        yield sshd, user, hosts


async def test_certificates_of_user_and_host_are_used(tmp_path: Path) -> None:
    with certified(tmp_path / "ca") as (sshd, user, hosts):
        known = tmp_path / "known"
        known.write_text(f"@cert-authority * {Path(f'{hosts}.pub').read_text()}")
        settings = replace(sshd.settings, client_keys=(user,), known_hosts=(known,))
        async with SshHost(HOST, settings) as host:
            assert (await host.run("echo hi")).stdout == b"hi\n"
        config = sshd.config(
            "cert_config",
            f"Host gpu1\n HostName {HOST}\n Port PORT\n IdentityFile {user}\n CertificateFile {user}-cert.pub\n"
            f" UserKnownHostsFile {known}\n",
        )
        async with SshHost("gpu1", SshSettings(config_file=config, use_agent=False)) as host:
            assert (await host.run("echo hi")).stdout == b"hi\n"
        Path(f"{user}-cert.pub").rename(tmp_path / "gone")
        async with SshHost(HOST, settings) as host:
            with pytest.raises(SourceRefused, match="permission denied"):
                await host.connect()


@pytest.mark.parametrize(
    "text",
    [
        "Include EXTRA\nHost gpu1\n  IdentityFile KEY\n",
        "Host gpu*\n  Include EXTRA\n  IdentityFile KEY\n",
        "Include EXTRA\nMatch host 127.0.0.1\n  IdentityFile KEY\n",
        "Include EXTRA\nMatch originalhost gpu1\n  IdentityFile KEY\n",
        'Include EXTRA\nMatch exec "true"\n  IdentityFile KEY\n',
        "Include EXTRA\nMatch all\n  IdentityFile KEY\n",
        'Include EXTRA\nMatch exec "false"\n  Port 1\nMatch all\n  IdentityFile KEY\n',
        "Include EXTRA\nHost other\n  Port 1\nHost *\n  IdentityFile KEY\n",
        "Include EXTRA\nHost gpu1\n  IdentityFile KEY\n  ProxyCommand sh -c 'exec nc %h %p'\n",
    ],
)
async def test_configuration_of_the_user_is_followed(sshd: Sshd, text: str) -> None:
    if " nc " in text and shutil.which("nc") is None:
        script = "import socket,sys,threading,os;s=socket.create_connection((sys.argv[1],int(sys.argv[2])));"
        relay = sshd.folder / "relay.py"
        relay.write_text(
            script + "\ndef up():\n"
            "    while d := os.read(0, 65536): s.sendall(d)\n"
            "threading.Thread(target=up, daemon=True).start()\n"
            "while d := s.recv(65536): os.write(1, d)\n"
        )
        text = text.replace("sh -c 'exec nc %h %p'", f"python3 {relay} %h %p")
    extra = sshd.config("extra_config", "Host gpu1\n  HostName 127.0.0.1\n  Port PORT\n  UserKnownHostsFile KNOWN\n")
    config = sshd.config("main_config", text.replace("EXTRA", str(extra)))
    async with SshHost("gpu1", SshSettings(config_file=config, use_agent=False)) as host:
        assert (await host.run("echo hi")).stdout == b"hi\n"
