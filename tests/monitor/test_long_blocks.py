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
    # How this release and its surroundings write.
    tokens = chance.choice(
        [
            "#token: {}, token usage: {:.2f}",
            "#token: {}, token usage: {:.2f}",
            "#full token: {}, full token usage: {:.2f}, #swa token: 99, swa token usage: 0.50",
            "#full token: {}, full token usage: {:.2f}, mamba num: 3, mamba usage: 0.01",
        ]
    )
    tail = chance.choice(["", "", ", ", ", fwd occupancy: {:.2f}%", ", est. read BW (GB/s per GPU): {:.1f}"])
    fraction = chance.choice(["", "", ".{:03d}"])
    is_access_stamped = chance.random() < 0.7
    foreign = chance.choice([0.0, 0.0, 0.01, 0.3])
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
        stamp = _stamp(at) + fraction.format(at.microsecond // 1000)
        tok_s = max(0.0, chance.gauss(speed * max(running, 1), noise * speed))
        if chance.random() < slow:
            tok_s *= chance.choice([0.3, 0.5, 0.62, 0.0])
        spec = f"accept len: {chance.uniform(1.5, 3):.2f}, accept rate: 0.70, " if is_speculative else ""
        usage = chance.choice([0.01, 0.5, 0.99])
        lines.append(
            f"[{stamp}{rank}] Decode batch, #running-req: {running}, "
            f"{tokens.format(300 + 37 * number % 90000, usage)}, {spec}cuda graph: {chance.random() < 0.999}, "
            f"gen throughput (token/s): {tok_s:.{decimals}f}, #queue-req: {chance.choice([0, 0, 0, 1, 12])}"
            f"{tail.format(chance.uniform(90, 100))}"
        )
        lines.append(
            f"{f'[{stamp}] ' if is_access_stamped else ''}INFO:     10.0.0.{number % 3}:{40000 + number % 9000} - "
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
        if chance.random() < foreign:
            lines += _foreign(chance, number)
        if chance.random() < oddities:
            lines.append(_oddity(chance, stamp, rank, number))
    return "".join(f"{line}\n" for line in lines).encode()


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _foreign(chance: random.Random, number: int) -> list[str]:
    """Lines that somebody else writes into the same log."""
    return chance.choice(
        [
            [f"request {number}: temperature=0.0 max_new_tokens={chance.randrange(999)}"],
            [f"Fetching: {number % 100}%|##  | {number}/9\rFetching: 99%|### | 9/9", "  warnings.warn("],
            _MAIN_TRACEBACK if number % 50 == 0 else _LOOP_TRACEBACK,
            [f"specmon-phase v1 cycles=40 running=1 draft_ms=0.{number % 1000:03d} cycle_ms=29.900"],
            ["/opt/python/pool.py:56: UserWarning: the pool is full", "", f"retry in {number} s"],
        ]
    )


_MAIN_TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "<frozen runpy>", line 198, in _run_module_as_main',
    '  File "/opt/sglang/srt/server.py", line 10, in launch',
    "RuntimeError: no such device",
]
_LOOP_TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/opt/client/loop.py", line 210, in _run',
    "asyncio.exceptions.TimeoutError",
]


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
            f"[{stamp}] Scheduler hit an exception: Traceback (most recent call last):\n  File x\nValueError: {number}",
            f"[{stamp}] server_args=ServerArgs(model_path='/m', tp_size=1,\n decode_log_interval=10, port={number})",
            "ValueError: of somebody",
            f'[{stamp}] \x1b[32mINFO\x1b[0m:     1.2.3.4:{number} - "\x1b[1mPOST /generate HTTP/1.1\x1b[0m" 200 OK',
            f"[{stamp}] \x1b[32mINFO\x1b[0m:     Started server process [{number}]",
            "name  | carried: yes",
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
