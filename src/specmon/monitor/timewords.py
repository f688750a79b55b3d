"""Moments in sentences."""

from __future__ import annotations

import math


def time_of_day(at: float) -> str:
    """ "16:41:43" on the log's clock, which is counted as if it were UTC; `at` is finite."""
    seconds = math.floor(at) % 86400
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
