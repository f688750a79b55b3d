"""From options and the environment to what servers' pages are asked with. No error text shows a key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from specmon.commands.survey import THIS_MACHINE
from specmon.errors import ConfigError
from specmon.settings.names import settings_path
from specmon.sources.address import parse_host
from specmon.sources.page_access import PageAccess, PageKey
from specmon.sources.tls import TlsTrust

if TYPE_CHECKING:
    from specmon.settings.model import Host

ENVIRONMENT = "SPECMON_METRICS_AUTHORIZATION"
_OPTION = "--metrics-header-env"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?")
_DOOR = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:\[\]=]+))(?::(?P<port>[0-9]{1,5}))?:?")


class PageOptions(TypedDict):
    """The options of a command line about pages, as they were given."""

    metrics_header_env: Sequence[str]  # [HOST[:PORT]=]NAME
    metrics_ca: Path | None
    metrics_insecure: bool


def page_access(
    options: PageOptions, *, first_host: str, environ: Mapping[str, str], hosts: Mapping[str, Host] | None = None
) -> PageAccess:
    """How pages are asked for. A key without a host is the first host's. ConfigError for what cannot be meant.

    `hosts`: what the settings say of single hosts, read from the user's file unless given; the options go before it.
    """
    settled = settled_hosts() if hosts is None else hosts
    keys = [_key(text, first_host, environ) for text in options["metrics_header_env"]]
    if value := environ.get(ENVIRONMENT, "").strip():
        keys.append(PageKey(_host(first_host), None, _header(value, ENVIRONMENT)))
    keyed = {key.host for key in keys if key.port is None}
    keys.extend(
        _settled_key(name, host.metrics_header_env, environ)
        for name, host in settled.items()
        # Another host's variable need not be set today.
        if host.metrics_header_env
        and _host(name) not in keyed
        and (_host(name) == _host(first_host) or environ.get(host.metrics_header_env, "").strip())
    )
    trust = TlsTrust(options["metrics_ca"], options["metrics_insecure"])
    trusts = {} if trust.ca_file is not None or trust.is_unchecked else _settled_trusts(settled)
    for each in (trust, *trusts.values()):
        if each.ca_file is not None:
            each.check(("localhost",))  # a file that is none is told now, not in the middle of the work
    return PageAccess(tuple(keys), trust, trusts)


def settled_hosts() -> Mapping[str, Host]:
    """What the user's settings file says of single hosts."""
    if not settings_path().exists():
        return {}
    from specmon.settings.file import read_settings

    file = read_settings()
    return {} if file is None else file.settings.hosts


def _settled_key(name: str, variable: str, environ: Mapping[str, str]) -> PageKey:
    value = environ.get(variable, "").strip()
    if not value:
        raise ConfigError(
            f"settings: hosts.{name}.metrics_header_env: the variable {variable} is not set or empty. "
            "Export it, then try again."
        )
    return PageKey(_host(name), None, _header(value, f"${variable}"))


def _settled_trusts(hosts: Mapping[str, Host]) -> dict[str, TlsTrust]:
    return {
        _host(name): TlsTrust(None if host.metrics_ca is None else Path(host.metrics_ca), bool(host.metrics_insecure))
        for name, host in hosts.items()
        if host.metrics_ca is not None or host.metrics_insecure is not None
    }


def _key(text: str, first_host: str, environ: Mapping[str, str]) -> PageKey:
    # Nothing of the text is repeated: whoever mistakes the option puts the key itself there.
    where, sign, name = text.rpartition("=")
    door = _DOOR.fullmatch(where.strip()) if sign else None
    if _NAME.fullmatch(name.strip()) is None or (sign and door is None):
        raise ConfigError(
            f"{_OPTION}: it takes the name of a variable, as NAME, HOST=NAME or HOST:PORT=NAME, not the key itself. "
            "Put the header value into that variable."
        )
    value = environ.get(name.strip(), "").strip()
    if not value:
        raise ConfigError(f"{_OPTION}: the variable that it names is not set or empty. Export it, then try again.")
    if door is None:
        return PageKey(_host(first_host), None, _header(value, _OPTION))
    port = None if door["port"] is None else int(door["port"])
    return PageKey(_host(door["v6"] or door["host"]), port, _header(value, _OPTION))


def _header(value: str, origin: str) -> str:
    if _HEADER.fullmatch(value) is None:
        raise ConfigError(f"{origin}: the value holds characters that no HTTP header may have. Set it anew.")
    return value


def _host(word: str) -> str:
    """As machines are called: without the login name."""
    if word in (THIS_MACHINE, "local", "localhost"):
        return "localhost"
    plain = word.rpartition("@")[2].strip("[]")
    return plain if ":" in plain else parse_host(word).name
