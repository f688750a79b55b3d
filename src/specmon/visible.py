"""Foreign text that cannot steer a terminal: names, paths and log lines come from machines we do not know."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours and cursor movements


def visible(text: str) -> str:
    """The text with colours dropped and every other control character written out, as ^X or \\u202e."""
    if text.isprintable():
        return text
    return "".join(map(_character, _ESCAPES.sub("", text)))


def _character(character: str) -> str:
    if character.isprintable():
        return character
    if character == "\t":
        return " "
    code = ord(character)
    if code < 32:
        return "^" + chr(code + 64)
    return "^?" if code == 127 else f"\\u{code:04x}"
