"""Connecting to a real OpenSSH server: what works, and the sentence for what does not."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.ssh import SshHost, SshSettings
from specmon.sources.ssh_login import Question
from tests.conftest import Sshd, free_port

pytestmark = pytest.mark.sshd

ALIAS = "Host gpu1\n  HostName 127.0.0.1\n  Port PORT\n  IdentityFile KEY\n  UserKnownHostsFile KNOWN\n"


async def greet(host: SshHost) -> bytes:
    async with host:
        return (await host.run("echo hello; echo oops >&2")).stdout


async def refusal(host: SshHost) -> str:
    with pytest.raises(SourceRefused) as caught:
        await greet(host)
    message = str(caught.value)
    assert "\n" not in message
    return message


async def test_connects_with_a_key_file(sshd: Sshd) -> None:
    assert await greet(SshHost("127.0.0.1", sshd.settings)) == b"hello\n"


async def test_connects_by_an_alias_of_the_configuration(sshd: Sshd) -> None:
    config = sshd.config("alias", ALIAS)
    assert await greet(SshHost("gpu1", SshSettings(config_file=config, use_agent=False))) == b"hello\n"


async def test_connects_with_the_agent(sshd: Sshd, agent_socket: Path) -> None:
    config = sshd.config("agent", ALIAS.replace("  IdentityFile KEY\n", ""))
    assert await greet(SshHost("gpu1", SshSettings(config_file=config))) == b"hello\n"


@pytest.mark.parametrize("where", ["SSH_AUTH_SOCK", "$SSH_AUTH_SOCK", "${SSH_AUTH_SOCK}"])
async def test_agent_of_the_configuration_may_be_that_of_the_environment(
    sshd: Sshd, agent_socket: Path, where: str
) -> None:
    config = sshd.config("agent_where", ALIAS.replace("IdentityFile KEY", f"IdentityAgent {where}"))
    assert await greet(SshHost("gpu1", SshSettings(config_file=config))) == b"hello\n"


@pytest.fixture
def full_agent(sshd: Sshd, agent_socket: Path, tmp_path: Path) -> None:
    """The agent holds eight keys before the right one."""
    keys = [tmp_path / f"key{number}" for number in range(8)]
    for key in keys:
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)
        key.chmod(0o600)
    for words in (["-D"], [*map(str, keys), str(sshd.client_key)]):
        subprocess.run(["ssh-add", "-q", *words], check=True, capture_output=True, timeout=90)


@pytest.mark.usefixtures("full_agent")
async def test_named_key_of_an_agent_that_holds_many_comes_first(sshd: Sshd) -> None:
    """A server takes six tries (MaxAuthTries); the agent's own order would use them up."""
    unnamed = sshd.config("many_keys", ALIAS.replace("  IdentityFile KEY\n", ""))
    assert "MaxAuthTries" in await refusal(SshHost("gpu1", SshSettings(config_file=unnamed)))
    assert await greet(SshHost("gpu1", SshSettings(config_file=sshd.config("named_key", ALIAS)))) == b"hello\n"


@pytest.mark.parametrize("first", ["ProxyCommand none", "ProxyCommand=none", "ProxyJump none"])
async def test_first_word_on_the_way_to_a_host_counts(sshd: Sshd, first: str) -> None:
    config = sshd.config("first_way", ALIAS + f"  {first}\nHost *\n  ProxyJump nowhere.invalid\n")
    assert await greet(SshHost("gpu1", SshSettings(config_file=config, use_agent=False))) == b"hello\n"


async def test_jump_line_may_hold_tokens(sshd: Sshd) -> None:
    config = sshd.config("token", ALIAS + "  ProxyJump ssh://%r@%n-jump\n" + ALIAS.replace("gpu1", "gpu1-jump"))
    assert await greet(SshHost("gpu1", SshSettings(config_file=config, use_agent=False))) == b"hello\n"


async def test_connects_through_a_jump_host(sshd: Sshd) -> None:
    config = sshd.config("jump", ALIAS + "  ProxyJump jump\n" + ALIAS.replace("gpu1", "jump"))
    assert await greet(SshHost("gpu1", SshSettings(config_file=config, use_agent=False))) == b"hello\n"


async def test_jump_host_for_every_host_does_not_jump_to_itself(sshd: Sshd) -> None:
    config = sshd.config("star", ALIAS.replace("gpu1", "gpu1 jump") + "Host *\n  ProxyJump jump\n")
    assert await greet(SshHost("gpu1", SshSettings(config_file=config, use_agent=False))) == b"hello\n"


async def test_jump_host_of_the_settings_needs_no_configuration(sshd: Sshd) -> None:
    settings = replace(sshd.settings, jump_host=f"127.0.0.1:{sshd.port}")
    async with SshHost("localhost", settings) as host:
        with pytest.raises(SourceRefused, match=r"^localhost: host key unknown"):  # the jump itself was trusted
            await host.connect()


async def test_unknown_key_of_the_jump_host_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    jump = ALIAS.replace("gpu1", "jump").replace("KNOWN", str(tmp_path / "none"))
    config = sshd.config("badjump", ALIAS + "  ProxyJump jump\n" + jump)
    message = await refusal(SshHost("gpu1", SshSettings(config_file=config, use_agent=False)))
    assert message.startswith("gpu1: jump host jump: host key unknown (SHA256:")


