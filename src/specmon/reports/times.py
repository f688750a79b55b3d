"""Log times as reports write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

from specmon.events import FIRST_DATED_S


def stamp(at: float | None, utc_offset_s: int | None = None) -> str | None:
    """ "2025-11-22T11:46:28" on the log's own clock, with a zone only where the log has one.

    None for a time on a clock without a date. Times are counted as if the log's clock were UTC, so its own wall
    clock comes out again.
    """
    if at is None or not math.isfinite(at) or at < FIRST_DATED_S:
        return None
    moment = datetime.fromtimestamp(at, UTC)
    unit = "milliseconds" if moment.microsecond >= 500 else "seconds"
    if utc_offset_s is None:
        return moment.replace(tzinfo=None).isoformat(timespec=unit)
    return moment.replace(tzinfo=timezone(timedelta(seconds=utc_offset_s))).isoformat(timespec=unit)
