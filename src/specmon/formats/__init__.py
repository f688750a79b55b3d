"""Log dialects: the door that every one of them opens.

A dialect is a factory of parsers. A parser belongs to one stream, is fed blocks of whole lines and answers
each with a `Block`. A line ends at a line feed and nowhere else: a blank stands for the carriage return of a
CRLF and for every NUL; a lone carriage return is still there and separates the states of a progress bar,
behind which a record may follow. The last line of a stream may come without a line feed; it is pending, so
a figure at its very end may be half a figure.

How a stream is cut into blocks never changes what is said in all: a line alone is a block of one, and what
spans lines (a traceback, a launch record broken by a terminal) is kept inside the parser.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from specmon.events import Block


class Parser(Protocol):
    """Reads one stream of one engine."""

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines that begins at byte `start` of its stream. Never raises on input."""
        ...

    def finish(self) -> Block:
        """The stream has ended: say what was held back because a later line could have completed it."""
        ...


class Skimmed(Protocol):
    """A long block of which most lines need no pattern."""

    @property
    def unusual(self) -> bytes:
        """Of the other lines one of each kind at least, one after another."""
        ...


_Skimmed = TypeVar("_Skimmed", bound=Skimmed)


@runtime_checkable
class Skimming(Protocol[_Skimmed]):
    """A parser that can read long blocks faster than line by line."""

    def skim(self, block: bytes) -> _Skimmed | None:
        """Sort the lines of a block without reading them; None when `feed` is the better way. Changes nothing."""
        ...

    def feed_skimmed(self, skimmed: _Skimmed, block: bytes, start: int) -> Block:
        """What `feed` would answer for the block."""
        ...


class Dialect(Protocol):
    """One engine's way of writing logs."""

    @property
    def engine(self) -> str:
        """The name of the engine, as reports print it: "sglang"."""
        ...

    def open(self) -> Parser:
        """A parser for a new stream."""
        ...
