"""Keys and certificates for servers' pages, as they are given on a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.commands.page_access import ENVIRONMENT, PageOptions, page_access
from specmon.errors import ConfigError
from specmon.settings.model import Host

HEADER = "Bearer sk-5f0e8b7c6d5a4f3e2d1c"


def options(*names: str, ca: Path | None = None, insecure: bool = False) -> PageOptions:
    return PageOptions(metrics_header_env=names, metrics_ca=ca, metrics_insecure=insecure)


@pytest.mark.parametrize(
    ("given", "first_host", "machine", "address", "is_for"),
    [
        ("KEY", "gpu1", "me@gpu1", "127.0.0.1", True),
        ("KEY", "me@gpu1", "me@gpu1", "127.0.0.1", True),
        ("KEY", "gpu1", "gpu2", "127.0.0.1", False),  # without a host it is the first host's alone
        ("KEY", "local:", "this machine", "127.0.0.1", True),
        ("KEY", "[::1]", "::1", "127.0.0.1", True),
        ("gpu2=KEY", "gpu1", "gpu2", "127.0.0.1", True),
        ("gpu2=KEY", "gpu1", "gpu1", "127.0.0.1", False),
        ("gpu2:30000=KEY", "gpu1", "gpu2", "127.0.0.1", True),
        ("gpu2:30001=KEY", "gpu1", "gpu2", "127.0.0.1", False),
        ("[fe80::1]:30000=KEY", "gpu1", "gpu1", "fe80::1", True),
        ("local:=KEY", "gpu1", "this machine", "127.0.0.1", True),
        ("localhost=KEY", "gpu1", "this machine", "::1", True),
    ],
)
def test_key_is_for_the_host_that_is_named(
    given: str, first_host: str, machine: str, address: str, is_for: bool
) -> None:
    access = page_access(options(given), first_host=first_host, environ={"KEY": f" {HEADER}\n"})
    assert access.header_for(machine, address, 30000) == (HEADER if is_for else None)


def test_variable_of_the_environment_does_the_same_for_the_first_host() -> None:
    access = page_access(options(), first_host="gpu1", environ={ENVIRONMENT: HEADER})
    assert access.header_for("gpu1", "127.0.0.1", 30000) == HEADER
    assert access.header_for("gpu2", "127.0.0.1", 30000) is None
    assert page_access(options(), first_host="gpu1", environ={ENVIRONMENT: ""}).keys == ()


def test_option_goes_before_the_variable() -> None:
    access = page_access(options("MINE"), first_host="gpu1", environ={ENVIRONMENT: "Bearer other", "MINE": HEADER})
    assert access.header_for("gpu1", "127.0.0.1", 30000) == HEADER


@pytest.mark.parametrize(
    ("given", "environ", "said"),
    [
        (HEADER, {}, "it takes the name of a variable"),
        (f"gpu1={HEADER}", {}, "it takes the name of a variable"),
        ("=KEY", {"KEY": HEADER}, "it takes the name of a variable"),
        ("gpu1:x=KEY", {"KEY": HEADER}, "it takes the name of a variable"),
        ("sk_5f0e8b7c6d5a4f3e2d1c", {}, "the variable that it names is not set or empty"),
        ("KEY", {"KEY": " "}, "the variable that it names is not set or empty"),
        ("KEY", {"KEY": f"{HEADER}\r\nHost: evil"}, "the value holds characters that no HTTP header may have"),
        ("KEY", {"KEY": f"{HEADER}\u20ac"}, "the value holds characters that no HTTP header may have"),
        ("KEY", {"KEY": "x" * 9000}, "the value holds characters that no HTTP header may have"),
    ],
)
def test_wrong_use_is_a_sentence_without_the_key(given: str, environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        page_access(options(given), first_host="gpu1", environ=environ)
    text = f"{error.value}"
    assert text.startswith(f"--metrics-header-env: {said}")
    assert "5f0e8b7c" not in text
    assert "evil" not in text


def test_no_text_of_ours_shows_a_key() -> None:
    access = page_access(options("KEY"), first_host="gpu1", environ={"KEY": HEADER})
    assert "5f0e8b7c" not in repr(access)


def test_file_that_is_no_certificate_is_told_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--metrics-ca .*no such file"):
        page_access(options(ca=tmp_path / "none.pem"), first_host="gpu1", environ={})
    assert page_access(options(insecure=True), first_host="gpu1", environ={}).trust.is_unchecked


def test_settings_give_single_hosts_a_key_of_their_own() -> None:
    settled = {"gpu2": Host(metrics_header_env="KEY2"), "gpu3": Host(metrics_header_env="KEY3")}
    access = page_access(options(), first_host="gpu1", environ={"KEY2": HEADER}, hosts=settled)
    assert access.header_for("me@gpu2", "127.0.0.1", 30000) == HEADER
    assert access.header_for("gpu1", "127.0.0.1", 30000) is None
    assert access.header_for("gpu3", "127.0.0.1", 30000) is None  # its variable need not be set today


def test_variable_of_the_first_host_must_be_set() -> None:
    settled = {"gpu1": Host(metrics_header_env="KEY1")}
    with pytest.raises(ConfigError, match=r"hosts\.gpu1\.metrics_header_env: the variable KEY1 is not set"):
        page_access(options(), first_host="me@gpu1", environ={}, hosts=settled)


def test_option_goes_before_the_settings_of_a_host() -> None:
    settled = {"gpu1": Host(metrics_header_env="KEY1", metrics_insecure=True)}
    environ = {"KEY1": "Bearer other", "MINE": HEADER}
    access = page_access(options("MINE"), first_host="gpu1", environ=environ, hosts=settled)
    assert access.header_for("gpu1", "127.0.0.1", 30000) == HEADER
    assert page_access(options("MINE"), first_host="gpu1", environ={"MINE": HEADER}, hosts=settled).keys


def test_certificates_of_one_host_go_unchecked_and_no_others() -> None:
    settled = {"gpu1": Host(metrics_insecure=True), "localhost": Host(metrics_insecure=False)}
    access = page_access(options(), first_host="gpu1", environ={}, hosts=settled)
    assert access.check_for("me@gpu1", "127.0.0.1").is_unchecked
    assert not access.check_for("gpu2", "127.0.0.1").is_unchecked
    assert not access.check_for("this machine", "127.0.0.1").is_unchecked
    everywhere = page_access(options(insecure=True), first_host="gpu1", environ={}, hosts=settled)
    assert everywhere.check_for("this machine", "127.0.0.1").is_unchecked


def test_file_of_a_host_that_holds_no_certificate_is_told_at_once(tmp_path: Path) -> None:
    settled = {"gpu1": Host(metrics_ca=str(tmp_path / "none.pem"))}
    with pytest.raises(ConfigError, match=r"none\.pem"):
        page_access(options(), first_host="gpu2", environ={}, hosts=settled)
