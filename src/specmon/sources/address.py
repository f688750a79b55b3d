"""What a SOURCE on the command line means: which place, on which machine, under which label.

Pure text: nothing is opened or looked up here. Whether a local path exists is asked through a function
that the caller gives, because an existing path wins over every other reading of the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from glob import has_magic, iglob
from ipaddress import IPv6Address
from pathlib import Path
from typing import Literal, TypeAlias

from specmon.errors import ConfigError

Scheme: TypeAlias = Literal["docker", "compose", "journal", "kube", "slurm", "tmux", "cmd"]

# What follows each word, as it is told to the user.
_FORMS: dict[Scheme, str] = {
    "docker": "docker:NAME",
    "compose": "compose:SERVICE or compose:PROJECT/SERVICE",
    "journal": "journal:UNIT",
    "kube": "kube:NAMESPACE/POD, kube:NAMESPACE/POD/CONTAINER, and @previous behind it for the log before a crash",
    "slurm": "slurm:JOBID or slurm:JOBID_TASK",
    "tmux": "tmux:PANE (%3 or SESSION:WINDOW.PANE)",
    "cmd": "cmd:COMMAND",
}
_NAMES: dict[Scheme, re.Pattern[str]] = {
    "docker": re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
    "compose": re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]*/)?[A-Za-z0-9][A-Za-z0-9_.-]*"),
    "journal": re.compile(r"[A-Za-z0-9:_.@*?\[\]\\][A-Za-z0-9:_.@*?\[\]\\-]*"),
    "kube": re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9.-]*(?:/[a-z0-9][a-z0-9-]*)?(?:@previous)?"),
    "slurm": re.compile(r"\d+(?:[_+]\d+)?"),
    "tmux": re.compile(r"[^-;\x00-\x1f\x7f][^;\x00-\x1f\x7f]*"),  # tmux reads a ; as the end of a command
    "cmd": re.compile(r"[^\x00]*[^\x00\s][^\x00]*", re.DOTALL),
}
_LABEL = re.compile(r"(?P<label>[A-Za-z0-9][A-Za-z0-9_.+ -]*)=(?P<rest>.+)", re.DOTALL)
_BRACKETED = re.compile(r"(?:(?P<user>[^\[\]:/]+)@)?\[(?P<host>[^\[\]]+)\](?::(?P<rest>.*))?", re.DOTALL)
_USER = re.compile(r"[^\s\x00-\x1f\x7f/:\[\]-][^\s\x00-\x1f\x7f/:\[\]]*")  # may hold an @ (me@corp)
_HOST = re.compile(r"[^\s\x00-\x1f\x7f/@\[\]-][^\s\x00-\x1f\x7f/@\[\]]*")


@dataclass(frozen=True, slots=True)
class HostAddress:
    """A machine as the user wrote it: an alias of the SSH configuration, a name or an address."""

    name: str
    user: str | None = None  # None: what the SSH configuration says

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.user is None else f"{self.user}@{name}"


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A file on this machine."""

    path: str
    is_glob: bool = False  # the path holds wildcards; a file of that very name still wins when it is opened

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class StdinPlace:
    """What is piped into the program."""

    def __str__(self) -> str:
        return "-"


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A file on another machine, reached over SSH. A relative path starts in the login folder."""

    host: HostAddress
    path: str

    @property
    def is_glob(self) -> bool:
        """The path holds wildcards; a file of that very name still wins when it is opened."""
        return has_magic(self.path)

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """What a program tells: a container's log, a unit's journal, a job's files."""

    scheme: Scheme
    what: str
    host: HostAddress | None = None  # None: this machine

    def __str__(self) -> str:
        text = f"{self.scheme}:{self.what}"
        return text if self.host is None else f"{self.host}:{text}"


@dataclass(frozen=True, slots=True)
class PortPlace:
    """The server that listens on a port of a host; its log is found by looking at its process."""

    host: HostAddress
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


Place: TypeAlias = LocalPlace | StdinPlace | RemotePlace | ProgramPlace | PortPlace


def host_of(place: Place) -> HostAddress | None:
    """The host that a place is on; None for this machine."""
    return place.host if isinstance(place, RemotePlace | ProgramPlace | PortPlace) else None


@dataclass(frozen=True, slots=True)
class SourceAddress:
    """One SOURCE: where it is and how the user calls it."""

    place: Place
    label: str | None = None  # None: the server's own host:port, or the path, will name it

    @property
    def name(self) -> str:
        """The place as the user wrote it, without the label."""
        return str(self.place)


def path_exists(path: str) -> bool:
    """Whether a local path is there, or a local pattern matches anything."""
    try:
        return Path(path).exists() or (has_magic(path) and next(iglob(path), None) is not None)  # noqa: PTH207 (absolute patterns)
    except (OSError, ValueError):  # a name that no file can have is no file
        return False


