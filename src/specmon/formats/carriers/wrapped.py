"""Statistics lines that a terminal has broken at its last column, as in what is copied from a screen or tmux.

>>> [2026-04-05 10:00:00 TP0] Decode batch, #running-req: 8, #token: 4096, token usag
>>> e: 0.02, cuda graph: True, gen throughput (token/s): 200.00, #queue-req: 0

The break may lie inside a figure or between words. A blank at the last column is often lost: a line that is shorter
than the screen is wide has lost one.
"""

from __future__ import annotations

import re

# What the rest of a broken line may not begin with: an engine's next record, or what carries one.
_RECORD = rb"\[|\([\w.-]{1,64} pid=|[{\"'>]|(?:DEBUG|INFO|WARNING|ERROR)[ :]|Traceback |20\d\d-"
_OTHER = re.compile(rb"\n(?!" + _RECORD + rb")(?=[ \t]{0,4}[^\s])")
_REST = re.compile(rb"[ \t]{0,8}(?!" + _RECORD + rb")[\w#:,.%()/ +-]{1,1000}[ \t]{0,300}")
_SIGNS = (b"#running-req", b" throughput: ")
_HEAD = re.compile(
    rb"[ \t]{0,8}(?:\[20\d\d-[^\]\n]{6,96}\] (?:(?P<decode>Decode batch\b)|Prefill batch\b)"
    rb"|(?:\([A-Z][\w.-]{2,40} pid=\d{1,10}\) )?INFO \d\d-\d\d [\d:]{8} [^\s\]]{1,96}\]"
    rb" (?:(?P<engine>(?:Engine \d{1,4}: )?Avg )|(?P<draft>SpecDecoding )))"
)
_WHOLE = {
    "decode": re.compile(rb"throughput \(token/s\): (?:[\d.]{1,16}, .{0,400}?#queue-req: \d|nan)"),
    "engine": re.compile(rb"KV cache usage: [\d.]{1,8}%"),
    "draft": re.compile(
        rb"Drafted: \d{1,12} tokens.{1,400}?Avg Draft acceptance rate: [\d.na]{1,8}%|: Draft acceptance"
    ),
    None: re.compile(rb"#queue-req: \d{1,9}\b"),
}
_KEYS = re.compile(
    rb"(?="
    rb"batch[,.] #|#running-req: |#token: \d|, token usage: |accept len: |accept rate: |graph: \w|, gen throughput "
    rb"|throughput \(token/s\): |#queue-req: |#new-\w{3,5}: |#cached-token: |(?:prompt|generation) throughput: "
    rb"|\d tokens/s, |Running: \d|Waiting: \d|\d reqs, |cache usage: |cache hit rate: |\bKV cache|Prefix cache"
    rb"|SpecDecoding metrics: |Mean acceptance length: |Accepted throughput: |Drafted throughput: |Accepted: \d"
    rb"|Drafted: \d|\d tokens, |Per-position acceptance rate: |Draft acceptance rate: |, Avg |\b(?:cuda|npu|cpu) graph"
    rb"|, #\w|: \d|, \w{3})"
)
_NARROWEST = 40  # columns
_LONGEST_WORD = 16  # columns that are free behind a line that was broken between words
_MOST_PIECES = 12
_LONGEST = 2000  # bytes of a whole line


def is_wrapped(text: bytes, carried: re.Pattern[bytes]) -> bool:
    """Whether a block, which begins with a line feed, holds a statistics line that goes on in the next one.

    What is `carried` (it matches behind a line feed) comes from no screen.
    """
    if not any(sign in text for sign in _SIGNS):
        return False
    for other in _OTHER.finditer(text):
        begin = text.rfind(b"\n", 0, other.start()) + 1
        head = text[begin : min(other.start(), begin + _LONGEST)]
        if len(head) < _NARROWEST or _HEAD.match(head) is None or _is_whole(head):
            continue
        rest = text[other.end() : text.find(b"\n", other.end())]
        if _REST.fullmatch(rest) and carried.match(text, other.start()) is None:
            return True
    return False


class Rejoiner:
    """Puts broken lines together again, given one after another."""

    def __init__(self, text: bytes) -> None:
        """`text` is a block of what is shown on the screen."""
        self._width = max((len(line) for line in text.split(b"\n")), default=0)
        self._is_between_words = False
        self._held: list[tuple[bytes, int]] = []  # the pieces of a line, with their offsets

    def take(self, line: bytes, offset: int) -> list[tuple[bytes, int, int]]:
        """The lines that `line` completes: text, offset of the first piece, and how many pieces came before its last.

        `line` comes without its line feed.
        """
        done = []
        size = sum(len(piece) for piece, _ in self._held) + len(line)
        is_long = size > _LONGEST or len(self._held) >= _MOST_PIECES
        if self._held and (is_long or _REST.fullmatch(line) is None):
            done += self.give_up()
        if not self._held and (_HEAD.match(line) is None or len(line) < _NARROWEST):
            return [*done, (line, offset, 0)]
        if self._held and len(self._held[-1][0].rstrip()) < self._width - 1:
            self._is_between_words = True
        self._held.append((line, offset))
        is_full = len(line.rstrip()) >= self._width - _LONGEST_WORD
        if not is_full and _is_whole(self._joined()):
            done += self.give_up()
        return done

    def give_up(self) -> list[tuple[bytes, int, int]]:
        """What is held: one line when it is whole, else the lines that it came in."""
        text = self._joined()
        held, self._held = self._held, []
        if len(held) > 1 and _is_whole(text):
            return [(text, held[0][1], len(held) - 1)]
        return [(piece, offset, 0) for piece, offset in held]

    def _joined(self) -> bytes:
        text, last = b"", 0
        for piece, _ in self._held:
            piece = piece.rstrip()
            if not text:
                text, last = piece, len(piece)
                continue
            # The keys tell whether a blank was lost, unless the break lies inside a figure.
            close, apart = text[-40:] + piece[:40], text[-40:] + b" " + piece.lstrip()[:40]
            known_close, known_apart = len(_KEYS.findall(close)), len(_KEYS.findall(apart))
            is_likely = last < self._width or self._is_between_words
            is_apart = known_apart > known_close if known_apart != known_close else is_likely
            text += b" " + piece.lstrip() if is_apart else piece
            last = len(piece)
        return text


def _is_whole(text: bytes) -> bool:
    head = _HEAD.match(text)
    return _WHOLE[None if head is None else head.lastgroup].search(text) is not None