@pytest.mark.parametrize("known", ["none", "/dev/null", "/no/such/file"])
async def test_unknown_key_is_refused_whatever_the_configuration_says(sshd: Sshd, known: str) -> None:
    text = ALIAS.replace("KNOWN", known) + "  StrictHostKeyChecking no\n"
    config = sshd.config("unknown", text)
    message = await refusal(SshHost("gpu1", SshSettings(config_file=config, use_agent=False)))
    fingerprint = asyncssh.import_public_key(sshd.host_key_line).get_fingerprint()
    assert message.startswith(
        f"gpu1: host key unknown ({fingerprint}). Run `ssh -F {config} gpu1` once to accept it, then try again."
    )
    if shutil.which("ssh"):
        assert "StrictHostKeyChecking no is not followed" in message


async def test_changed_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{sshd.port} {other}")
    message = await refusal(SshHost("127.0.0.1", replace(sshd.settings, known_hosts=(known,))))
    assert "host key has CHANGED" in message
    assert str(known) in message


async def test_key_of_another_kind_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{sshd.port} {other}")
    message = await refusal(SshHost("127.0.0.1", replace(sshd.settings, known_hosts=(known,))))
    assert "may be of another kind than the one on record" in message


async def test_wrong_key_is_permission_denied(sshd: Sshd, tmp_path: Path) -> None:
    key = tmp_path / "other"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(key)
    message = await refusal(SshHost("127.0.0.1", replace(sshd.settings, client_keys=(key,))))
    assert message.startswith("127.0.0.1: permission denied")


async def test_encrypted_key_asks_for_its_passphrase(sshd: Sshd, tmp_path: Path) -> None:
    key = tmp_path / "locked"
    asyncssh.read_private_key(sshd.client_key).write_private_key(
        key, "pkcs8-pem", passphrase="open sesame", hash_name="sha256"
    )
    settings = replace(sshd.settings, client_keys=(key,))
    asked: list[Question] = []

    async def answer(question: Question) -> str | None:
        asked.append(question)
        return "open sesame"

    assert "passphrase" in await refusal(SshHost("127.0.0.1", settings))
    assert "no .pub file" in await refusal(SshHost("127.0.0.1", settings, prompt=answer))
    asyncssh.read_private_key(sshd.client_key).write_public_key(f"{key}.pub")
    asked.clear()
    assert await greet(SshHost("127.0.0.1", settings, prompt=answer)) == b"hello\n"
    assert [question.kind for question in asked] == ["passphrase"]
    assert str(key) in asked[0].text


async def test_missing_key_file_is_named(sshd: Sshd, tmp_path: Path) -> None:
    settings = replace(sshd.settings, client_keys=(tmp_path / "none",))
    assert f"cannot read {tmp_path / 'none'}" in await refusal(SshHost("127.0.0.1", settings))


async def test_refused_port_is_told_at_once(sshd: Sshd) -> None:
    message = await refusal(SshHost("127.0.0.1", replace(sshd.settings, port=free_port())))
    assert message.startswith("127.0.0.1: connection refused.")


async def test_patient_host_is_lost_instead(sshd: Sshd) -> None:
    settings = replace(sshd.settings, port=free_port(), waits_for_host=True)
    with pytest.raises(SourceLost, match="connection refused"):
        await greet(SshHost("127.0.0.1", settings))


async def test_unknown_name_is_told(sshd: Sshd) -> None:
    message = await refusal(SshHost("no-such-host.invalid", sshd.settings))
    assert message.startswith("no-such-host.invalid: no such host name.")


async def test_mute_server_runs_into_the_time_limit(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        settings = replace(sshd.settings, port=mute.getsockname()[1], connect_timeout_s=0.3, login_timeout_s=0.3)
        message = await refusal(SshHost("127.0.0.1", settings))
    assert "in time" in message or "imeout" in message


async def test_everybody_shares_one_connection(sshd: Sshd) -> None:
    async with SshHost("127.0.0.1", sshd.settings) as host:
        results = await asyncio.gather(*(host.run("echo $PPID") for _ in range(5)))
        assert len({result.stdout for result in results}) == 1


async def test_lost_connection_is_dialled_again(sshd: Sshd) -> None:
    async with SshHost("127.0.0.1", sshd.settings) as host:
        await host.run("true")
        with pytest.raises(SourceLost):
            await host.run("kill -9 $PPID; sleep 5")
        assert (await host.run("echo again")).stdout == b"again\n"


async def test_slow_command_ends_at_its_time_limit(sshd: Sshd) -> None:
    async with SshHost("127.0.0.1", sshd.settings) as host:
        with pytest.raises(SourceLost, match="no answer in time"):
            await host.run("sleep 5", timeout_s=0.3)
        assert (await host.run("echo alive")).stdout == b"alive\n"


async def test_cancelled_asker_does_not_cancel_the_others(sshd: Sshd) -> None:
    async with SshHost("127.0.0.1", sshd.settings) as host:
        first = asyncio.create_task(host.run("true"))
        second = asyncio.create_task(host.run("echo second"))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).stdout == b"second\n"
