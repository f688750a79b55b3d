"""A source of a session, told again from an earlier byte of its log on.

What a line means depends on the lines before it, so earlier lines cannot be put in front of what was already taken in.
Instead, all that was told of a source since it was opened is kept for a while. When more of its past is known, a
session of its own hears the past and then all of that again, in small steps, and takes the source's place at one
stroke.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from specmon.sources.events import Chunk, SourceEvent

if TYPE_CHECKING:
    from specmon.monitor.loglines import LogBuffer
    from specmon.monitor.session import Session

_SLICE_BYTES = 256 << 10  # of a log that is read line by line, a slice takes some 20 ms

Told: TypeAlias = "SourceEvent | Callable[[Session], object]"


class Journal:
    """What a session was told of one source, in order: events, and what else came of its server."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.size_bytes = 0  # of the log

    def note(self, told: Told) -> None:
        """Keep one thing."""
        self.told.append(told)
        if isinstance(told, Chunk):
            self.size_bytes += len(told.data)


def rebuild(
    session: Session, key: str, past: Iterable[tuple[int, bytes]], lines: LogBuffer | None = None
) -> Iterator[None]:
    """Tell a source again, behind `past`: offsets and bytes of its first file, up to its first chunk.

    Its lines go into `lines`, for whoever wants those of the past. Each step is short; between two of them the session
    may be used and fed as always.
    """
    journal = session.journal_of(key)
    assert journal is not None
    twin = session.twin(key, lines)
    done = 0
    is_joined = False
    while done < len(journal.told):  # it grows meanwhile
        told = journal.told[done]
        done += 1
        if not isinstance(told, Chunk):
            if callable(told):
                told(twin)
            else:
                twin.feed(key, told)
            continue
        if not is_joined:
            is_joined = True
            for piece in _whole_lines(past):
                for chunk in _slices(Chunk(told.at, *piece)):
                    twin.feed(key, chunk)
                    yield
        for chunk in _slices(told):
            twin.feed(key, chunk)
            yield
    session.adopt(key, twin)


def _whole_lines(past: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Without the end of a line that began before; a log's own first byte begins one."""
    is_begun = False
    for offset, data in past:
        if not is_begun and offset:
            cut = data.find(b"\n") + 1
            if not cut:
                continue
            offset, data = offset + cut, data[cut:]
        is_begun = True
        yield offset, data


def _slices(chunk: Chunk) -> Iterator[Chunk]:
    for start in range(0, len(chunk.data), _SLICE_BYTES):
        yield Chunk(chunk.at, chunk.offset + start, chunk.data[start : start + _SLICE_BYTES])
