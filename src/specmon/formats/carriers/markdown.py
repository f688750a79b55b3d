"""What is left of an issue or a chat from which a log was copied: quotes, bullets, back-ticks, indents."""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope

# Indentation means something in tracebacks and in the columns of llama.cpp, so it goes only before what a record
# begins with.
_RECORD = rb"(?=\d{1,9}\.\d\d\.\d{3}\.\d{3} |(?:slot|srv) +\w{1,40}: |\[\d\d/\d\d/20)"
START = rb"[ \t]{0,8}(?:> |[-*+] (?=[\[({`\dA-Z])|`(?!`)|[ \t]{1,16}" + _RECORD + rb")"
_PREFIX = re.compile(rb"[ \t]{0,8}(?:(?:> ?){1,8}+|[-*+] (?=[\[({`\dA-Z])|`(?!`))|[ \t]{1,24}" + _RECORD)


def unwrap(line: Envelope) -> bool:
    """Take the signs of a quote or a list off."""
    if (match := _PREFIX.match(line.text)) is None:
        return False
    line.text = line.text[match.end() :]
    if match[0].endswith(b"`"):
        line.text = line.text.rstrip().removesuffix(b"`")
    return True
