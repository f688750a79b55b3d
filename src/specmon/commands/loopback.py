"""Which addresses and names mean this machine alone."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own_name(host_header: str) -> bool:
    """Whether a `Host` header names this machine; that of a site whose own name was made to point here does not."""
    try:
        named = urlsplit(f"//{host_header}").hostname
    except ValueError:
        return False
    return is_loopback(named or "")
