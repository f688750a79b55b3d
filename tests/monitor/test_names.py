"""What servers are called."""

from __future__ import annotations

from specmon.monitor.names import name_servers
from specmon.monitor.server import ServerMonitor


def test_command_is_no_path_and_keeps_its_front() -> None:
    sources = ["gpu1:cmd:cat /var/log/x | grep a/b", "cmd:tail -f /y", "/runs/1/a.log", "/runs/2/a.log"]
    servers = [ServerMonitor(source, source) for source in sources]
    assert name_servers(servers, [None] * 4) == [*sources[:2], "1/a.log", "2/a.log"]
