"""Which addresses and names mean this machine alone."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_own_name(host_header: str) -> bool:
    """Whether a `Host` header names this machine; that of a site whose own name was made to point here does not."""
    try:
        named = urlsplit(f"//{host_header}").hostname
    except ValueError:
        return False
    return is_loopback(named or "")
