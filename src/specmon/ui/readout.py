"""What stands under the cursor of the charts, in one row for each server. Pure."""

from __future__ import annotations

from specmon.monitor.snapshot import Role, ServerView
from specmon.ui import figures
from specmon.ui.row import Piece, piece
from specmon.ui.timeview import sample_under


def readout(view: ServerView, at: float, cell_s: float, role: Role, *, is_short: bool = False) -> list[Piece]:
    """The sample nearest to the cursor: its time and values, and why it is left out if it is."""
    sample = sample_under(view.points, at, cell_s)
    time = piece((figures.clock(at if sample is None else sample.at), "bold $foreground"))
    if sample is None:
        return [time, piece(("no sample here", "$quiet"))]
    pieces = [time, piece((figures.tok_s(sample.tok_s), "$foreground"), ("" if is_short else " tok/s", "$quiet"))]
    if sample.excluded is not None:
        why = sample.excluded.replace("_", " ")
        pieces.append(piece((f"◦ {why}" if is_short else f"left out: {why}", "bold $caution")))
    if role is not Role.BASELINE and sample.accept_len is not None:
        pieces.append(piece(("acc ", "$quiet"), (figures.length(sample.accept_len), "$foreground"), rank=1))
    if sample.cycle_ms is not None:
        pieces.append(piece((f"{figures.ms(sample.cycle_ms)} ms", "$foreground"), rank=2))
    pieces.append(piece(("run ", "$quiet"), (str(sample.running), "$foreground"), rank=3))
    return pieces
