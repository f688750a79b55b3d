"""Asks programs of a machine, and says in one sentence why one did not answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from specmon.errors import SourceLost, SourceRefused, SpecmonError
from specmon.sources.machine import NoAnswer, StreamingMachine, first_line
from specmon.sources.machine import Stream as OpenStream
from specmon.sources.program_commands import Ask, Frame, Stream

_NOISE_BYTES = 1 << 20  # so much may a login shell say before our command begins
_ASK_LIMIT_S = 30.0


class NotThere(SpecmonError):
    """What is asked about does not exist yet: worth waiting for."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a program says when it cannot do what it is asked, and what that means.

    `refused`: trying again cannot help. `absent`: what is asked about may come. `down`: a daemon does not answer, which
    is refused at the first time and waited for later. `told` may use {name} and {detail}.
    """

    pattern: str  # of what it prints, in any case
    kind: Literal["refused", "absent", "down"]
    told: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A program and the ways in which it fails."""

    program: str
    missing: str  # the next step when it is not installed
    faults: tuple[Fault, ...] = ()

    def error(self, name: str, said: bytes, *, was_reached: bool) -> SpecmonError:
        """The error for what the program printed instead of an answer."""
        text = said.decode("utf-8", "replace").strip()
        detail = first_line(said)
        for fault in self.faults:
            if re.search(fault.pattern, text, re.IGNORECASE):
                sentence = f"{name}: {fault.told.format(detail=detail)}"
                if fault.kind == "absent":
                    return NotThere(sentence)
                is_final = fault.kind == "refused" or not was_reached
                return SourceRefused(sentence) if is_final else SourceLost(sentence)
        if was_reached:
            return SourceLost(f"{name}: {self.program} failed ({detail})")
        return SourceRefused(f"{name}: {self.program} failed ({detail}). Try the same by hand on that machine.")

    def absent(self, name: str, machine: StreamingMachine) -> SourceRefused:
        """The error for a machine that does not have the program."""
        return SourceRefused(f"{name}: {machine.name} has no program {self.program} in its PATH. {self.missing}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, and how it ended."""

    out: bytes
    err: bytes
    status: int | None

    @property
    def said(self) -> bytes:
        """Both streams: programs differ in where they complain."""
        return self.err.strip() or self.out.strip()


async def ask(machine: StreamingMachine, tool: Tool, name: str, words: Sequence[str], *, was_reached: bool) -> Answer:
    """Run a program to its end. SourceRefused when the machine does not have it, or has never answered."""
    command = Ask(tuple(words))
    result = await machine.run(command.text(), timeout_s=_ASK_LIMIT_S)
    try:
        out = command.answer_of(result.stdout)
    except ValueError:
        reason = f"{name}: the shell of {machine.name} gave no usable answer ({result.words})"
        if was_reached:
            raise SourceLost(reason) from None
        raise SourceRefused(f"{reason}. Log in as a user who has a POSIX shell there.") from None
    if out is None:
        raise tool.absent(name, machine)
    return Answer(out, result.stderr, result.status)


class RunningProgram:
    """A program whose output comes in as it is written."""

    def __init__(self, stream: OpenStream, command: Stream, name: str) -> None:
        self._stream = stream
        self._frame = Frame(command.mark)
        self._name = name

    @property
    def is_missing(self) -> bool:
        """The machine does not have the program."""
        return self._frame.is_missing

    @property
    def status(self) -> int | None:
        """With what the program ended; None while it runs."""
        return self._frame.status

    async def read(self) -> bytes:
        """The next bytes, b"" at the program's end. SourceLost when the link or the far shell is gone before."""
        while self._frame.status is None and not self._frame.is_missing:
            if not (data := await self._stream.read()):
                if not self._frame.has_begun:
                    told = first_line(await self._stream.read_error() or self._frame.held)
                    raise NoAnswer(f"{self._name}: the shell gave no usable answer ({told})")
                raise SourceLost(f"{self._name}: the command was ended from outside")
            if found := self._frame.feed(data):
                return found
            if not self._frame.has_begun and self._frame.held_bytes > _NOISE_BYTES:
                raise SourceLost(f"{self._name}: the shell talks without end")
        return b""

    async def read_error(self) -> bytes:
        """What it has said on stderr, when that was kept apart."""
        return await self._stream.read_error()


@asynccontextmanager
async def running(machine: StreamingMachine, name: str, command: Stream) -> AsyncIterator[RunningProgram]:
    """Start a program; leaving ends it."""
    async with machine.stream(command.text()) as stream:
        yield RunningProgram(stream, command, name)
