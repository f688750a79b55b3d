"""Throw mutated logs at the reader until something raises, hangs or takes more than linear time.

    python benchmarks/fuzz.py [CPU_SECONDS] [SEED]

Lines of the test logs are cut, glued, repeated, mixed with each other and with noise, and fed in random pieces through
the whole path of `summary`: carriers, detection, dialects, rules, document. With atheris installed
(`pip install atheris`) `--coverage` lets coverage guide the bytes instead:

    python benchmarks/fuzz.py --coverage -max_total_time=3600 FOLDER
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from specmon.monitor.session import Session
from specmon.reports import to_json
from specmon.sources.events import Chunk

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
SLOWEST_S_A_MB = 5.0  # linear time, with room for short inputs and a busy machine
_NOISE = (b"\x00", b"\r", b"\xff\xfe", b"\x1b[31m", b"[", b"]", b"'", b'"', b"{", b"}", b", ", b": ", b"nan", b"=" * 50)


def seeds() -> list[bytes]:
    """Every line of the logs in tests/data, shortest first."""
    found = {line for path in sorted(DATA.rglob("*.log")) for line in path.read_bytes().splitlines(keepends=True)}
    return sorted(found, key=len)


def mutated(lines: list[bytes], chance: random.Random) -> bytes:
    """A log of a few hundred lines, most of them spoilt a little."""
    out = bytearray()
    for _ in range(chance.randrange(1, 200)):
        line = bytearray(lines[int(len(lines) * chance.random() ** 2)])
        for _ in range(chance.randrange(0, 4)):
            place = chance.randrange(0, len(line) + 1)
            match chance.randrange(6):
                case 0:
                    del line[place : place + chance.randrange(1, 40)]
                case 1:
                    line[place:place] = chance.choice(_NOISE) * chance.randrange(1, 8)
                case 2:
                    other = lines[chance.randrange(len(lines))]
                    line[place:] = other[chance.randrange(len(other) + 1) :]
                case 3:
                    piece = line[place : place + 30]
                    line[place:place] = piece * chance.randrange(1, 300)
                case 4:
                    line[place:place] = chance.randbytes(chance.randrange(1, 20))
                case _:
                    line[place : place + 1] = str(chance.randrange(10**12)).encode()
        out += line
    return bytes(out)


def pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The bytes cut anywhere."""
    start = 0
    while start < len(data):
        size = chance.choice((1, 7, 200, 5000, 100_000))
        yield data[start : start + size]
        start += size


def run(data: bytes, chance: random.Random) -> float:
    """Read one log as `summary` does; the CPU time it took."""
    began = time.process_time()
    session, offset = Session(), 0
    session.add("1", "fuzz.log")
    for piece in pieces(data, chance):
        session.feed("1", Chunk(0.0, offset, piece))
        offset += len(piece)
    session.snapshot(0.0)
    session.finish()
    to_json(session)
    return time.process_time() - began


def main() -> None:
    if "--coverage" in sys.argv:
        guided()
        return
    budget_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    lines = seeds()
    longest, logs, size = (0.0, 0), 0, 0
    while time.process_time() < budget_s:
        chance = random.Random(f"{seed}-{logs}")
        data = mutated(lines, chance)
        try:
            took = run(data, chance)
        except Exception:
            print(f"raised on log {logs} of seed {seed} ({len(data):,} bytes)")
            raise
        if took > 0.5:
            took = min(took, run(data, random.Random(seed)))  # the machine may have been busy with something else
        assert took < 0.5 + SLOWEST_S_A_MB * len(data) / 1e6, f"log {logs} of seed {seed}: {took:.2f} s"
        longest = max(longest, (took, len(data)))
        logs, size = logs + 1, size + len(data)
    print(f"{logs:,} logs, {size / 1e6:.0f} MB, seed {seed}: nothing raised")
    print(f"longest: {longest[0]:.2f} s of CPU for {longest[1]:,} bytes")


def guided() -> None:
    """Let atheris choose the bytes."""
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]  # installed by hand for this

    arguments = [argument for argument in sys.argv if argument != "--coverage"]
    atheris.instrument_all()

    def one(data: bytes) -> None:
        run(data, random.Random(len(data)))

    atheris.Setup(arguments, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
