"""From options and the environment to what servers' pages are asked with. No error text shows a key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from specmon.commands.survey import THIS_MACHINE
from specmon.errors import ConfigError
from specmon.sources.address import parse_host
from specmon.sources.page_access import PageAccess, PageKey
from specmon.sources.tls import TlsTrust

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


def page_access(options: PageOptions, *, first_host: str, environ: Mapping[str, str]) -> PageAccess:
    """How pages are asked for. A key without a host is the first host's. ConfigError for what cannot be meant."""
    keys = [_key(text, first_host, environ) for text in options["metrics_header_env"]]
    if value := environ.get(ENVIRONMENT, "").strip():
        keys.append(PageKey(_host(first_host), None, _header(value, ENVIRONMENT)))
    trust = TlsTrust(options["metrics_ca"], options["metrics_insecure"])
    if trust.ca_file is not None:
        trust.check(("localhost",))  # a file that is none is told now, not in the middle of the work
    return PageAccess(tuple(keys), trust)


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
