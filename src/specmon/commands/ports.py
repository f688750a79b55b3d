"""`HOST:PORT` as a SOURCE: the log of the server that listens there."""

from __future__ import annotations

from specmon.commands.places import Hosts
from specmon.commands.survey import Candidate, look_around
from specmon.errors import SourceRefused
from specmon.sources.address import HostAddress, Place, PortPlace
from specmon.sources.discovery import DiscoveredServer


async def log_of_port(place: PortPlace, hosts: Hosts) -> Place:
    """The log of the server that listens on a port. SourceRefused, with what there is, when it cannot be followed."""
    machine = hosts.at(place.host)
    found = await look_around(machine)
    listening = [Candidate(machine, server) for server in found.servers if server.port == place.port]
    if not listening:
        running = ", ".join(f"{place.host}:{server.port} ({server.engine})" for server in found.servers)
        reason = f"Running there: {running}" if running else (found.reason or "No server is running there").rstrip(".")
        file = f"ssh:{place.host}:{place.port}"
        raise SourceRefused(f"{place}: no server was found on that port. {reason}. A file of that name is {file}.")
    # The newest, while an old one is still going down.
    if (log := next((each.place for each in reversed(listening) if each.place is not None), None)) is not None:
        return log
    server = listening[-1].server
    raise SourceRefused(f"{place}: {server.log_reason.rstrip('.')}. {_other_ways(place.host, server)}")


def _other_ways(host: HostAddress, server: DiscoveredServer) -> str:
    if server.log.by_hand:
        return f"`{server.log.by_hand}` shows it there: {host}:cmd:'{server.log.by_hand}' follows that."
    if server.log.kind in ("pipe", "socket"):
        return (
            f"Nothing tells what reads it. Name that: {host}:docker:NAME, {host}:journal:UNIT, or the file that it "
            f"writes ({host}:PATH)."
        )
    if server.log.kind == "terminal":
        return f"No tmux of this user shows that terminal. Start the server with `2>&1 | tee LOG` and name {host}:LOG."
    return f"Start the server with `> LOG 2>&1` and name {host}:LOG."
