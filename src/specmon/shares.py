"""How a share is written, for every screen and report."""

from __future__ import annotations


def signed_percent(share: float, digits: int = 1) -> str:
    """ "−29.2 %", "+0.5 %"; what rounds to nothing has no sign: "0.0 %". `share` is finite, 0.5 for 50 %."""
    size = f"{abs(share) * 100:.{digits}f}"
    sign = "" if not float(size) else "−" if share < 0 else "+"
    return f"{sign}{size} %"


def percent(share: float, digits: int = 0) -> str:
    """ "29 %", "0.5 %". `share` is finite and not below 0, 0.5 for 50 %."""
    return f"{share * 100:.{digits}f} %"
