"""What is printed in a tmux pane (`tmux:PANE`), by looking at it again and again: nothing is changed there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from specmon.errors import SourceLost, SourceRefused, SpecmonError, UnreadableInput
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting
from specmon.sources.follow import Pace, backoff_s
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_follow import last_lines
from specmon.sources.program_run import Fault, NotThere, Tool, ask
from specmon.sources.tmux_screen import KNOWN_LINES, Screen, ScreenMemory

TMUX = Tool(
    "tmux",
    "Name the log's file instead (HOST:PATH).",
    (
        Fault("permission denied|access not allowed", "refused", "no permission to ask that tmux server ({detail})."),
        Fault("no server running|error connecting", "absent", "no tmux server runs for this user"),
        Fault("can't find|no such|no sessions|no current", "absent", "no such pane"),
    ),
)

_FORMAT = "#{pane_id} #{history_size} #{history_limit} #{pane_height} #{cursor_y} #{alternate_on} #{pane_dead}"
_LOOK_S = 0.5  # between two looks
_ROWS = KNOWN_LINES + 2000  # of the history, in an ordinary look
_ABSENT_S = 2.0


@dataclass(frozen=True, slots=True)
class _Look:
    pane: str
    screen: Screen
    is_alternate: bool  # a full-screen program hides what was printed
    is_dead: bool


async def terminal_of(machine: StreamingMachine, name: str, pane: str) -> str | None:
    """The terminal of a pane (/dev/pts/3). NotThere, SourceLost or SourceRefused when tmux cannot tell."""
    words = ("tmux", "display-message", "-p", "-t", pane, "#{pane_tty}")
    answer = await ask(machine, TMUX, name, words, was_reached=False)
    if answer.status != 0:
        raise TMUX.error(name, answer.said, was_reached=False)
    told = answer.out.strip()
    return told.decode("utf-8", "replace") if told.startswith(b"/dev/") else None


async def panes_by_terminal(machine: StreamingMachine) -> dict[str, str]:
    """By terminal, the pane (%3) of every tmux session of this user; nothing where there is no tmux."""
    try:
        words = ("tmux", "list-panes", "-a", "-F", "#{pane_tty} #{pane_id}")
        answer = await ask(machine, TMUX, machine.name, words, was_reached=True)
    except SpecmonError:
        return {}
    rows = (line.split() for line in answer.out.decode("utf-8", "replace").splitlines())
    return {row[0]: row[1] for row in rows if answer.status == 0 and len(row) == 2}


class TmuxSource:
    """A pane's lines as a source, read once or followed."""

    def __init__(
        self,
        name: str,
        machine: StreamingMachine,
        pane: str,
        *,
        follow: bool,
        backfill_bytes: int | None = None,
        pace: Pace | None = None,
        look_s: float = _LOOK_S,
    ) -> None:
        self._name = name
        self._machine = machine
        self._pane = pane
        self._follow = follow
        self._backfill_bytes = backfill_bytes
        self._pace = pace or Pace()
        self._look_s = look_s

    @property
    def name(self) -> str:
        """The SOURCE as the user wrote it."""
        return self._name

    async def events(self) -> AsyncGenerator[SourceEvent, None]:
        """Look at the pane until the reader goes; once when it is not followed."""
        clock, memory, pane = self._pace.clock, ScreenMemory(), ""
        is_connected = was_reached = False
        offset = attempt = 0
        while True:
            delay_s = self._look_s
            try:
                look = await self._look(_ROWS if pane else None, was_reached)
                was_reached = True
                if look.is_alternate:
                    raise NotThere(f"{self._name}: a full-screen program covers the lines of the pane")
                is_first = not pane
                if pane and look.pane != pane:
                    yield Rotated(clock(), None, "another pane has that name now")
                    memory, offset, is_first = ScreenMemory(), 0, False
                    look = await self._look(None, was_reached)
                pane = look.pane
                is_behind = not is_connected
                if is_behind:
                    yield Connected(clock(), offset, is_behind=True)
                    is_connected = True
                if (fresh := memory.take(look.screen)) is None:
                    look = await self._look(None, was_reached)
                    fresh = memory.take(look.screen)
                    assert fresh is not None, "a whole screen gives an answer"
                if fresh.has_gap:
                    reason = "the pane was cleared, or more was printed than its history holds (history-limit)"
                    yield Gap(clock(), None, reason)
                data = b"".join(line.rstrip(b" ") + b"\n" for line in fresh.lines)
                if is_first and self._backfill_bytes is not None:
                    data = last_lines((data,), self._backfill_bytes)
                if data:
                    attempt = 0
                    yield Chunk(clock(), offset, data)
                    offset += len(data)
                if is_behind:
                    yield CaughtUp(clock())
                if not self._follow:
                    return
                if look.is_dead:
                    raise NotThere(f"{self._name}: the program in the pane has ended")
            except NotThere as absence:
                if not self._follow:
                    raise UnreadableInput(f"{absence}. Check with `tmux list-panes -a`.") from absence
                if not was_reached:
                    self._backfill_bytes = None  # what appears now is new from its first line
                is_connected, delay_s = False, _ABSENT_S
                attempt += 1
                yield Waiting(clock(), attempt, delay_s, str(absence))
            except SourceLost as loss:
                is_connected = False
                attempt += 1
                delay_s = backoff_s(attempt, self._pace.chance)
                yield Waiting(clock(), attempt, delay_s, str(loss))
            except SourceRefused as refusal:
                yield Refused(clock(), str(refusal))
                return
            await self._pace.sleep(delay_s)

    async def _look(self, rows: int | None, was_reached: bool) -> _Look:
        start = "-" if rows is None else f"-{rows}"
        # One request, so that nothing is printed between the two answers.
        words: tuple[str, ...] = ("tmux", "display-message", "-p", "-t", self._pane, _FORMAT, ";")
        words += ("capture-pane", "-p", "-J", "-t", self._pane, "-S", start)
        answer = await ask(self._machine, TMUX, self._name, words, was_reached=was_reached)
        head, _, shown = answer.out.partition(b"\n")
        numbers = head.split()
        if answer.status != 0 or len(numbers) != 7 or not numbers[0].startswith(b"%"):
            if answer.status == 0 and not numbers:
                raise NotThere(f"{self._name}: no such pane")
            raise TMUX.error(self._name, answer.said, was_reached=was_reached)
        history, limit, height, cursor = (int(word) for word in numbers[1:5])
        lines = shown.split(b"\n")[:-1]
        finished = lines[: max(0, len(lines) - (height - cursor))]
        return _Look(
            numbers[0].decode("ascii"),
            # A full history drops a tenth of its rows at once.
            Screen(
                tuple(line.rstrip(b" ") for line in finished),
                history + cursor,
                rows is None or history <= rows,
                history_is_full=history >= limit * 9 // 10,
            ),
            numbers[5] == b"1",
            numbers[6] == b"1",
        )
