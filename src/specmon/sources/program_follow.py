"""Read a program's log and stay with it: look, catch up, follow, and again, each time from where the last line was.

There are no byte offsets here. A program is asked twice: first for all there is, which has an end and so tells when we
have caught up, then to follow. Both readings begin a little before the last line that was handed out, and the log's
memory knows the lines that came before. What is lost is a `Gap`, of unknown size.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from specmon.errors import SourceLost, SourceRefused, UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.follow import Pace, backoff_s
from specmon.sources.program_commands import Stream
from specmon.sources.program_log import Instance, LogProgram
from specmon.sources.program_run import NotThere, running

_SILENCE_S = 60.0  # then look whether the log is still the one that the name means, and whether anybody is still there
_ABSENT_DELAYS_S = (0.5, 1.0, 2.0)
_LEAST_LINES = 1000  # asked for at the beginning, even when none is wanted: they tell what comes again
_LINE_BYTES = 64  # lines are shorter than most logs', so that enough of them are asked for
_HELD_BYTES = 1 << 20  # a backfill up to this is cut to the byte, a bigger one is not held back
_SAID_BYTES = 4096
_DOUBTS = 3  # so often a gap is looked into before it is believed


class ProgramSource:
    """A program's log as a source, read to its end or followed."""

    def __init__(
        self,
        program: LogProgram,
        *,
        follow: bool,
        backfill_bytes: int | None = None,
        pace: Pace | None = None,
        silence_s: float = _SILENCE_S,
    ) -> None:
        self._program = program
        self._follow = follow
        self._backfill_bytes = backfill_bytes
        self._pace = pace or Pace()
        self._silence_s = silence_s

    @property
    def name(self) -> str:
        """The SOURCE as the user wrote it."""
        return self._program.name

    def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Yield what the log says; UnreadableInput when it is not there and is not waited for."""
        return _Following(self._program, self._follow, self._backfill_bytes, self._pace, self._silence_s).events()


class _Following:
    """One reading of a source, from its opening on."""

    def __init__(
        self, program: LogProgram, follow: bool, backfill_bytes: int | None, pace: Pace, silence_s: float
    ) -> None:
        self._program = program
        self._follow = follow
        self._backfill_bytes = backfill_bytes  # None: all of it
        self._pace = pace
        self._silence_s = silence_s
        self._known: Instance | None = None
        self._memory = program.memory()
        self._offset = 0
        self._was_reached = False
        self._doubts = 0
        self._is_connected = False
        self._is_drained = False  # the known log was read to its end after its writer had ended
        self._has_ended = False  # the last reading was one to the program's own end
        self._lost_at: float | None = None

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        failures = misses = 0
        while True:
            try:
                async with aclosing(self._round()) as round_:
                    async for event in round_:
                        if isinstance(event, Chunk | CaughtUp):
                            failures = misses = 0
                        yield event
                if not self._follow:
                    return
                delay_s = 0.0
                if not self._known_runs:
                    reason = f"{self._program.name}: {self._known.note if self._known else ''}"
                    misses += 1
                    delay_s = _ABSENT_DELAYS_S[min(misses, len(_ABSENT_DELAYS_S)) - 1]
                    yield self._waiting(misses, delay_s, reason)
            except NotThere as absence:
                if not self._follow:
                    raise UnreadableInput(f"{absence}. Check the name.") from absence
                if not self._was_reached:
                    self._backfill_bytes = None  # what appears now is new from its first line
                misses += 1
                delay_s = _ABSENT_DELAYS_S[min(misses, len(_ABSENT_DELAYS_S)) - 1]
                yield self._waiting(misses, delay_s, str(absence))
            except SourceLost as loss:
                failures += 1
                delay_s = backoff_s(failures, self._pace.chance)
                self._lost_at = self._lost_at or self._pace.clock()
                yield self._waiting(failures, delay_s, str(loss))
            except SourceRefused as refusal:
                yield Refused(self._pace.clock(), str(refusal))
                return
            if delay_s:
                await self._pace.sleep(delay_s)

    @property
    def _known_runs(self) -> bool:
        return self._known is not None and self._known.is_running

    def _waiting(self, attempt: int, delay_s: float, reason: str) -> Waiting:
        self._is_connected = False
        return Waiting(self._pace.clock(), attempt, delay_s, reason)

    async def _round(self) -> AsyncGenerator[SourceEvent, None]:
        """Look, catch up, follow until the program ends or is silent for long."""
        clock, old = self._pace.clock, self._known
        new = await self._program.look(was_reached=self._was_reached)
        self._was_reached = True
        if old is not None and new.key != old.key:
            async with aclosing(self._leave(old, new)) as events:
                async for event in events:
                    yield event
        elif old == new and self._is_drained and not new.is_running:
            return
        self._known, self._is_drained = new, False
        is_behind = not self._is_connected
        if is_behind:
            detail = "" if self._lost_at is None else f"resumed after {max(0.0, clock() - self._lost_at):.0f} s"
            yield Connected(clock(), self._offset, detail=detail, is_behind=True)
            self._is_connected, self._lost_at = True, None
        async with aclosing(self._catch_up(new)) as events:
            async for event in events:
                yield event
        self._is_drained = not new.is_running
        if is_behind:
            yield CaughtUp(clock())
        if self._follow and new.is_running:
            words = self._program.words(new, self._memory.resume, follow=True, lines=None)
            began, count = clock(), 0
            async with aclosing(self._read(words, silence_s=self._silence_s)) as events:
                async for event in events:
                    count += 1
                    yield event
            self._is_drained = self._has_ended and self._program.ends_with_its_log
            if not count and clock() - began < 1.0:
                await self._pace.sleep(0.5)  # it ended at once: not so fast again

    async def _leave(self, old: Instance, new: Instance) -> AsyncGenerator[SourceEvent, None]:
        """The name means another log now: finish the old one first, as far as it can be had."""
        is_whole = self._is_drained
        if not is_whole and (words := self._program.rest_words(old, new, self._memory.resume)) is not None:
            try:
                async with aclosing(self._read(words, is_last=True)) as events:
                    async for event in events:
                        yield event
                is_whole = True
            except NotThere:
                is_whole = False
        at = self._pace.clock()
        if not is_whole:
            yield Gap(at, None, "it was replaced before its log was read to the end")
        yield Rotated(at, None, "replaced by a new one of that name")
        self._memory = self._program.memory()
        self._offset = 0
        self._known = None

    async def _catch_up(self, instance: Instance) -> AsyncGenerator[SourceEvent, None]:
        backfill, self._backfill_bytes = self._backfill_bytes, None
        lines = None if backfill is None else max(_LEAST_LINES, backfill // _LINE_BYTES)
        words = self._program.words(instance, self._memory.resume, follow=False, lines=lines)
        is_last = not instance.is_running or not self._follow
        held: list[SourceEvent] | None = [] if backfill is not None and backfill <= _HELD_BYTES else None
        try:
            async with aclosing(self._read(words, is_last=is_last, is_limited=lines is not None)) as events:
                async for event in events:
                    if held is None:
                        yield event
                    else:
                        held.append(event)
        except BaseException:
            self._backfill_bytes = backfill if held is not None else None
            if held is not None:
                self._memory, self._offset = self._program.memory(), 0
            raise
        if held is not None and backfill is not None:
            data = last_lines((event.data for event in held if isinstance(event, Chunk)), backfill)
            self._offset = 0
            if data:
                yield self._chunk(data)

    async def _read(
        self,
        words: tuple[str, ...],
        *,
        is_last: bool = False,
        is_limited: bool = False,
        silence_s: float | None = None,
    ) -> AsyncGenerator[SourceEvent, None]:
        """One run of the program: the lines that were not handed out before.

        `is_last`: a line without an end is one. A follower that is silent for `silence_s` is left.
        """
        program, memory = self._program, self._memory
        command = Stream(words, joins_stderr=program.joins_stderr)
        pending: list[bytes] = []  # of a line that has no end yet
        said = b""
        memory.begin(is_limited=is_limited)
        self._has_ended = False
        memory.believes_gaps = not program.reads_by_name or self._doubts >= _DOUBTS
        async with running(program.machine, program.name, command) as output:
            while True:
                try:
                    async with asyncio.timeout(silence_s):
                        data = await output.read()
                except TimeoutError:
                    return
                pending.append(data)
                if data and b"\n" not in data:
                    continue
                *lines, rest = _split(b"".join(pending))
                pending = [rest]
                if not data and rest and (is_last or output.status):
                    lines.append(rest)  # else it is still being written, and comes again
                fresh: list[bytes] = []
                for line in lines:
                    if (taken := memory.take(line)) is None:
                        said = (said + line)[-_SAID_BYTES:]
                    elif taken.verdict == "doubt":
                        if fresh:
                            yield self._chunk(b"".join(fresh))
                        self._doubts += 1
                        raise SourceLost(f"{program.name}: another log may have taken its place")
                    elif taken.verdict != "old":
                        self._doubts = 0
                        if taken.verdict == "gap":
                            if fresh:
                                yield self._chunk(b"".join(fresh))
                                fresh = []
                            reason = "the log no longer holds the line that was read last, so lines before are gone"
                            yield Gap(self._pace.clock(), None, reason)
                        fresh.append(taken.data)
                if fresh:
                    yield self._chunk(b"".join(fresh))
                if not data:
                    break
            if output.is_missing:
                raise program.tool.absent(program.name, program.machine)
            if output.status:
                complaint = said if program.joins_stderr else await output.read_error()
                raise program.tool.error(program.name, complaint, was_reached=self._was_reached)
            self._has_ended = True

    def _chunk(self, data: bytes) -> Chunk:
        offset, self._offset = self._offset, self._offset + len(data)
        return Chunk(self._pace.clock(), offset, data)


def _split(data: bytes) -> list[bytes]:
    """Whole lines with their ends, and what stands behind the last of them."""
    *lines, rest = data.split(b"\n")
    return [*(line + b"\n" for line in lines), rest]


def last_lines(pieces: Iterable[bytes], size: int) -> bytes:
    """The whole lines among the last bytes."""
    data = b"".join(pieces)
    if len(data) <= size:
        return data
    kept = data[len(data) - size :] if size else b""
    if data[len(data) - size - 1 : len(data) - size] != b"\n":
        kept = kept.partition(b"\n")[2]
    return kept
