"""What somebody types to find lines: a regular expression whose time is linear in the text, whatever it says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol, cast

import re2  # type: ignore[import-untyped]  # the wheel has no types; what is used of it is told below

from specmon.monitor.loglines import line_text

LONGEST_TEXT = 16_000  # characters of a line that are shown and searched
_LONGEST_RAW = 64 << 10
_MOST_SPANS = 200


class _Match(Protocol):
    def start(self) -> int: ...

    def end(self) -> int: ...


class _Compiled(Protocol):
    def search(self, text: bytes | str) -> _Match | None: ...

    def finditer(self, text: bytes | str) -> Iterator[_Match]: ...


class FaultyPattern(ValueError):
    """It cannot be used; the text says why."""


class LogPattern:
    """Looks at lines as they are shown. Without a capital letter it finds capitals, too."""

    def __init__(self, source: str) -> None:
        options = re2.Options()
        options.log_errors = False
        options.case_sensitive = any(sign.isupper() for sign in source)
        try:
            self._of_bytes = cast(_Compiled, re2.compile(source.encode(), options))
            self._of_text = cast(_Compiled, re2.compile(source, options))
        except re2.error as error:
            text = error.args[0] if error.args else b""
            told = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            raise FaultyPattern(f"not a pattern: {told}") from None
        except UnicodeEncodeError:
            raise FaultyPattern("not a pattern: it holds half a character") from None

    def matches(self, raw: bytes) -> bool:
        """Whether a line, as it came, is one of those looked for."""
        raw = raw[:_LONGEST_RAW]
        # Few lines match, so the bytes are asked first; what they show is never what a secret's value says.
        if b"\x1b" not in raw and self._of_bytes.search(raw) is None:
            return False
        return self._of_text.search(shown_text(raw)) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it matches; empty matches are none."""
        found = []
        for match in self._of_text.finditer(text):
            if match.end() > match.start():
                found.append((match.start(), match.end()))
                if len(found) == _MOST_SPANS:
                    break
        return found


def shown_text(raw: bytes) -> str:
    """A line as the log's screen shows and searches it."""
    return line_text(raw[:_LONGEST_RAW], LONGEST_TEXT)


@lru_cache(maxsize=8)
def pattern_of(source: str) -> LogPattern:
    """Compiled once for the many rows it is asked of. Raises FaultyPattern."""
    return LogPattern(source)
