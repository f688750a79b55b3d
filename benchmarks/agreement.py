"""How well a log's figures agree with what its clients measured.

    python benchmarks/agreement.py FOLDER

FOLDER holds NAME.log beside NAME.client.json. Two forms of it are read. One lists `phases` with the concurrency
(`conc`), a `window` in seconds since 1970 and the tokens a second that arrived in it (`window_tok_s`). The other is
a plain list of phases with `concurrency`, `start` and `end` (month, day and time) and `tok_s`, the finished requests'
tokens over the phase. Delivered throughput is read over the same window. A log that counts an uptime begins its
first phase with its first request. The first line in a window covers time before it and enters no figure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from specmon.events import FIRST_DATED_S
from specmon.formats.reader import LogReader
from specmon.formats.window import TimeWindow, WindowedReader
from specmon.monitor.session import Session
from specmon.reports.contract import DecodeModel
from specmon.reports.document import document_of
from specmon.shares import signed_percent
from specmon.sources.events import Chunk


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a client, on the clock of the log."""

    requests: int  # at a time
    since: float
    until: float
    tok_s: float


def session_of(log: Path, window: TimeWindow | None = None) -> Session:
    """The log read to its end, as far as it lies in a window."""
    session = Session(reader=LogReader if window is None else lambda: WindowedReader(window), is_watched=False)
    session.add("1", log.name)
    session.feed("1", Chunk(0, 0, log.read_bytes()))
    session.finish()
    return session


def decode_of(log: Path, phase: Phase) -> DecodeModel:
    """The decode figures of the last run that has any inside a phase."""
    document = document_of(session_of(log, TimeWindow(phase.since, phase.until)))
    runs = [run.decode for run in document.servers[0].runs]
    return next((decode for decode in reversed(runs) if decode.samples), runs[-1])


def phases_of(content: Any, log: Path) -> Iterator[Phase]:
    """The phases under load."""
    if isinstance(content, dict):
        for phase in content["phases"]:
            if "window" in phase:
                # Stamps of whole seconds are cut: the second in which the window begins belongs to it.
                since, until = float(int(phase["window"][0])), phase["window"][1]
                yield Phase(phase["conc"], since, until, phase["window_tok_s"])
        return
    server = session_of(log).servers[0]
    stamps = [life.first_sample_at for life in server.lives if life.first_sample_at is not None]
    if not stamps:
        return
    is_uptime = stamps[0] < FIRST_DATED_S / 20
    year = datetime.fromtimestamp(stamps[0], UTC).year
    begins = [_moment(phase["start"], year) for phase in content]
    # The first request is sent when the first phase begins.
    shift = min(_first_launch(log) - begins[0], 0.0) if is_uptime else 0.0
    for phase, begin in zip(content, begins, strict=True):
        if phase["concurrency"]:
            end = _moment(phase["end"], year)
            yield Phase(phase["concurrency"], begin + shift, end + shift, phase["tok_s"])


def _moment(text: str, year: int) -> float:
    return datetime.strptime(f"{year}-{text}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _first_launch(log: Path) -> float:
    """Uptime of the first request of llama.cpp."""
    for line in log.read_text(errors="replace").splitlines():
        if "launch_slot_" in line and "processing task" in line:
            minutes, seconds, millis, micros = line.split(" ", 1)[0].split(".")
            return int(minutes) * 60 + int(seconds) + int(millis) / 1e3 + int(micros) / 1e6
    return 0.0


def main() -> None:
    folder = Path(sys.argv[1])
    print(f"{'log':52} {'B':>2} {'s':>4}  {'client':>8} {'log':>8} {'':>7}  {'accept':>6}  samples")
    for client in sorted(folder.glob("*.client*.json")):
        name = client.name.partition(".client")[0]
        log = folder / f"{name}.log"
        for phase in phases_of(json.loads(client.read_text()), log):
            decode = decode_of(log, phase)
            ours = decode.delivered_tok_s
            off = "" if ours is None else signed_percent(ours / phase.tok_s - 1)
            figures = (
                f"{phase.tok_s:8.1f} {ours or float('nan'):8.1f} {off:>7}  {decode.accept_len or float('nan'):6.3f}"
            )
            print(f"{name:52} {phase.requests:2} {phase.until - phase.since:4.0f}  {figures}  {decode.samples}")


if __name__ == "__main__":
    main()
