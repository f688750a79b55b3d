"""A script for the far side and its words: quoted when they go out, checked when they come back."""

from __future__ import annotations

import re
import shlex

_TREACHEROUS = re.compile(r"\\|!(?! )")


def command_text(script: str, *words: str) -> str:
    """A command line that hands a script and its words to `sh`, whatever shell reads the line."""
    return " ".join(map(_quoted, ["exec", "sh", "-c", script, "specmon", *words]))


def _quoted(word: str) -> str:
    """The word for any login shell: within quotes csh reads `!x` as history, fish two backslashes as one."""
    if not _TREACHEROUS.search(word):
        return shlex.quote(word)
    parts = re.split(r"([!'\\])", word)
    return "".join(f"\\{part}" if part in ("!", "'", "\\") else shlex.quote(part) for part in parts if part)


def operand(path: str) -> str:
    """Keep a path that begins with a dash from being read as an option."""
    return f"./{path}" if path.startswith("-") else path


def behind_greeting(answer: bytes, word: bytes) -> bytes:
    """An answer from the line on that begins with its first word: a login shell may have spoken before."""
    if answer.startswith(word):
        return answer
    _, found, rest = answer.partition(b"\n" + word)
    return word + rest if found else b""


def is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20
