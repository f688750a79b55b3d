"""--running: at which load the user wants two servers compared."""

from __future__ import annotations

import re

from specmon.analysis.load import Band
from specmon.errors import ConfigError

_RANGE = re.compile(r"(\d{1,9})(?:\s*(?:-|\.\.)\s*(\d{1,9}))?")


def asked_load(text: str | None) -> int | Band | None:
    """`8` is one level, `28-34` all of a band; None when nothing is asked for."""
    if text is None:
        return None
    match = _RANGE.fullmatch(text.strip())
    if match is None or int(match[1]) < 1:
        raise ConfigError(
            f"--running {text!r} is no number of requests: write 8 for one level, or 28-34 for all from 28 to 34."
        )
    low = int(match[1])
    if match[2] is None:
        return low
    if int(match[2]) < low:
        raise ConfigError(f"--running {text!r}: the second number is the smaller one. Swap the two.")
    return Band(low, int(match[2]))
