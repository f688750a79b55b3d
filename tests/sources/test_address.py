"""What a SOURCE means."""

from __future__ import annotations

import pytest

from specmon.errors import ConfigError
from specmon.sources.address import (
    HostAddress,
    LocalPlace,
    Place,
    PortPlace,
    ProgramPlace,
    RemotePlace,
    SourceAddress,
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
        ("ssh:gpu01:docker:x", RemotePlace(GPU, "docker:x")),
        ("docker:spec", ProgramPlace("docker", "spec")),
        ("compose:llm/spec", ProgramPlace("compose", "llm/spec")),
        ("journal:sglang@30000.service", ProgramPlace("journal", "sglang@30000.service")),
        ("kube:prod/spec-0/server@previous", ProgramPlace("kube", "prod/spec-0/server@previous")),
        ("slurm:4711_3", ProgramPlace("slurm", "4711_3")),
        ("tmux:main:0.1", ProgramPlace("tmux", "main:0.1")),
        ("tmux:%3", ProgramPlace("tmux", "%3")),
        ("cmd:ssh gpu02 tail -f x | grep Decode", ProgramPlace("cmd", "ssh gpu02 tail -f x | grep Decode")),
        ("gpu01:docker:spec", ProgramPlace("docker", "spec", GPU)),
        ("me@[::1]:cmd:a:b", ProgramPlace("cmd", "a:b", HostAddress("::1", "me"))),
        ("gpu01:30000", PortPlace(GPU, 30000)),
        ("gpu01:logs/*.log", RemotePlace(GPU, "logs/*.log")),
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
        ("docker:spec", ProgramPlace("docker", "spec", GPU)),
        ("other:docker:spec", ProgramPlace("docker", "spec", HostAddress("other"))),
        ("-", StdinPlace()),
    ],
)
def test_source_without_host_belongs_to_the_first_host(text: str, place: Place) -> None:
    assert parse_source(text, first_host=GPU, exists=lambda path: True).place == place


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("docker:", "docker:NAME"),
        ("gpu01:docker:a b", "ssh:gpu01:docker:a b"),
        ("docker:-f", "local:docker:-f"),
        ("kube:pod", "kube:NAMESPACE/POD"),
        ("kube:ns/pod/a/b", "@previous"),
        ("kube:ns/pod@yesterday", "@previous"),
        ("journal:--vacuum-time=1s", "journal:UNIT"),
        ("slurm:spec", "slurm:JOBID"),
        ("tmux:main;kill-server", "tmux:PANE"),
        ("compose:a/b/c", "compose:SERVICE"),
        ("cmd: ", "cmd:COMMAND"),
        ("gpu01:99999", "ssh:gpu01:99999"),
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
    assert parse_host("fe80::1%eth0") == HostAddress("fe80::1%eth0")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("me@gpu01:/var/log/base.log", "me@gpu01"),
        ("gpu01:/var/log/a:b", "gpu01"),
        ("gpu01:tmux:main", "gpu01"),
        ("ssh:gpu01:/x", "gpu01"),
        ("gpu01:", "gpu01"),
        ("docker:spec", "local"),
        ("./base.log", "local"),
        ("gpu01/x", "local"),
    ],
)
def test_log_in_place_of_a_host_is_told_the_host_and_the_options(text: str, host: str) -> None:
    with pytest.raises(ConfigError, match=f"a host is wanted here: write {host}; .*--baseline and --spec"):
        parse_host(text)


@pytest.mark.parametrize("text", ["docker:spec", "gpu01:kube:ns/pod", "gpu01:30000", "me@[::1]:slurm:12", "cmd:a  b:c"])
def test_place_is_written_as_it_was_read(text: str) -> None:
    address = parse_source(text, exists=nothing_exists)
    assert address.name == text
    assert parse_source(f"fast={text}", exists=nothing_exists) == SourceAddress(address.place, "fast")