def parse_host(text: str) -> HostAddress:
    """Read `[user@]HOST`; an IPv6 address may stand in brackets or not."""
    if match := _BRACKETED.fullmatch(text):
        if match["rest"] is not None:
            raise ConfigError(f"{text!r} is not a host: write [user@]HOST, and name logs with --baseline or --spec.")
        return _host(match["host"], match["user"], text)
    if "/" in text or (":" in text and not _is_ipv6(text.rpartition("@")[2])):
        raise ConfigError(
            f"{text!r} names a log or a port, and a host is wanted here: write {_meant_host(text)}; its servers' logs "
            "are found, or named with --baseline and --spec where the command has these."
        )
    user, at, name = text.rpartition("@")
    return _host(name, user if at else None, text)


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _meant_host(text: str) -> str:
    """The machine of what was given in place of a host."""
    try:
        host = host_of(parse_source(text, exists=lambda _: False).place)
    except ConfigError:  # half a place, as `gpu01:`
        return text.partition(":")[0] or "HOST"
    return "local" if host is None else str(host)


def parse_source(
    text: str, *, first_host: HostAddress | None = None, exists: Callable[[str], bool] = path_exists
) -> SourceAddress:
    """Read one SOURCE, or raise ConfigError with a sentence.

    With `first_host` (the `connect` command) a SOURCE without a host means that host; `./x`, `../x` and
    `local:x` stay on this machine.
    """
    if not text:
        raise ConfigError("An empty SOURCE names nothing: give a path, HOST:PATH or - for stdin.")
    local_first = first_host is None
    if (local_first and exists(text)) or (match := _LABEL.fullmatch(text)) is None:
        return SourceAddress(_parse_place(text, first_host, exists))
    return SourceAddress(_parse_place(match["rest"], first_host, exists), match["label"].strip())


def _parse_place(text: str, first_host: HostAddress | None, exists: Callable[[str], bool]) -> Place:
    if text == "-":
        return StdinPlace()
    if first_host is None and exists(text):
        return _local(text)
    head, colon, rest = text.partition(":")
    if colon and (scheme := _scheme(head)) is not None:
        return _program(scheme, rest, first_host, text)
    if colon and head == "local":
        if not rest:
            raise ConfigError(f"{text!r} lacks the path: write local:PATH.")
        return _local(rest)
    if colon and head == "ssh":
        if (split := _split_host(rest)) is None:
            raise ConfigError(f"{text!r} lacks the path: write ssh:HOST:PATH.")
        host, path = split
        return RemotePlace(host, _remote_path(path, text))
    if (split := _split_host(text)) is not None:
        return _on_host(*split, text)
    if first_host is not None and not text.startswith(("./", "../")):
        return RemotePlace(first_host, _remote_path(text, text))
    return _local(text)


def _split_host(text: str) -> tuple[HostAddress, str] | None:
    """Split `[user@]HOST:REST`; None when the text has no host. As with scp, a slash before the colon is a path."""
    if match := _BRACKETED.fullmatch(text):
        return (_host(match["host"], match["user"], text), match["rest"]) if match["rest"] is not None else None
    host, colon, rest = text.partition(":")
    if not colon or "/" in host:
        return None
    user, at, name = host.rpartition("@")
    return _host(name, user if at else None, text), rest


def _on_host(host: HostAddress, rest: str, text: str) -> Place:
    head, colon, what = rest.partition(":")
    if colon and (scheme := _scheme(head)) is not None:
        return _program(scheme, what, host, text)
    if rest.isascii() and rest.isdecimal():
        if not 0 < int(rest) < 65536:
            raise ConfigError(f"{text!r}: no port has that number. A file of that name is ssh:{host}:{rest}.")
        return PortPlace(host, int(rest))
    return RemotePlace(host, _remote_path(rest, text))


def _remote_path(path: str, text: str) -> str:
    # Quoting keeps the far shell from expanding a tilde, and a relative path starts in the login folder anyway.
    path = path.removeprefix("~/")
    if not path or path == "~":
        raise ConfigError(f"{text!r} lacks the path of the log: write HOST:PATH.")
    if path.startswith("~"):
        raise ConfigError(f"{text!r} uses another user's home: write the whole path instead.")
    if "\0" in path or not path.isprintable():
        raise ConfigError(f"{text!r} holds characters that no path should have: write the path without them.")
    return path


def _host(name: str, user: str | None, text: str) -> HostAddress:
    # A leading dash would be read as an option by programs such as a ProxyCommand.
    if not _HOST.fullmatch(name) or (user is not None and not _USER.fullmatch(user)):
        raise ConfigError(f"{text!r} has no proper host name: write [user@]HOST, an IPv6 address in brackets.")
    return HostAddress(name, user)


def _local(path: str) -> LocalPlace:
    return LocalPlace(path, is_glob=has_magic(path))


def _scheme(word: str) -> Scheme | None:
    return next((scheme for scheme in _FORMS if scheme == word), None)


def _program(scheme: Scheme, what: str, host: HostAddress | None, text: str) -> ProgramPlace:
    if not _NAMES[scheme].fullmatch(what):
        raise ConfigError(
            f"{text!r}: write {_FORMS[scheme]}. A file of that name is {'local' if host is None else f'ssh:{host}'}:"
            f"{scheme}:{what}."
        )
    return ProgramPlace(scheme, what, host)
