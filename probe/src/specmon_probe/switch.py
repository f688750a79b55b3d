"""How the user switches the probe off."""

from __future__ import annotations

import os

_SWITCH = "SPECMON_PROBE"


def is_switched_off() -> bool:
    """Whether the user wants no probe: `SPECMON_PROBE=0`."""
    return os.environ.get(_SWITCH, "1").strip() == "0"
