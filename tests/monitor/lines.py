"""Small logs in SGLang's own words, and a way to feed them."""

from __future__ import annotations

from datetime import UTC, datetime

from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.sources.events import Chunk

START = datetime(2026, 2, 26, 16, 40, tzinfo=UTC).timestamp()


def stamp(second: float) -> str:
    """The prefix's time, so many seconds after the start."""
    return datetime.fromtimestamp(START + second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def plain(second: float, body: str, tag: str = "") -> str:
    """Any record."""
    return f"[{stamp(second)}{' ' + tag if tag else ''}] {body}\n"


def decode(
    second: float,
    tok_s: float = 100.0,
    *,
    running: int = 1,
    accept: float | None = None,
    tag: str = "TP0",
    queue: int = 0,
    usage: float = 0.1,
    graph: bool = True,
    context: int = 300,
) -> str:
    """A decode line of 0.5.x."""
    accepted = "" if accept is None else f"accept len: {accept:.2f}, accept rate: 0.50, "
    body = (
        f"Decode batch, #running-req: {running}, #token: {context * running}, token usage: {usage:.2f}, {accepted}"
        f"cuda graph: {graph}, gen throughput (token/s): {tok_s:.2f}, #queue-req: {queue}, "
    )
    return plain(second, body, tag)


def decodes(
    first: float, count: int, tok_s: float = 100.0, *, accept: float | None = None, running: int = 1, tag: str = "TP0"
) -> str:
    """Steady lines, as far apart as their windows are long."""
    window = 40 * running * (accept or 1.0) / tok_s
    return "".join(
        decode(first + step * window, tok_s, accept=accept, running=running, tag=tag) for step in range(count)
    )


def prefill(second: float, tokens: int = 512, tag: str = "TP0") -> str:
    """A prefill line."""
    body = (
        f"Prefill batch, #new-seq: 1, #new-token: {tokens}, #cached-token: 0, token usage: 0.00, "
        "#running-req: 0, #queue-req: 0, "
    )
    return plain(second, body, tag)


def launch(second: float, **flags: object) -> str:
    """A server_args record."""
    given: dict[str, object] = {
        "model_path": "/models/kimi",
        "host": "gpu01",
        "port": 30000,
        "tp_size": 8,
        "speculative_algorithm": None,
    }
    given.update(flags)
    return plain(second, f"server_args=ServerArgs({', '.join(f'{name}={value!r}' for name, value in given.items())})")


def ready(second: float) -> str:
    """The ready marker."""
    return plain(second, "The server is fired up and ready to roll!")


def feed(session: Session, key: str, text: str, *, at: float = START, offset: int = 0) -> None:
    """Hand a text on as one chunk."""
    session.feed(key, Chunk(at, offset, text.encode()))


def session_of(**logs: str) -> Session:
    """A finished session of one server a log."""
    session = Session()
    for key, text in logs.items():
        session.add(key, f"/logs/{key}.log")
        feed(session, key, text)
    session.finish()
    return session


def server_of(text: str) -> ServerMonitor:
    """One server that has read a log to its end."""
    return session_of(only=text).servers[0]
