"""Of several servers of one role, the user says on the screen which one is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specmon.commands.asking import UserPrompt
from specmon.commands.survey import Candidate, Survey, ago
from specmon.feeds.live import Channel
from specmon.monitor.session import Session


async def choose_sides(prompt: UserPrompt, session: Session, found: Survey, channels: Sequence[Channel]) -> None:
    """Ask about each side that has several servers; without an answer the first of them stays.

    `channels`: of the servers that are followed, in their order.
    """
    from specmon.ui.choose import Candidate as Row  # and with it textual, which there is a screen for

    choice = found.choice
    host_times = {machine.name: discovery.host_time for machine, discovery in found.machines}
    keys = {id(candidate): channel.key for candidate, channel in zip(choice.followed, channels, strict=False)}
    for role, rivals in choice.rivals.items():
        rows = [Row(keys[id(rival)], rival.source, _details(rival, host_times)) for rival in rivals]
        text = f"{len(rivals)} {role} servers run. Which one is to be compared? The others are followed as well."
        if (key := await prompt.choose(f"which {role} server", text, rows)) is not None:
            session.choose_side(key, role)


def _details(candidate: Candidate, host_times: Mapping[str, float | None]) -> str:
    server = candidate.server
    parts = [server.engine, f"port {server.port}", server.model or "model not told"]
    now = host_times.get(candidate.machine.name)
    if now is not None and server.started_at is not None:
        parts.append(f"started {ago(max(0.0, now - server.started_at))}")
    if server.user is not None:
        parts.append(f"of {server.user}")
    return " · ".join(parts)
