"""What is left of an issue or a chat from which a log was copied: quotes, bullets, back-ticks."""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope

START = rb"[ \t]{0,8}(?:> |[-*+] (?=[\[({`\dA-Z])|`(?!`))"
_PREFIX = re.compile(rb"[ \t]{0,8}(?:(?:> ?){1,8}+|[-*+] (?=[\[({`\dA-Z])|`(?!`))")


def unwrap(line: Envelope) -> bool:
    """Take the signs of a quote or a list off."""
    if (match := _PREFIX.match(line.text)) is None:
        return False
    line.text = line.text[match.end() :]
    if match[0].endswith(b"`"):
        line.text = line.text.rstrip().removesuffix(b"`")
    return True
