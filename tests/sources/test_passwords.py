"""Password and challenge logins: asked once, through the caller, and refused in one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from specmon.errors import SourceRefused
from specmon.sources.jump_hosts import JumpHosts
from specmon.sources.ssh import SshHost, SshSettings
from specmon.sources.ssh_login import Question
from tests.conftest import Sshd

PASSWORD = "open sesame"


class _Server(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True  # a jump host

    def validate_password(self, username: str, password: str) -> bool:
        return password == PASSWORD


class _Challenger(_Server):
    def password_auth_supported(self) -> bool:
        return False

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        return "", "", "", [("One-time code: ", True)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        return list(responses) == ["123456"]


@asynccontextmanager
async def listening(folder: Path, server: type[asyncssh.SSHServer]) -> AsyncIterator[SshSettings]:
    """Settings that reach a server which takes no keys."""
    key = asyncssh.generate_private_key("ssh-ed25519")

    def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(b"hello\n")
        process.exit(0)

    acceptor = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[key],
        server_factory=server,
        process_factory=handle,
        encoding=None,
        kbdint_auth=server is _Challenger,  # else a password is asked for that way too
    )
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{acceptor.get_port()} {key.export_public_key().decode()}")
    try:
        yield SshSettings(
            read_config=False, port=acceptor.get_port(), user="eve", use_agent=False, known_hosts=(known,)
        )
    finally:
        acceptor.close()
        await acceptor.wait_closed()


class Answers:
    """Somebody at the terminal."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.text


async def test_password_is_asked_for_once_and_opens(tmp_path: Path) -> None:
    answers = Answers(PASSWORD)
    async with listening(tmp_path, _Server) as settings, SshHost("127.0.0.1", settings, prompt=answers) as host:
        assert (await host.run("anything")).stdout == b"hello\n"
    assert [question.kind for question in answers.asked] == ["password"]
    assert not answers.asked[0].is_echoed


@pytest.mark.parametrize("text", ["wrong", "", None])
@pytest.mark.parametrize("server", [_Server, _Challenger])
async def test_wrong_answer_is_one_sentence_after_one_question(
    tmp_path: Path, text: str | None, server: type[asyncssh.SSHServer]
) -> None:
    answers = Answers(text)
    async with listening(tmp_path, server) as settings, SshHost("127.0.0.1", settings, prompt=answers) as host:
        with pytest.raises(SourceRefused, match=r"^127\.0\.0\.1: permission denied") as caught:
            await host.connect()
    assert "\n" not in str(caught.value)
    assert len(answers.asked) == 1


async def test_nobody_to_ask_is_a_refusal(tmp_path: Path) -> None:
    async with listening(tmp_path, _Server) as settings, SshHost("127.0.0.1", settings) as host:
        with pytest.raises(SourceRefused, match="permission denied"):
            await host.connect()


async def test_challenge_is_shown_as_the_host_words_it(tmp_path: Path) -> None:
    answers = Answers("123456")
    async with listening(tmp_path, _Challenger) as settings, SshHost("127.0.0.1", settings, prompt=answers) as host:
        assert (await host.run("anything")).stdout == b"hello\n"
    assert [(question.text, question.is_echoed) for question in answers.asked] == [("One-time code: ", True)]


@pytest.mark.sshd
@pytest.mark.parametrize(("server", "answer"), [(_Server, PASSWORD), (_Challenger, "123456"), (_Server, None)])
async def test_jump_host_asks_once_for_all_hosts_behind_it(
    sshd: Sshd, tmp_path: Path, server: type[asyncssh.SSHServer], answer: str | None
) -> None:
    """A code of the moment could not even be given twice."""
    answers, jumps = Answers(answer), JumpHosts[SshHost]()
    async with listening(tmp_path, server) as at:
        text = "Host gpu*\n  HostName 127.0.0.1\n  Port PORT\n  IdentityFile KEY\n  UserKnownHostsFile KNOWN\n"
        text += f"  ProxyJump eve@near:{at.port}\n"
        text += f"Host near\n  HostName 127.0.0.1\n  UserKnownHostsFile {at.known_hosts[0]}\n"
        settings = replace(SshSettings(use_agent=False), config_file=sshd.config("asking_jump", text))
        hosts = [SshHost(f"gpu{number}", settings, prompt=answers, jumps=jumps) for number in range(4)]
        try:
            ends = await asyncio.gather(*(host.connect() for host in hosts), return_exceptions=True)
            await hosts[0].close()  # the others go on
            for host, end in zip(hosts[1:], ends[1:], strict=True):
                if answer is None:
                    assert str(end).startswith(f"{host.name}: jump host near: permission denied")
                else:
                    assert (await host.run("echo hi")).stdout == b"hi\n"
                    assert host.hop_names == ("near", host.name)
        finally:
            await asyncio.gather(*(host.close() for host in hosts))
    assert len(answers.asked) == 1
