"""What the follower of a program needs to know of it: which log a name means, how to read it, which lines are new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from specmon.sources.machine import StreamingMachine
from specmon.sources.program_run import Tool


@dataclass(frozen=True, slots=True)
class Instance:
    """What a name means at this moment: a container, a pod's container, a unit's journal."""

    key: str  # one log, from its first line to its last
    is_running: bool = True
    note: str = ""  # why no line will come, when it does not run: "it has ended with status 137"
    start: str = ""  # changes when the same log gets another life
    previous: str = ""  # key of the one before, whose log can still be had
    node: str = ""  # the machine that it runs on, where a cluster tells


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of one line."""

    # Handed out before; new; new, and lines before it are gone; as if so, but it may as well be another log's line.
    verdict: Literal["old", "new", "gap", "doubt"]
    data: bytes


class Memory(Protocol):
    """Knows the lines of one log that were handed out last."""

    believes_gaps: bool  # else a line behind a gap is only doubted, and not handed out

    @property
    def resume(self) -> str | None:
        """From where the next reading is to begin, as the program takes it; None: from the first line."""
        ...

    def begin(self, *, is_limited: bool = False) -> None:
        """A new reading begins there; a limited one with the last lines only."""
        ...

    def take(self, line: bytes) -> Taken | None:
        """One line of a reading. None: it is the program's own word."""
        ...


class LogProgram(Protocol):
    """A program that keeps logs."""

    @property
    def name(self) -> str:
        """The SOURCE as the user wrote it."""
        ...

    @property
    def machine(self) -> StreamingMachine:
        """Where the program runs."""
        ...

    @property
    def tool(self) -> Tool:
        """What the program is, and how it fails."""
        ...

    @property
    def joins_stderr(self) -> bool:
        """Whether the log itself comes on both streams."""
        ...

    @property
    def ends_with_its_log(self) -> bool:
        """Whether a follower that ends without a complaint has read the last line of the log."""
        ...

    @property
    def reads_by_name(self) -> bool:
        """Whether a reading may come upon another log than the look before it."""
        ...

    def memory(self) -> Memory:
        """For a log that is read from its beginning."""
        ...

    async def look(self, *, was_reached: bool) -> Instance:
        """What the name means now. NotThere, SourceLost or SourceRefused when that cannot be said."""
        ...

    def words(self, instance: Instance, resume: str | None, *, follow: bool, lines: int | None) -> tuple[str, ...]:
        """The command line that reads a log from somewhere on; `lines`: only the last ones."""
        ...

    def rest_words(self, old: Instance, new: Instance, resume: str | None) -> tuple[str, ...] | None:
        """The command line that reads the rest of a log that another one has followed; None: it cannot be had."""
        ...
