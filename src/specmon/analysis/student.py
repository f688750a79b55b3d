"""Critical values of Student's t: how much wider an interval is when its own spread was estimated from few figures."""

from __future__ import annotations

import math

# Two-sided 95 %, that is the 0.975 quantile, by degrees of freedom. Source: NIST/SEMATECH e-Handbook of Statistical
# Methods, section 1.3.6.7.2, "Critical values of the Student's t distribution".
_T95 = {
    **dict(enumerate((12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228), start=1)),
    **dict(enumerate((2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086), start=11)),
    **dict(enumerate((2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042), start=21)),
    40: 2.021,
    60: 2.000,
    100: 1.984,
}
NORMAL95 = 1.960  # with infinitely many
_KNOWN = sorted(_T95)


def student95(freedom: float) -> float:
    """The factor for so many degrees of freedom (at least 1; Welch's are no whole number).

    Between two entries ln t is taken as linear in 1 / freedom, which is within 0.5 % of t from 2 on and up to 3 % above
    it between 1 and 2.
    """
    freedom = max(freedom, 1.0)
    below = max(known for known in _KNOWN if known <= freedom)
    above = min((known for known in _KNOWN if known > freedom), default=None)
    left, right = _T95[below], NORMAL95 if above is None else _T95[above]
    end = 0.0 if above is None else 1 / above
    share = (1 / below - 1 / freedom) / (1 / below - end)
    return math.exp((1 - share) * math.log(left) + share * math.log(right))
