"""How fast a log is read, as a ratio to a plain loop with one regular expression a line.

    python benchmarks/read_speed.py [MEGABYTES]

The plain loop takes all fields of a decode line with one regular expression and makes a datetime of the stamp; it is
what somebody would write in an afternoon. `summary` is the whole program: every line classified, every rule applied,
the JSON printed.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
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


def plain_loop(path: Path) -> int:
    """Lines read by the plain loop."""
    found = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := _DECODE.search(line):
                fields = match.groups()
                stamp = datetime.strptime(fields[0], "%Y-%m-%d %H:%M:%S")
                numbers = [float(field) if field is not None else None for field in (*fields[2:7], *fields[8:])]
                found.append((stamp, fields[1], fields[7] == "True", numbers))
    return len(found)


def parser_alone(path: Path) -> int:
    """Samples read by framing and parsing, without any rule."""
    framer, parser, samples, offset = LineFramer(), SglangDialect().open(), 0, 0
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            if (framed := framer.feed(data, offset)) is not None:
                samples += len(parser.feed(framed.data, framed.offset).decode)
            offset += len(data)
    return samples


def summary(path: Path) -> None:
    """The whole program in a process of its own."""
    command = [sys.executable, "-m", "specmon", "summary", "--format", "json", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 50.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        logs.write(path, int(megabytes * 1e6))
        began = time.process_time()
        count = plain_loop(path)
        plain = time.process_time() - began
        began = time.process_time()
        samples = parser_alone(path)
        parsed = time.process_time() - began
        assert samples == count, (samples, count)
        summary(path)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole = usage.ru_utime + usage.ru_stime
        print(f"{megabytes:.0f} MB, {count:,} decode lines")
        print(f"plain loop       {plain:6.2f} CPU-s   1.00")
        print(f"framing, parser  {parsed:6.2f} CPU-s   {parsed / plain:.2f}")
        print(f"specmon summary  {whole:6.2f} CPU-s   {whole / plain:.2f}   {usage.ru_maxrss / 1024:.0f} MB at most")


if __name__ == "__main__":
    main()
