"""Looks at a server's metrics page that were kept in files: named with --metrics, or lying beside the log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from specmon.commands.clients import labelled
from specmon.errors import ConfigError, UnreadableInput
from specmon.formats.metricspage import LONGEST_LINE, read_series
from specmon.formats.window import TimeWindow
from specmon.monitor.axis import zone_between
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Chunk
from specmon.sources.files import read_whole

Page = Scrape | PageRefused

# A file with many looks; without one, a look before a test and one after it. Under another name `--metrics` says so.
_SERIES = ".metrics"
_PAIR = (".metrics-before.txt", ".metrics-after.txt")
_PACKED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class GivenMetrics:
    """A file of looks and the server that the command line puts it to."""

    path: Path
    label: str | None = None


def read_metrics(texts: Sequence[str]) -> list[GivenMetrics]:
    """The files of a command line, FILE or SERVER=FILE each; ConfigError for one that cannot be opened."""
    given = []
    for text in texts:
        label, sign, name = text.partition("=")
        one = GivenMetrics(Path(text)) if not sign or Path(text).exists() else GivenMetrics(Path(name), label.strip())
        try:
            with one.path.open("rb"):
                pass
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise ConfigError(f"metrics {one.path}: {reason}. Check the path.") from error
        given.append(one)
    return given


def metrics_by_server(session: Session, given: Sequence[GivenMetrics], logs: dict[str, Path]) -> dict[str, list[Path]]:
    """The files of each server by its key: those of the command line, else those that lie beside its log.

    `logs` holds the log of each key that is a file of this machine.
    """
    found: dict[str, list[Path]] = {}
    for one in given:
        servers = list(session.servers) if one.label is None else labelled(session, one.label)
        if len(servers) != 1:
            names = ", ".join(session.names().values())
            said = "it does not say of which server it is" if one.label is None else _which(one.label, len(servers))
            how = "Write --metrics baseline=FILE, spec=FILE or NAME=FILE"
            raise ConfigError(f"metrics {one.path}: {said}. {how} with one of {names}.")
        found.setdefault(servers[0].key, []).append(one.path)
    for key, log in logs.items():
        if key not in found and (beside := metrics_beside(log)):
            found[key] = beside
    return found


def metrics_beside(log: Path) -> list[Path]:
    """The series beside a log, or the pages before and after it: `x.metrics` for `x.log`."""
    if not (name := log.name):
        return []
    for ending in (*_PACKED, ".log"):
        name = name.removesuffix(ending)
    for packing in ("", *_PACKED):
        if (series := log.with_name(f"{name}{_SERIES}{packing}")).is_file():
            return [series]
    pair = [log.with_name(f"{name}{ending}") for ending in _PAIR]
    return pair if all(path.is_file() for path in pair) else []


def pages_of(paths: Iterable[Path]) -> Iterator[Page]:
    """The pages of files, one file after the other."""
    for path in paths:
        try:
            yield from read_series(_lines_of(path))
        except (OSError, UnreadableInput):  # a file beside a log was not asked for, so its fault ends nothing
            yield PageRefused(None, "file")


def _lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, packed or not, with their ends; one that is longer than any metric comes in pieces."""
    if path.suffix not in _PACKED:
        with path.open("rb") as file:
            yield from iter(lambda: file.readline(LONGEST_LINE), b"")
        return
    rest = b""
    for event in read_whole(str(path)):
        if isinstance(event, Chunk):
            *whole, rest = (rest + event.data).split(b"\n")
            for line in whole:
                yield from _pieces(line + b"\n")
            if len(rest) > LONGEST_LINE:
                yield from _pieces(rest)
                rest = b""
    if rest:
        yield rest


def _pieces(line: bytes) -> Iterator[bytes]:
    return (line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE))


def attach_metrics(session: Session, given: Sequence[GivenMetrics], *, window: TimeWindow | None) -> None:
    """Hold each series against the log of its server, once all logs are read."""
    logs = {
        server.key: Path(server.source) for server in session.servers if not server.is_split and server.source != "-"
    }
    for key, paths in metrics_by_server(session, given, logs).items():
        server = session.server(key)
        pages: Iterable[Page] = pages_of(paths)
        if window is not None:
            held = list(pages)
            shift = clock_shift(held, *_span(server))
            pages = [page for page in held if page.at is not None and window.holds(page.at + shift)]
        server.look_back(pages)


def clock_shift(pages: Sequence[Page], first: float | None, last: float | None) -> float:
    """What to add to the times of looks (UTC) so that they are on the clock of a log, whose zone nobody wrote down.

    0 when the two overlap as they are; else whole quarters of an hour, as zones are.
    """
    times = [page.at for page in pages if page.at is not None]
    if first is None or last is None or not times or (times[0] <= last and first <= times[-1]):
        return 0.0
    return zone_between(first, times[0])


def _span(server: ServerMonitor) -> tuple[float | None, float | None]:
    first = [at for life in server.lives if (at := life.first_sample_at) is not None and math.isfinite(at)]
    last = [at for life in server.lives if (at := life.last_sample_at) is not None and math.isfinite(at)]
    return min(first, default=None), max(last, default=None)


def _which(label: str, count: int) -> str:
    return f"{label!r} is {'more than one' if count else 'no'} server"
