"""Whether the screen may draw with more than ASCII."""

from __future__ import annotations

import pytest

from specmon.commands.show import is_utf8


@pytest.mark.parametrize(
    ("encoding", "environ", "expected"),
    [
        ("utf-8", {"LANG": "C.UTF-8"}, True),
        ("utf-8", {"LANG": "de_DE.UTF-8", "LC_CTYPE": "C"}, False),
        ("utf-8", {}, True),  # no locale at all, as in a container
        ("utf-8", {"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, False),
        ("utf-8", {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # Python itself has written LC_CTYPE
        ("utf-8", {"LANG": "en_US.UTF-8", "LC_CTYPE": "C.UTF-8"}, True),
        ("iso8859-1", {"LANG": "en_US"}, False),
        ("", {"LANG": "C.UTF-8"}, False),
    ],
)
def test_a_terminal_takes_what_its_locale_says(encoding: str, environ: dict[str, str], expected: bool) -> None:
    assert is_utf8(encoding, environ) is expected
