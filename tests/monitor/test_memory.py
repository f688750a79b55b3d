"""What a live session keeps of the past is bounded."""

from __future__ import annotations

import gc
import random

from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.events import CaughtUp, Chunk, Connected

LINES = 100_000
_PORTION = 5_000


def portion(chance: random.Random, first: int) -> bytes:
    """Lines as a server writes them: a third of them samples, now and then a prefill."""
    lines = []
    for number in range(first, first + _PORTION):
        second = number // 2  # 300,000 lines are 42 hours
        stamp = f"2026-02-{2 + second // 86400:02d} {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        if number % 3 == 0:
            lines.append(
                f"[{stamp} TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, cuda graph: True, "
                f"gen throughput (token/s): {chance.gauss(88, 0.5):.2f}, #queue-req: 0\n"
            )
        elif number % 300 == 1:
            lines.append(
                f"[{stamp} TP0] Prefill batch, #new-seq: 1, #new-token: 80, #cached-token: 0, token usage: 0.00, "
                "#running-req: 0, #queue-req: 0\n"
            )
        else:
            lines.append(f'[{stamp}] INFO:     10.0.0.7:{number} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n')
    return "".join(lines).encode()


def test_memory_stays_where_a_day_of_live_lines_has_brought_it() -> None:
    session, chance = Session(), random.Random(7)
    session.add("1", "a.log", role=Role.BASELINE)
    session.feed("1", Connected(0.0, 0, 0))
    session.feed("1", CaughtUp(0.0))
    end, objects, held = 0, [], []
    for first in range(0, 3 * LINES, _PORTION):
        data = portion(chance, first)
        session.feed("1", Chunk(float(first), end, data))
        end += len(data)
        picture = session.snapshot(float(first))
        assert picture.baseline is not None
        assert len(picture.baseline.points) <= 86_400 * 2 // 3 * 9 // 8 + 1
        assert len(picture.log) <= 1000
        assert len(picture.events) <= 200
        life = session.server("1").life
        level = None if life is None else life.statistics.level_of("TP0", 1)
        assert level is not None
        held.append(len(level.clean))
        if first + _PORTION in (LINES, 3 * LINES):
            gc.collect()
            objects.append(len(gc.get_objects()))
    assert session.server("1").samples == LINES
    assert objects[1] - objects[0] < 2_000
    a_day = 86_400 * 2 // 3
    assert a_day * 0.9 < max(held) < a_day * 8 / 7 + 4096
    assert held[-1] < max(held)
    picture = session.snapshot(1e6)
    assert picture.baseline is not None
    shown = picture.baseline.level
    assert shown is not None
    assert shown.clean > 0.95 * LINES
    assert shown.decode_tok_s is not None
    assert abs(shown.decode_tok_s / 88 - 1) < 0.01
