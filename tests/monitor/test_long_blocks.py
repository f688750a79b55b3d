"""Long blocks are read and judged on columns; what comes out is what single lines give."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specmon.monitor.session import Session
from specmon.reports import to_json
from specmon.sources.events import Chunk

_SMALL = 8 << 10  # bytes of a chunk whose lines are taken in one by one
_SIZES = (_SMALL, 150 << 10, 300 << 10, 1 << 20)
_START = datetime(2026, 2, 26, 23, 40, tzinfo=UTC)


def _log(seed: int) -> bytes:
    """A busy server's log: what it holds differs from seed to seed, the odder the rarer."""
    chance = random.Random(seed)
    ranks = chance.choice([[""], [" TP0"], [" TP0"], [" DP0 TP0", " DP1 TP1"], [f" DP{n} TP{n}" for n in range(4)]])
    is_speculative = chance.random() < 0.5
    wander = chance.choice([0.0, 0.0, 0.01, 0.3])
    prefills = chance.choice([0.0, 0.02, 0.04, 0.3])
    oddities = chance.choice([0.0, 0.0005, 0.003, 0.02])
    idle = chance.choice([0.0, 0.001, 0.01])
    slow = chance.choice([0.0, 0.002, 0.02])
    noise = chance.choice([0.002, 0.05, 0.2])
    decimals = chance.choice([2, 2, 2, 1, 3])
    at, running, speed = _START, chance.choice([1, 1, 4, 30]), 88.8
    lines: list[str] = []
    if chance.random() < 0.5:
        lines.append(f"[{_stamp(at)}] server_args=ServerArgs(model_path='/m', tp_size=1, decode_log_interval=40)")
    for number in range(1, chance.choice([1500, 3000, 5000])):
        at += timedelta(seconds=chance.choice([0.0, 0.2, 0.45, 0.6]))
        if chance.random() < idle:
            at += timedelta(seconds=chance.choice([2, 5, 600]))
        if chance.random() < wander:
            running = max(0, running + chance.choice([-1, 1, 1, -2, 3]))
        if chance.random() < oddities / 5:
            speed *= chance.choice([0.4, 2.0, 0.7])
        rank = chance.choice(ranks)
        stamp = _stamp(at)
        tok_s = max(0.0, chance.gauss(speed * max(running, 1), noise * speed))
        if chance.random() < slow:
            tok_s *= chance.choice([0.3, 0.5, 0.62, 0.0])
        spec = f"accept len: {chance.uniform(1.5, 3):.2f}, accept rate: 0.70, " if is_speculative else ""
        usage = chance.choice([0.01, 0.5, 0.99])
        lines.append(
            f"[{stamp}{rank}] Decode batch, #running-req: {running}, #token: {300 + 37 * number % 90000}, "
            f"token usage: {usage:.2f}, {spec}cuda graph: {chance.random() < 0.999}, "
            f"gen throughput (token/s): {tok_s:.{decimals}f}, #queue-req: {chance.choice([0, 0, 0, 1, 12])}"
        )
        lines.append(
            f"[{stamp}] INFO:     10.0.0.{number % 3}:{40000 + number % 9000} - "
            f'"{chance.choice(["POST /generate", "POST /v1/chat/completions", "GET /health"])} HTTP/1.1" '
            f"{chance.choice([200, 200, 200, 500])} OK"
        )
        if chance.random() < prefills:
            lines.append(
                f"[{stamp}{chance.choice(ranks)}] Prefill batch, #new-seq: 1, #new-token: {chance.randrange(9, 4000)}, "
                f"#cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, cuda graph: False"
            )
        else:
            lines.append(f"[{stamp}] Finish: obj=GenerateReqInput(rid='{number:032x}', text='{'x' * (number % 40)}')")
        if chance.random() < oddities:
            lines.append(_oddity(chance, stamp, rank, number))
    return "".join(f"{line}\n" for line in lines).encode()


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _oddity(chance: random.Random, stamp: str, rank: str, number: int) -> str:
    figures = "#running-req: 1, #token: 5, token usage: 0.00"
    return chance.choice(
        [
            f"[{stamp}{rank}] Cache flushed successfully!",
            f"[{stamp}{rank}] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5",
            f"[{stamp}{rank}] Decode batch, #running-req: 1, #token: 5",
            f"[{stamp}{rank}] Decode batch, {figures}, gen throughput (token/s): nan, #queue-req: 0",
            f"[{stamp}{rank}] Decode batch. {figures}, gen throughput (token/s): 150.5, #queue-req: 0, ",
            f"[2026-02-31 {stamp[11:]}{rank}] Decode batch, {figures}, gen throughput (token/s): 80.0, #queue-req: 0",
            f"[2026-02-26 25:61:00{rank}] Load weight begin. avail mem=1 GB",
            f"[{stamp}{rank}] Scheduler hit an exception: Traceback (most recent call last):",
            f"[{stamp}] [INFO] wrapped: 100%",
            f"[{stamp}] INFO: Decode batch, {figures}, gen throughput (token/s): 80.0, #queue-req: 0",
            f"[{stamp}] INFO:     Started server process [{number}]",
            f"[{stamp}] The server is fired up and ready to roll!",
            f"[{stamp}] server_args=ServerArgs(model_path='/m', tp_size=1, decode_log_interval=10)",
            f"[2020-01-01 00:00:00{rank}] Decode batch, {figures}, gen throughput (token/s): 80.00, #queue-req: 0",
            "100%|##########| 3/3 [00:00<00:00]",
            "Traceback (most recent call last):",
            f"[{stamp} NEW9] Decode batch, {figures}, gen throughput (token/s): 80.0, #queue-req: 0",
            "",
            "\x1b[32mINFO\x1b[0m: green",
            "^C",
            "specmon-phase v1 cycles=40 running=1 decode_ms=15.700 cycle_ms=15.900",
        ]
    )


def _document(log: bytes, sizes: list[int], *, is_watched: bool = False) -> str:
    session = Session(is_watched=is_watched)
    session.add("a", "/logs/a.log")
    offset = number = 0
    while offset < len(log):
        data = log[offset : offset + sizes[number % len(sizes)]]
        session.feed("a", Chunk(0.0, offset, data))
        offset += len(data)
        number += 1
    session.finish()
    return to_json(session)


@example(306, [200_000])  # outliers at the end of a stretch
@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 10**6), st.lists(st.sampled_from([_SMALL, 150 << 10, 300 << 10, 1 << 20]), min_size=1, max_size=4)
)
def test_long_blocks_give_the_same_document_as_single_lines(seed: int, sizes: list[int]) -> None:
    log = _log(seed)
    assert _document(log, sizes) == _document(log, [_SMALL])


@pytest.mark.parametrize("seed", range(6))
def test_the_screen_shows_the_same_points_after_long_blocks(seed: int) -> None:
    log = _log(seed)
    pictures = []
    for size in (_SMALL, 1 << 20):
        session = Session()
        session.add("a", "/logs/a.log")
        for offset in range(0, len(log), size):
            session.feed("a", Chunk(0.0, offset, log[offset : offset + size]))
        view = session.snapshot(0.0)
        pictures.append(
            [(each.points, each.last_tok_s) for each in (view.baseline, view.speculative, *view.others) if each]
        )
    assert pictures[0] == pictures[1]
