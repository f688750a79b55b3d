"""What the pages of servers are asked with: keys, each for one host or one server, and whose certificates are good.

A key is neither shown nor stored: it is in no text of ours, and `repr` leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specmon.sources.loopback import is_loopback
from specmon.sources.tls import TlsCheck, TlsTrust

THIS_MACHINE = "this machine"  # how `ThisMachine` is called


@dataclass(frozen=True, slots=True)
class PageKey:
    """The Authorization header for the servers of a host, or for the one on a port of it."""

    host: str  # as the user wrote it, without the login name
    port: int | None
    header: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class PageAccess:
    """How pages are asked for."""

    keys: tuple[PageKey, ...] = ()
    trust: TlsTrust = field(default_factory=TlsTrust)
    host_trusts: Mapping[str, TlsTrust] = field(default_factory=dict)  # for some hosts another one

    def header_for(self, machine: str, address: str, port: int) -> str | None:
        """The header for a server, None when no key is meant for it.

        `address` is what the server says it listens on, in a log that anybody may have written into: a key of a host
        goes to that host itself, so only to its loopback, unless the user has written that very address.
        """
        hosts = {address} if not is_loopback(address) else {address, _plain(machine)}
        if is_loopback(address) and machine == THIS_MACHINE:
            hosts.add("localhost")
        fitting = [key for key in self.keys if key.host in hosts and key.port in (None, port)]
        return min(fitting, key=lambda key: key.port is None).header if fitting else None

    def host_for(self, machine: str, address: str) -> str:
        """How to name a server's host with a key."""
        if not is_loopback(address):
            return f"[{address}]" if ":" in address else address
        return "localhost" if machine == THIS_MACHINE else _plain(machine)

    def check_for(self, machine: str, address: str) -> TlsCheck:
        """Whose certificate a server must show: the machine's, or one for the address that is asked."""
        names = [] if machine == THIS_MACHINE else [_plain(machine)]
        local = ["localhost"] if is_loopback(address) else []
        trust = self.host_trusts.get("localhost" if machine == THIS_MACHINE else _plain(machine), self.trust)
        return trust.check(tuple(dict.fromkeys((*names, address, *local))))


def _plain(machine: str) -> str:
    """A host without the login name and without brackets."""
    return machine.rpartition("@")[2].strip("[]")
