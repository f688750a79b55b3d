"""Other people's dialects, kept from stopping the program: what goes wrong in one is told, and the log reads on."""

from __future__ import annotations

import re

from specmon.events import Block, DialectFailed
from specmon.formats import Dialect, Parser


class UnusableDialect(ValueError):
    """What a third party brings is no dialect; the text says what it lacks."""


class GuardedDialect:
    """A third party's dialect."""

    def __init__(self, inner: Dialect, engine: str, signature: bytes) -> None:
        self._inner = inner
        self.engine = engine
        self.signature = signature

    def open(self) -> Parser:
        """A parser for a new stream."""
        return _GuardedParser(self._inner, self.engine)


class _GuardedParser:
    """Asks the parser inside until it fails for the first time."""

    def __init__(self, dialect: Dialect, engine: str) -> None:
        self._engine = engine
        self._parser: Parser | None = None
        self._reason: str | None = None
        self._end = 0
        try:
            self._parser = dialect.open()
        except Exception as error:  # whatever foreign code raises
            self._reason = _named(error)

    def feed(self, block: bytes, start: int) -> Block:
        """What the parser inside says; only counted lines once it has failed."""
        self._end = start + len(block)
        if self._parser is not None:
            try:
                return _checked(self._parser.feed(block, start))
            except Exception as error:  # whatever foreign code raises
                self._parser, self._reason = None, _named(error)
        return self._silent(start, block.count(b"\n"))

    def finish(self) -> Block:
        """What the parser inside had held back."""
        if self._parser is not None:
            try:
                return _checked(self._parser.finish())
            except Exception as error:  # whatever foreign code raises
                self._parser, self._reason = None, _named(error)
        return self._silent(self._end, 0)

    def _silent(self, start: int, lines: int) -> Block:
        reason, self._reason = self._reason, None
        events = () if reason is None else (DialectFailed(start, engine=self._engine, detail=reason),)
        return Block(start, self._end, lines, recognised=1 if events else 0, events=events)


def guarded(found: object) -> GuardedDialect:
    """What an entry point gave as a dialect: itself, or what it makes when it is called without arguments."""
    made = found() if (callable(found) and not hasattr(found, "open")) or isinstance(found, type) else found
    engine, signature = getattr(made, "engine", None), getattr(made, "signature", None)
    if not (isinstance(engine, str) and engine.strip()):
        raise UnusableDialect("it has no `engine`, the name that reports print")
    if not callable(getattr(made, "open", None)):
        raise UnusableDialect("it has no `open()`, which gives a parser")
    if not (isinstance(signature, bytes) and signature.startswith((b"\n", rb"\n"))):
        raise UnusableDialect("it has no `signature`: a pattern over bytes that begins with a line feed")
    try:
        re.compile(signature)
    except re.error as error:
        raise UnusableDialect(f"its `signature` is no regular expression: {error}") from error
    return GuardedDialect(_as_dialect(made), engine, signature)


def _as_dialect(made: object) -> Dialect:
    dialect: Dialect = made  # type: ignore[assignment]  # its parts have been looked at
    return dialect


def _checked(block: object) -> Block:
    if not isinstance(block, Block):
        raise TypeError(f"a parser gave {type(block).__name__} and not a Block")
    return block


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
