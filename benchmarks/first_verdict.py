"""How long the first verdict takes on a log of 5 GB and on one of 5 MB, here and over SSH.

    python benchmarks/first_verdict.py [GB] [ROUNDS]

Each log begins with a launch line and is filled with lines of an advancing clock. `specmon connect --plain` runs on a
baseline and a speculative log of one size until it has printed a verdict, the sizes by turns. Over SSH it reaches an
sshd of our own on the loopback.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import logs
from tail_latency import Loopback, loopback

_FIRST_DAY = date(2026, 2, 26)
_LINES_A_DAY = 3 * 2 * 3600 * 7  # what is written from 16:40 to midnight, and no more
_LAUNCH = (
    "[2026-02-26 16:39:00] server_args=ServerArgs(model_path='moonshotai/Kimi-K2.5', tp_size=8, host='0.0.0.0', "
    "port=%d, speculative_algorithm=%s, decode_log_interval=40)\n"
)
_SIDES = {"baseline": (None, "None", 30000), "spec": (2.1, "'EAGLE3'", 30001)}


def write(path: Path, size_bytes: int, side: str) -> None:
    """Fill a log with days that differ in their date alone."""
    accept_len, algorithm, port = _SIDES[side]
    day = "".join(f"{line}\n" for line in islice(logs.lines(7, accept_len=accept_len), _LINES_A_DAY)).encode()
    written = 0
    with path.open("wb") as file:
        written += file.write((_LAUNCH % (port, algorithm)).encode())
        number = 0
        while written < size_bytes:
            stamp = f"[{_FIRST_DAY + timedelta(days=number)}".encode()
            text = day.replace(b"[2026-02-26", stamp)
            if (left := size_bytes - written) < len(text):
                text = text[: text.rfind(b"\n", 0, left) + 1]
                if not text:
                    break
            written += file.write(text)
            number += 1


def first_verdict_s(command: Sequence[str]) -> tuple[float, float]:
    """Seconds, and CPU seconds, from the start of the program to its first line with a comparison."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if b"95 % CI" in line:
                taken_s = time.perf_counter() - begun
                process.kill()
                _, _, used = os.wait4(process.pid, 0)
                return taken_s, used.ru_utime + used.ru_stime
        sys.exit("no verdict came")
    finally:
        process.kill()


def print_often(arguments: Sequence[str]) -> None:
    """The program itself, but for a picture every 5 ms instead of every 0.1 s at the least."""
    from specmon import cli
    from specmon.commands import show

    show.print_lines = partial(_print_often, show.print_lines)
    sys.argv = ["specmon", *arguments]
    cli.main()


async def _print_often(printing: Callable[..., Awaitable[None]], feed: object, **options: Any) -> None:
    await printing(feed, **{**options, "interval_s": 0.005})


def commands(folder: Path, server: Loopback, size: str) -> dict[str, list[str]]:
    """How the logs of one size are followed, here and over SSH."""
    program = [sys.executable, __file__, "--often", "connect"]
    screen = ["--plain"]
    paths = {side: folder / f"{side}-{size}.log" for side in _SIDES}
    known = ["--known-hosts", str(server.folder / "known_hosts")]
    here = [word for side, path in paths.items() for word in (f"--{side}", str(path))]
    there = [word for side, path in paths.items() for word in (f"--{side}", f"127.0.0.1:{path}")]
    return {
        "here": [*program, "local:", *here, *screen],
        "over SSH": [*program, "127.0.0.1", *there, *server.options, *known, *screen],
    }


def main() -> None:
    if sys.argv[1:2] == ["--often"]:
        print_often(sys.argv[2:])
        return
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    large = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    sizes = {"5 MB": 5_000_000, f"{large:g} GB": int(large * 1e9)}
    with tempfile.TemporaryDirectory() as name, loopback(Path(name)) as server:
        folder = Path(name)
        for size, size_bytes in sizes.items():
            for side in _SIDES:
                write(folder / f"{side}-{size}.log", size_bytes, side)
        os.sync()
        for way in ("here", "over SSH"):
            taken: dict[str, list[tuple[float, float]]] = {size: [] for size in sizes}
            for _ in range(rounds):
                for size in sizes:
                    taken[size].append(first_verdict_s(commands(folder, server, size)[way]))
            for kind, unit in enumerate(("s", "CPU-s")):
                figures = [sorted(each[kind] for each in taken[size]) for size in sizes]
                small, big = map(statistics.median, figures)
                best = figures[1][0] / figures[0][0]
                print(
                    f"{way:9} 5 MB {small:.2f} {unit}, {large:g} GB {big:.2f} {unit}: ratio {big / small:.2f} "
                    f"(medians of {rounds}; of the best {best:.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
