"""How signed shares are written."""

from __future__ import annotations

import pytest

from specmon.shares import signed_percent


@pytest.mark.parametrize(
    ("share", "digits", "written"),
    [
        (-0.292, 1, "−29.2 %"),
        (0.005, 1, "+0.5 %"),
        (-0.0004, 1, "0.0 %"),  # what rounds to nothing has no sign
        (0.0004, 1, "0.0 %"),
        (-0.0, 0, "0 %"),
        (-0.004, 0, "0 %"),
        (-0.006, 0, "−1 %"),
    ],
)
def test_a_share_has_a_sign_unless_it_rounds_to_nothing(share: float, digits: int, written: str) -> None:
    assert signed_percent(share, digits) == written
