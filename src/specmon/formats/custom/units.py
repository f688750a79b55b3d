"""Whether the cycle that a format reads can belong to its throughput: R = 1000 * A * B / C, whatever the units."""

from __future__ import annotations

_BEYOND = 20.0  # no set of ranks and no odd window is so far off; a crossed unit is 1000 off
_NEAR_THOUSAND = (300.0, 3000.0)


def crossed_unit(cycle_ms: float, tok_s: float, accept_len: float, running: float) -> str:
    """A sentence when the figures of one decode line cannot be of one unit each; "" when they can, or lack one."""
    if not min(cycle_ms, tok_s, accept_len, running) > 0:
        return ""
    by_speed_ms = 1000.0 * accept_len * running / tok_s
    factor = cycle_ms / by_speed_ms
    if 1 / _BEYOND <= factor <= _BEYOND:
        return ""
    times = max(factor, 1 / factor)
    said = (
        f"cycle_ms is {cycle_ms:.4g} ms where throughput and accept length give {by_speed_ms:.4g} ms, "
        f"{times:,.0f} times {'less' if factor > 1 else 'more'}"
    )
    if not _NEAR_THOUSAND[0] < times < _NEAR_THOUSAND[1]:
        return f"{said}. Check the factors of cycle_ms and tok_s under [unit]."
    unit, mend = ("microseconds", "0.001") if factor > 1 else ("seconds", "1000")
    return f"{said}. If the log prints {unit}, write `cycle_ms = {mend}` under [unit]."
