"""What a SOURCE means."""

from __future__ import annotations

import pytest

from specmon.errors import ConfigError
from specmon.sources.address import (
    HostAddress,
    LocalPlace,
    Place,
    RemotePlace,
    StdinPlace,
    parse_host,
    parse_source,
)

GPU = HostAddress("gpu01")


def nothing_exists(path: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("base.log", LocalPlace("base.log")),
        ("/var/log/base.log", LocalPlace("/var/log/base.log")),
        ("logs/*.log", LocalPlace("logs/*.log", is_glob=True)),
        ("-", StdinPlace()),
        ("local:docker:x", LocalPlace("docker:x")),
        ("gpu01:/var/log/base.log", RemotePlace(GPU, "/var/log/base.log")),
        ("gpu01:base.log", RemotePlace(GPU, "base.log")),
        ("gpu01:~/base.log", RemotePlace(GPU, "base.log")),
        ("gpu01:/a:b.log", RemotePlace(GPU, "/a:b.log")),
        ("me@gpu01:/x", RemotePlace(HostAddress("gpu01", "me"), "/x")),
        ("me@corp@gpu01:/x", RemotePlace(HostAddress("gpu01", "me@corp"), "/x")),
        ("[2001:db8::1]:/x", RemotePlace(HostAddress("2001:db8::1"), "/x")),
        ("me@[::1]:/x", RemotePlace(HostAddress("::1", "me"), "/x")),
        ("ssh:gpu01:30000", RemotePlace(GPU, "30000")),
        ("ssh:docker:/x", RemotePlace(HostAddress("docker"), "/x")),
        ("./a:b", LocalPlace("./a:b")),
        ("dir/a:b", LocalPlace("dir/a:b")),
    ],
)
def test_source_names_a_place(text: str, place: Place) -> None:
    address = parse_source(text, exists=nothing_exists)
    assert address.place == place
    assert address.label is None


@pytest.mark.parametrize("text", ["gpu01:/x", "docker:x", "-x", "a=b"])
def test_existing_local_path_wins(text: str) -> None:
    address = parse_source(text, exists=lambda path: path == text)
    assert address.place == LocalPlace(text)


def test_label_names_a_source() -> None:
    address = parse_source("two steps=gpu01:/x", exists=nothing_exists)
    assert (address.label, address.place, address.name) == ("two steps", RemotePlace(GPU, "/x"), "gpu01:/x")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/var/log/x", RemotePlace(GPU, "/var/log/x")),
        ("logs/x", RemotePlace(GPU, "logs/x")),
        ("./x", LocalPlace("./x")),
        ("../x", LocalPlace("../x")),
        ("local:/x", LocalPlace("/x")),
        ("other:/x", RemotePlace(HostAddress("other"), "/x")),
        ("-", StdinPlace()),
    ],
)
def test_source_without_host_belongs_to_the_first_host(text: str, place: Place) -> None:
    assert parse_source(text, first_host=GPU, exists=lambda path: True).place == place


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("docker:sglang", "container logs"),
        ("gpu01:docker:sglang", "container logs"),
        ("kube:ns/pod", "later version"),
        ("gpu01:30000", "ssh:gpu01:30000"),
        ("gpu01:", "lacks the path"),
        ("gpu01:~other/x", "another user's home"),
        ("ssh:gpu01", "lacks the path"),
        ("local:", "lacks the path"),
        (":/x", "no proper host name"),
        ("-oProxyCommand=x:/x", "no proper host name"),
        ("a b:/x", "no proper host name"),
        ("gpu01:/x\x1b[2J", "characters"),
    ],
)
def test_wrong_source_is_told_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source(text, exists=nothing_exists)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_host_is_read_alone() -> None:
    assert parse_host("me@gpu01") == HostAddress("gpu01", "me")
    assert parse_host("[::1]") == HostAddress("::1")
    assert parse_host("::1") == HostAddress("::1")
    assert str(parse_host("me@[::1]")) == "me@[::1]"
    with pytest.raises(ConfigError):
        parse_host("gpu01/x")
