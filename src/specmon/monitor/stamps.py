"""The full stamp at the beginning of a line, for lines of which no dialect says when they were written."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_STAMP = re.compile(rb"\[?(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")


def stamp_of(line: bytes) -> float | None:
    """Seconds on the log's own clock, counted as if it were UTC; None without a stamp, or with none of a real day."""
    if (match := _STAMP.match(line)) is None:
        return None
    try:
        return datetime(*map(int, match.groups()), tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]  # six numbers
    except ValueError:
        return None
