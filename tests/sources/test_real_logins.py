"""Passwords, PAM's challenges and two steps, asked by a real sshd of a real account."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specmon.errors import SourceRefused
from specmon.sources.ssh import SshHost, SshSettings
from tests.conftest import running_sshd

from .accounts import PASSWORD, account
from .test_passwords import Answers

pytestmark = pytest.mark.sshd

HOST = "127.0.0.1"
PASSWORDS = ("PasswordAuthentication yes", "KbdInteractiveAuthentication no")
CHALLENGES = ("UsePAM yes", "PasswordAuthentication no", "KbdInteractiveAuthentication yes")
TWO_STEPS = (*CHALLENGES, "AuthenticationMethods publickey,keyboard-interactive")


@pytest.fixture(scope="module")
def user() -> Iterator[str]:
    with account() as name:
        yield name


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the account may enter, unlike pytest's own: sshd reads its keys as that user."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.mark.parametrize(
    ("options", "has_key", "kind", "words"),
    [
        (PASSWORDS, False, "password", f"Password for {HOST}: "),
        (CHALLENGES, False, "challenge", "Password: "),
        (TWO_STEPS, True, "challenge", "Password: "),
    ],
)
async def test_real_host_asks_once_and_opens(
    user: str, folder: Path, options: tuple[str, ...], has_key: bool, kind: str, words: str
) -> None:
    with running_sshd(folder, *options) as sshd:
        async with SshHost(
            HOST, _settings(sshd.settings, user, has_key), prompt=(answers := Answers(PASSWORD))
        ) as host:
            assert (await host.run("whoami")).stdout.strip().decode() == user
    assert [question.kind for question in answers.asked] == [kind]
    assert answers.asked[0].text.endswith(words)
    assert not answers.asked[0].is_echoed


@pytest.mark.parametrize("options", [PASSWORDS, CHALLENGES, TWO_STEPS])
async def test_wrong_word_is_one_sentence_after_one_question(user: str, folder: Path, options: tuple[str, ...]) -> None:
    with running_sshd(folder, *options) as sshd:
        settings = _settings(sshd.settings, user, options == TWO_STEPS)
        async with SshHost(HOST, settings, prompt=(answers := Answers("wrong"))) as host:
            with pytest.raises(SourceRefused, match=r"^127\.0\.0\.1: permission denied"):
                await host.connect()
    assert len(answers.asked) == 1


def _settings(settings: SshSettings, user: str, has_key: bool) -> SshSettings:
    # A key of no one: without any named, the tester's own would be tried.
    return replace(settings, user=user, client_keys=settings.client_keys if has_key else ())
