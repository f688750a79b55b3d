"""--since and --until: moments on the clock of a log, as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from specmon.errors import ConfigError
from specmon.formats.window import TimeWindow
from specmon.monitor.session import Session
from specmon.sources.address import LocalPlace, SourceAddress
from specmon.sources.files import is_pipe

NewestStamp = Callable[[], float | None]

_BACK = re.compile(r"-(\d+(?:\.\d+)?)(s|m|h|d)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def chosen_window(since: str | None, until: str | None, newest_stamp: NewestStamp) -> TimeWindow | None:
    """The window of a command line, None when none is asked for.

    `2026-02-26T16:41:43` is a moment by itself; `16:41:43` and `-10m` count from the newest stamp of the given logs,
    which is asked for only then.
    """
    if since is None and until is None:
        return None
    newest: float | None = None
    if any(text is not None and not _is_absolute(text) for text in (since, until)):
        newest = newest_stamp()
        if newest is None:
            raise ConfigError("--since and --until: the logs tell no time to count from. Write a date and a time.")
    window = TimeWindow(_moment("--since", since, newest), _moment("--until", until, newest))
    if window.since is not None and window.until is not None and window.since > window.until:
        if newest is None:
            raise ConfigError("--since lies behind --until: no sample can be between them. Swap the two.")
        since_at, until_at, newest_at = (
            f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}" for at in (window.since, window.until, newest)
        )
        raise ConfigError(
            f"--since {since_at} lies behind --until {until_at}, counted from the logs' newest stamp {newest_at}: no "
            "sample can be between them. Move one of the two."
        )
    return window


def newest_of_files(given: Sequence[SourceAddress]) -> float | None:
    """The newest stamp of logs that are files of this machine; they are read through for it."""
    from specmon.feeds.timeline import newest_stamp  # and what replays captures

    return max((stamp for path in _files(given) if (stamp := newest_stamp(path)) is not None), default=None)


def _is_absolute(text: str) -> bool:
    return not (_BACK.fullmatch(text) or _CLOCK.fullmatch(text))


def _moment(option: str, text: str | None, newest: float | None) -> float | None:
    if text is None:
        return None
    if newest is not None and (match := _BACK.fullmatch(text)):
        return newest - float(match[1]) * _UNITS[match[2] or "s"]
    if newest is not None and (match := _CLOCK.fullmatch(text)):
        hours, minutes, seconds = int(match[1]), int(match[2]), float(match[3] or 0)
        if hours > 23 or minutes > 59 or seconds >= 60:
            raise ConfigError(f"{option} {text!r} is no time of day: write 16:41:43.")
        midnight = datetime.fromtimestamp(newest, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight + timedelta(hours=hours, minutes=minutes, seconds=seconds)).timestamp()
    try:
        stamp = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            f"{option} {text!r} is no time: write 2026-02-26T16:41:43, 16:41:43, or -10m for the last ten minutes."
        ) from error
    # A log's clock is read as if it were UTC, whatever zone it stands for; so is what is held against it.
    return (stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)).timestamp()


def _files(given: Sequence[SourceAddress]) -> list[Path]:
    from specmon.captures.reader import is_capture, open_capture

    paths: list[Path] = []
    for address in given:
        if not isinstance(address.place, LocalPlace) or is_pipe(address.place.path):
            raise ConfigError(f"{address.name}: its newest time is not known beforehand. Write a date and a time.")
        path = Path(address.place.path)
        paths += [log.path for log in open_capture(path).logs] if is_capture(path) else [path]
    return paths


def require_run(session: Session, run: int | None) -> None:
    """Each log must have the life that was asked for."""
    names = session.names()
    for server in session.servers:
        if run is not None and server.unreadable is None and len(server.lives) < run:
            raise ConfigError(
                f"{names[server.key]} has {_runs(len(server.lives))}, so there is no --run {run}. "
                "Give a smaller number, or leave it out for the last one."
            )


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
