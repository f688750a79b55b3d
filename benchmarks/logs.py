"""Logs to measure with: a third decode lines, the rest what a busy server writes beside them.

A variant is the same log as another release, switch or surrounding writes it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

_START = datetime(2026, 2, 26, 16, 40, tzinfo=UTC)
_TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3.12/site-packages/client/loop.py", line 210, in _run',
    "    answer = await self._ask(request)",
    "asyncio.exceptions.TimeoutError",
)


@dataclass(frozen=True, slots=True)
class Variant:
    """What a log has that the usual one has not."""

    tags: tuple[str, ...] = (" TP0",)
    tokens: str = "#token: {tokens}, token usage: {usage:.2f}"
    between: str = ""  # before the graph
    behind: str = ""  # after the queue
    is_speculative: bool = False
    is_busy: bool = False  # with a batch that grows and shrinks
    has_milliseconds: bool = False
    has_stamped_accesses: bool = True
    foreign: str = ""  # lines of others: bars, tracebacks, prints, phases
    foreign_every: int = 50  # rounds of three lines
    line_end: str = "\n"
    carrier: str = ""


VARIANTS = {
    "usual": Variant(),
    "speculative": Variant(is_speculative=True),
    "busy": Variant(is_busy=True, is_speculative=True),
    "no-tags": Variant(tags=("",)),
    "8-ranks": Variant(tags=tuple(f" DP{rank} TP{rank}" for rank in range(8))),
    "8-ranks-busy": Variant(tags=tuple(f" DP{rank} TP{rank}" for rank in range(8)), is_busy=True, is_speculative=True),
    "comma": Variant(behind=", "),
    "occupancy": Variant(behind=", fwd occupancy: {occupancy:.2f}%"),
    "flops": Variant(behind=", est. decode TFLOPS/s (per GPU): {flops:.2f}, est. read BW (GB/s per GPU): {band:.2f}"),
    "two-pools": Variant(
        tokens="#full token: {tokens}, full token usage: {usage:.2f}, #swa token: {half}, swa token usage: 0.02"
    ),
    "mamba": Variant(
        tokens="#full token: {tokens}, full token usage: {usage:.2f}, mamba num: 3, mamba usage: 0.01", behind=", "
    ),
    "disaggregated": Variant(
        between="pre-allocated usage: 0.05, #prealloc-req: 1, #transfer-req: 2, #retracted-req: 0, ",
        is_speculative=True,
    ),
    "plain-accesses": Variant(has_stamped_accesses=False),
    "bars": Variant(foreign="bars"),
    "tracebacks": Variant(foreign="tracebacks"),
    "prints": Variant(foreign="prints", foreign_every=2),
    "phases": Variant(foreign="phases", foreign_every=1, is_speculative=True),
    "colours": Variant(foreign="colours"),
    "milliseconds": Variant(has_milliseconds=True),
    "crlf": Variant(line_end="\r\n"),
    "compose": Variant(carrier="sglang-1  | "),
}


def lines(
    seed: int,
    *,
    seconds_a_line: float = 0.5,
    accept_len: float | None = None,
    variant: Variant = VARIANTS["usual"],
) -> Iterator[str]:
    """Endless lines: decode, access and prefill, request or foreign ones by turns."""
    chance = random.Random(seed)
    at = _START
    if accept_len is not None:
        variant = replace(variant, is_speculative=True)
    number, running = 0, 1
    while True:
        if not number % len(variant.tags):  # the ranks report at the same time
            at += timedelta(seconds=seconds_a_line)
        number += 1
        stamp = at.strftime("%Y-%m-%d %H:%M:%S")
        if variant.has_milliseconds:
            stamp += f".{at.microsecond // 1000 + number % 400:03d}"
        tag = variant.tags[number % len(variant.tags)]
        speed = chance.gauss(88.8, 0.5)
        tokens = 300 + number % 900
        if variant.is_busy:
            if not number % (40 * len(variant.tags)):
                running = min(64, max(1, running + chance.choice((-3, -1, 1, 1, 4))))
            speed *= running
            tokens *= running
        spec = ""
        if variant.is_speculative:
            length = accept_len if accept_len is not None else chance.uniform(2.1, 3.3)
            spec = f"accept len: {length:.2f}, accept rate: {0.7 if accept_len else (length - 1) / 3:.2f}, "
        usage = tokens / 90_000 if variant.is_busy else 0.01
        pools = variant.tokens.format(tokens=tokens, usage=usage, half=tokens // 2)
        tail = variant.behind and variant.behind.format(
            occupancy=min(100.0, chance.gauss(98.5, 1)), flops=chance.uniform(0.5, 12), band=chance.uniform(80, 900)
        )
        yield (
            f"[{stamp}{tag}] Decode batch, #running-req: {running}, {pools}, {spec}{variant.between}"
            f"cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0{tail}"
        )
        access = f'INFO:     10.0.0.7:{40000 + number % 20000} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        yield f"[{stamp}] {access}" if variant.has_stamped_accesses else access
        if number % 25 == 0:
            yield (
                f"[{stamp}{tag}] Prefill batch, #new-seq: 1, #new-token: {chance.randrange(80, 400)}, "
                "#cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, "
                "input throughput (token/s): 61.12, cuda graph: False"
            )
        else:
            yield f"[{stamp}] Finish: obj=GenerateReqInput(rid='{number:032x}', text='please explain', input_ids=None)"
        if variant.foreign and number % variant.foreign_every == 0:
            yield from _foreign(variant.foreign, number, stamp)


def _foreign(kind: str, number: int, stamp: str) -> Iterator[str]:
    if kind == "bars":
        done = number // 50 % 100
        yield "\r".join(f"Fetching files: {each:3d}%|{'#' * (each // 10):<10}| {each}/100" for each in (done, done + 1))
        yield "/usr/lib/python3.12/site-packages/pool/thread.py:56: UserWarning: the pool is full"
        yield "  warnings.warn("
    elif kind == "tracebacks":
        yield from _TRACEBACK
    elif kind == "prints":
        yield f"request {number}: temperature=0.0 max_new_tokens=200"
    elif kind == "phases":
        yield (
            f"specmon-phase v1 cycles=40 running=1 draft_ms=0.{number % 1000:03d} verify_ms=28.700 "
            "draft_extend_ms=0.410 cycle_ms=29.900"
        )
    else:
        yield f'[{stamp}] \x1b[32mINFO\x1b[0m:     10.0.0.7:{number} - "\x1b[1mGET /health HTTP/1.1\x1b[0m" 200'


def write(path: Path, size_bytes: int, seed: int = 1, variant: str = "usual") -> None:
    """Write a log of about this size."""
    written = 0
    own = VARIANTS[variant]
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in lines(seed, variant=own):
            written += file.write(own.carrier + line + own.line_end)
            if written >= size_bytes:
                return
