"""What a command of the user's own prints (`cmd:COMMAND`): started again when it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from specmon.errors import SourceLost, SourceRefused
from specmon.secrets import hide_in_text
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.follow import Pace, backoff_s
from specmon.sources.machine import NoAnswer, StreamingMachine
from specmon.sources.program_commands import Stream
from specmon.sources.program_run import running

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_COMPLAINT_BYTES = 1000  # the shell's "not found"
_LONG_RUN_S = 30.0  # a command that ran so long has not failed at its start


@dataclass(slots=True)
class _Run:
    size: int = 0  # bytes
    status: int | None = None
    is_whole: bool = True


class CommandSource:
    """A command's output, both streams. Nothing of a lost run can be had again, and that is said as a gap."""

    def __init__(
        self, name: str, machine: StreamingMachine, command: str, *, follow: bool, pace: Pace | None = None
    ) -> None:
        self._name = hide_in_text(name)
        self._machine = machine
        self._command = command
        self._follow = follow
        self._pace = pace or Pace()

    @property
    def name(self) -> str:
        """The SOURCE as the user wrote it, without secrets."""
        return self._name

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Run the command once; when it is followed, again and again."""
        clock, failures, has_run = self._pace.clock, 0, False
        while True:
            run, began = _Run(), clock()
            try:
                async with aclosing(self._once(run, is_again=has_run)) as events:
                    async for event in events:
                        yield event
                reason = f"the command has ended with status {run.status}"
            except NoAnswer as silence:
                if not has_run:
                    step = f"Log in as a user who has a POSIX shell on {self._machine.name}."
                    yield Refused(clock(), f"{silence}. {step}")
                    return
                run.is_whole, reason = False, str(silence).removeprefix(f"{self._name}: ")
            except SourceLost as loss:
                run.is_whole, reason = False, str(loss).removeprefix(f"{self._name}: ")
            except SourceRefused as refusal:
                yield Refused(clock(), str(refusal))
                return
            if run.status in (_NOT_FOUND, _NOT_EXECUTABLE) and not has_run and run.size <= _COMPLAINT_BYTES:
                yield Refused(
                    clock(),
                    f"{self._name}: {self._machine.name} cannot run it ({run.status}). "
                    "Check the command's name and PATH there.",
                )
                return
            has_run |= bool(run.size)
            if not run.is_whole and run.size:
                yield Gap(clock(), None, "the connection was lost, and with it what the command wrote from then on")
            if not self._follow and run.is_whole:
                if run.status and not run.size:
                    yield Refused(clock(), f"{self._name}: {reason} and without a word. Try it by hand.")
                elif run.status:
                    yield Gap(clock(), None, f"{reason}, so its output may be cut off")
                    yield CaughtUp(clock())
                else:
                    yield CaughtUp(clock())
                return
            if not self._follow and run.size:
                yield CaughtUp(clock())
                return  # to start it again would give its lines twice
            failures = 1 if clock() - began >= _LONG_RUN_S else failures + 1  # its lines come again each time
            delay_s = backoff_s(failures, self._pace.chance)
            yield Waiting(clock(), failures, delay_s, f"{self._name}: {reason}")
            await self._pace.sleep(delay_s)

    async def _once(self, run: _Run, *, is_again: bool) -> AsyncGenerator[SourceEvent, None]:
        clock = self._pace.clock
        async with running(self._machine, self._name, Stream(("sh", "-c", self._command), locale="")) as output:
            if is_again:
                yield Rotated(clock(), None, "the command was started again")
            yield Connected(clock(), 0)
            while data := await output.read():
                yield Chunk(clock(), run.size, data)
                run.size += len(data)
            run.status = output.status
