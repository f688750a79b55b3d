"""Statistics lines that a terminal has broken at its last column, as in what is copied from a screen or tmux.

>>> [2026-04-05 10:00:00 TP0] Decode batch, #running-req: 8, #token: 4096, token usag
>>> e: 0.02, cuda graph: True, gen throughput (token/s): 200.00, #queue-req: 0

The break may lie inside a figure, so a line is only whole when a comma follows its throughput. A blank at the last
column is often lost; a line that is shorter than the screen is wide has lost one.
"""

from __future__ import annotations

import re
from itertools import islice

# The rest of a broken line: what only SGLang's statistics lines hold, in a line that does not begin like a record.
_REST = re.compile(
    rb"\n(?!\[20|\(|[{\"'])(?![^\n]{0,300}?\b(?:Decode|Prefill) batch)"
    rb"[^\n\[\"'{]{0,300}?(?:#queue-req: \d|\(token/s\): \d)"
)
_SIGN = b"#queue-req"
_HEAD = re.compile(rb"[ \t]{0,8}\[20\d\d-[^\]\n]{6,96}\] (Decode|Prefill) batch\b")
_NEXT = re.compile(rb"[ \t]{0,8}(?:\[20\d\d-|\(|[{\"']|Traceback )|\s*\Z")
_WHOLE_DECODE = re.compile(rb"gen throughput \(token/s\): [\d.]{1,16}(?:,|[ \t]\S)|throughput \(token/s\): nan")
_WHOLE_PREFILL = re.compile(rb"#queue-req: \d{1,9}\b")
_NARROWEST = 40  # columns
_LOOKS = 16  # at rests in a block
_LONGEST = 2000  # bytes of a whole line


def is_wrapped(text: bytes, carried: re.Pattern[bytes]) -> bool:
    """Whether a block, which begins with a line feed, holds the rest of a broken line.

    What is `carried` (it matches behind a line feed) comes from no screen.
    """
    if _SIGN not in text:
        return False
    return any(carried.match(text, rest.start()) is None for rest in islice(_REST.finditer(text), _LOOKS))


class Rejoiner:
    """Puts broken lines together again, given one after another."""

    def __init__(self) -> None:
        self._width = 0  # of the screen, as far as the lines tell
        self._held: list[tuple[bytes, int]] = []  # the pieces of a line that is not whole yet, with their offsets

    @property
    def is_holding(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._held)

    def take(self, line: bytes, offset: int) -> list[tuple[bytes, int, int]]:
        """The lines that `line` completes: text, offset of the first piece, and how many pieces came before its last.

        `line` comes without its line feed.
        """
        done = []
        if self._held and (_NEXT.match(line) or sum(len(piece) for piece, _ in self._held) + len(line) > _LONGEST):
            done += self.give_up()
        if self._held:
            self._held.append((line, offset))
            text = self._joined()
            if _is_whole(text):
                done.append((text, self._held[0][1], len(self._held) - 1))
                self._held = []
        elif _HEAD.match(line) and not _is_whole(line) and len(line) >= _NARROWEST:
            self._held = [(line, offset)]
        else:
            done.append((line, offset, 0))
        if self._held:
            self._width = max(self._width, len(self._held[-1][0]))
        return done

    def give_up(self) -> list[tuple[bytes, int, int]]:
        """What is held, as the lines that it came in."""
        held, self._held = self._held, []
        return [(piece, offset, 0) for piece, offset in held]

    def _joined(self) -> bytes:
        text, last = b"", 0
        for piece, _ in self._held:
            has_lost_blank = bool(text) and (last < self._width or text.endswith((b",", b":")))
            text += b" " + piece.lstrip() if has_lost_blank and not text.endswith(b" ") else piece
            last = len(piece)
        return text


def _is_whole(text: bytes) -> bool:
    head = _HEAD.match(text)
    pattern = _WHOLE_DECODE if head is not None and head[1] == b"Decode" else _WHOLE_PREFILL
    return pattern.search(text) is not None
