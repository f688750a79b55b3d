"""Logs to measure with: a third decode lines, the rest what a busy server writes beside them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

_START = datetime(2026, 2, 26, 16, 40, tzinfo=UTC)


def lines(seed: int, *, seconds_a_line: float = 0.5, accept_len: float | None = None) -> Iterator[str]:
    """Endless lines: decode, access and prefill, request or foreign ones by turns."""
    chance = random.Random(seed)
    at = _START
    spec = "" if accept_len is None else f"accept len: {accept_len:.2f}, accept rate: 0.70, "
    number = 0
    while True:
        at += timedelta(seconds=seconds_a_line)
        number += 1
        stamp = at.strftime("%Y-%m-%d %H:%M:%S")
        speed = chance.gauss(88.8, 0.5)
        yield (
            f"[{stamp} TP0] Decode batch, #running-req: 1, #token: {300 + number % 900}, token usage: 0.01, {spec}"
            f"cuda graph: True, gen throughput (token/s): {speed:.2f}, #queue-req: 0"
        )
        yield f'[{stamp}] INFO:     10.0.0.7:{40000 + number % 20000} - "POST /v1/chat/completions HTTP/1.1" 200 OK'
        if number % 25 == 0:
            yield (
                f"[{stamp} TP0] Prefill batch, #new-seq: 1, #new-token: {chance.randrange(80, 400)}, #cached-token: 0, "
                "token usage: 0.00, #running-req: 0, #queue-req: 0, input throughput (token/s): 61.12, "
                "cuda graph: False"
            )
        else:
            yield f"[{stamp}] Finish: obj=GenerateReqInput(rid='{number:032x}', text='please explain', input_ids=None)"


def write(path: Path, size_bytes: int, seed: int = 1) -> None:
    """Write a log of about this size."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines(seed):
            written += file.write(line + "\n")
            if written >= size_bytes:
                return
