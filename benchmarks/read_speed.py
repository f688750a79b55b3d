"""How fast a log is read, as a ratio to a plain loop with one regular expression a line.

    python benchmarks/read_speed.py [MEGABYTES] [--only summary] [--variant NAME]... [--rounds N]

The plain loop takes all fields of a decode line with one regular expression, makes numbers of them and a datetime of
the stamp, as somebody would write it who cares for its speed. `summary` is the whole program in a process of its own:
started, every line classified, every rule applied, the JSON printed. lnav and mawk are run when they are installed.

With variants (`all`, or names out of `logs.VARIANTS`) only the summary of each is measured, as a ratio to the plain
loop over the usual log of the same size: its expression does not know the lines of most others, which makes it quick.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import logs
from specmon.formats.sglang import SglangDialect
from specmon.sources.framing import LineFramer

_DECODE = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: (\w+))?\] Decode batch[.,] #running-req: (\d+), #token: (\d+), "
    r"token usage: ([\d.]+), (?:accept len: ([\d.]+), accept rate: ([\d.]+), )?cuda graph: (\w+), "
    r"gen throughput \(token/s\): ([\d.]+), #queue-req: (\d+)"
)
_ROUNDS = 3  # of each measurement; the best one counts, as whatever disturbs makes it only longer
_AWK = r"""
/Decode batch/ {
    if (match($0, /gen throughput \(token\/s\): [0-9.]+/)) { n++; s += substr($0, RSTART + 26, RLENGTH - 26) }
}
END { print n, s }
"""


def plain_loop(path: Path) -> int:
    """Lines read by the plain loop."""
    found = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := _DECODE.search(line):
                stamp, rank, running, tokens, usage, accept, rate, graph, tok_s, queue = match.groups()
                found.append(
                    (
                        datetime.fromisoformat(stamp),
                        rank,
                        int(running),
                        int(tokens),
                        float(usage),
                        None if accept is None else float(accept),
                        None if rate is None else float(rate),
                        graph == "True",
                        float(tok_s),
                        int(queue),
                    )
                )
    return len(found)


def literal_start(path: Path) -> int:
    """Decode lines alone, by `re.findall` over the bytes from a literal start; no figure is converted."""
    pattern = re.compile(_DECODE.pattern.partition("Decode batch")[2].join(["Decode batch", ""]).encode())
    found = 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            found += len(pattern.findall(data + file.readline()))
    return found


def parser_alone(path: Path) -> int:
    """Samples read by framing and the patterns of the parser, without any rule."""
    framer, parser, samples, offset = LineFramer(), SglangDialect().open(), 0, 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            if (framed := framer.feed(data, offset)) is not None:
                samples += len(parser.feed(framed.data, framed.offset).decode)
            offset += len(data)
    return samples


def child(command: list[str], rounds: int) -> tuple[float, float]:
    """CPU seconds of a process, the best of some rounds, and its largest resident size in MB."""
    best, largest = float("inf"), 0.0
    for _ in range(rounds):
        pid = os.posix_spawnp(
            command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        )
        _, status, usage = os.wait4(pid, 0)
        assert status == 0, command
        best = min(best, usage.ru_utime + usage.ru_stime)
        largest = max(largest, usage.ru_maxrss / 1024)
    return best, largest


def report(name: str, cpu_s: float, plain_s: float, size_mb: float | None = None) -> None:
    size = "" if size_mb is None else f"{size_mb:7.0f} MB"
    print(f"{name:<34}{cpu_s:7.2f} CPU-s {cpu_s / plain_s:6.2f}{size}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("megabytes", type=float, nargs="?", default=50.0)
    options.add_argument("--only", choices=["summary"], help="leave the others out, but for the plain loop")
    options.add_argument(
        "--variant", action="append", choices=["all", *logs.VARIANTS], help="the same log as others write it"
    )
    options.add_argument("--rounds", type=int, default=_ROUNDS, help="how often each is run; the best one counts")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        size_bytes = int(given.megabytes * 1e6)
        logs.write(path, size_bytes)
        # In processes of their own as well, so that the memory of one is not that of another.
        script = [sys.executable, str(Path(__file__).resolve())]
        plain, size = child([*script, "--run", "plain_loop", str(path)], given.rounds)
        rounds = given.rounds
        print(f"{given.megabytes:.0f} MB; CPU time and ratio to the plain loop, best of {rounds}; resident memory")
        report("plain loop", plain, plain, size)
        summary = [sys.executable, "-m", "specmon", "summary", "--format", "json"]
        if given.variant:
            for name in logs.VARIANTS if "all" in given.variant else given.variant:
                logs.write(path, size_bytes, variant=name)
                report(f"specmon summary, {name}", *_with(plain, child([*summary, str(path)], rounds)))
            return
        if given.only is None:
            for label, name in (
                ("re.findall from a literal start", "literal_start"),
                ("framing and patterns, no rules", "parser_alone"),
            ):
                report(label, *_with(plain, child([*script, "--run", name, str(path)], rounds)))
        report("specmon summary", *_with(plain, child([*summary, str(path)], rounds)))
        empty = Path(folder) / "empty.log"
        empty.touch()
        report("specmon summary, empty file", *_with(plain, child([*summary, str(empty)], rounds)))
        if given.only is None and shutil.which("lnav"):
            lnav = ["lnav", "-n", "-c", ";select count(*) from all_logs", str(path)]
            report("lnav -n", *_with(plain, child(lnav, rounds)))
        if given.only is None and shutil.which("mawk"):
            report("mawk, sum of one field", *_with(plain, child(["mawk", _AWK, str(path)], rounds)))


def _with(plain: float, measured: tuple[float, float]) -> tuple[float, float, float]:
    return measured[0], plain, measured[1]


_RUNS = {"plain_loop": plain_loop, "literal_start": literal_start, "parser_alone": parser_alone}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(_RUNS[sys.argv[2]](Path(sys.argv[3])))
    else:
        main()
