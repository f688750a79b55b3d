"""What a picture for the screen costs when levels are long: CPU time of taking in new samples and showing them.

    python benchmarks/picture_cost.py [SAMPLES]

Two servers with so many samples each get one sample more before every picture. At four pictures a second a picture of
10 ms takes 4 % of a core. Drawing it is not part of this (`screen_share.py` has that).
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from specmon.monitor.asking import asked_load
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.events import Chunk, Connected

_START = datetime(2026, 2, 26, 16, 40, tzinfo=UTC)
_PICTURES = 200
_A_SECOND = 4
_AT_ONCE = 5000  # lines of the backlog


def lines(*, is_speculative: bool, is_busy: bool) -> Iterator[bytes]:
    """Decode lines without end."""
    chance, number = random.Random(1), 0
    while True:
        at = _START + timedelta(seconds=number // 2)
        running = chance.randint(28, 34) if is_busy else 1
        accept = chance.gauss(2.5, 0.1) if is_speculative else 1.0
        tok_s = 1000 * accept * running / chance.gauss(18 if is_speculative else 11.2, 0.2)
        drafts = f"accept len: {accept:.2f}, accept rate: {accept / 4:.2f}, " if is_speculative else ""
        yield (
            f"[{at:%Y-%m-%d %H:%M:%S} TP0] Decode batch, #running-req: {running}, "
            f"#token: {running * 300 + number % 900},"
            f" token usage: 0.01, {drafts}cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0, \n"
        ).encode()
        number += 1


def measure(samples: int, *, is_busy: bool, asked: str | None = None) -> float:
    """CPU seconds a picture."""
    session = Session(running=asked_load(asked))
    roles = {"base": Role.BASELINE, "spec": Role.SPECULATIVE}
    logs = {key: lines(is_speculative=key == "spec", is_busy=is_busy) for key in roles}
    sizes = dict.fromkeys(roles, 0)

    def feed(key: str, count: int, now: float) -> None:
        data = b"".join(next(logs[key]) for _ in range(count))
        session.feed(key, Chunk(now, sizes[key], data))
        sizes[key] += len(data)

    for key, role in roles.items():
        session.add(key, key, role=role)
        session.feed(key, Connected(0.0, 0))
        for _ in range(0, samples, _AT_ONCE):
            feed(key, min(_AT_ONCE, samples), 0.0)
    session.snapshot(0.0)
    began = time.process_time()
    for number in range(_PICTURES):
        for key in roles:
            feed(key, 1, float(number))
        session.snapshot(float(number))
    return (time.process_time() - began) / _PICTURES


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    for name, is_busy, asked in (
        ("one level", False, None),
        ("seven levels", True, None),
        ("seven levels as a band", True, "28-34"),
    ):
        each = measure(samples, is_busy=is_busy, asked=asked)
        print(f"{samples} samples, {name:<24}{1000 * each:6.2f} ms a picture {_A_SECOND * each:6.1%} of a core")


if __name__ == "__main__":
    main()
