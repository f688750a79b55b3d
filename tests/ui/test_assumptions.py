"""The checklist on the screen: each point with its sign and its whole evidence."""

from __future__ import annotations

import pytest

from specmon.monitor.snapshot import CheckPoint
from specmon.ui.panels.assumptions import assumption_rows

POINTS = (
    CheckPoint("reproduces", "failed", "62.9 tok/s, reference nccl-tuned 88.8 (−29 %): slower, beyond ±5 %"),
    CheckPoint("method", "ok", "the log delivers what the client got"),
    CheckPoint("only_speculation", "unknown", "no \x1b[31mlaunch line"),
    CheckPoint("right_level", "ok", "compared at 1 running"),
)


@pytest.mark.parametrize("width", [24, 40, 120])
def test_every_point_has_its_sign_and_no_row_is_too_wide(width: int) -> None:
    rows = [row.plain for row in assumption_rows(POINTS, width)]
    assert [row[1] for row in rows if row[1:2] in ("✓", "✗", "?")] == ["✗", "✓", "?", "✓"]
    assert all(len(row) <= width for row in rows)
    assert not any("\x1b" in row for row in rows)


def test_evidence_is_whole_where_there_is_room() -> None:
    rows = " ".join(row.plain.strip() for row in assumption_rows(POINTS, 60))
    assert "62.9 tok/s, reference nccl-tuned 88.8 (−29 %): slower, beyond ±5 %" in rows


def test_nothing_is_drawn_without_a_comparison() -> None:
    assert assumption_rows((), 80) == []
