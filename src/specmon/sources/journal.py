"""The journal of a systemd unit (`journal:UNIT`), of the system's or of a user's.

Entries are asked for as JSON, which keeps control characters and long lines, and gives each entry its cursor: a reading
begins with the entry that was handed out last, so that it is known whether it is still there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from specmon.sources.machine import StreamingMachine, first_line
from specmon.sources.program_log import Instance, Taken
from specmon.sources.program_run import Fault, NotThere, Tool, ask

JOURNALCTL = Tool(
    "journalctl",
    "It has no systemd journal: name the log's file instead (HOST:PATH).",
    (
        Fault(
            "insufficient permissions|permission denied|not seeing messages",
            "refused",
            "no permission to read the journal. Let an administrator add this user to the group systemd-journal, "
            "or log in as a user who may (USER@HOST).",
        ),
        Fault(
            "unrecognized option|unknown option",
            "refused",
            "its journalctl is older than systemd 236 and cannot be followed exactly. "
            "Pipe it instead: `ssh HOST journalctl -af -u UNIT | specmon tail -`.",
        ),
    ),
)

_FIELDS = "MESSAGE,_PID,_SYSTEMD_UNIT,_HOSTNAME,SYSLOG_IDENTIFIER,CONTAINER_NAME,UNIT,USER_UNIT"


@dataclass(frozen=True, slots=True)
class JournalLog:
    """The entries of one unit."""

    name: str
    machine: StreamingMachine
    unit: str
    as_json: bool = True  # else as the lines of `journalctl -o short-iso-precise`

    tool = JOURNALCTL
    joins_stderr = False
    reads_by_name = False
    ends_with_its_log = False

    def memory(self) -> CursorMemory:
        return CursorMemory(self.as_json)

    async def look(self, *, was_reached: bool) -> Instance:
        """Whether there is any entry of the unit that may be seen."""
        answer = await ask(self.machine, self.tool, self.name, (*self._words(), "-n", "1"), was_reached=was_reached)
        if answer.status != 0 or (not answer.out.strip() and answer.err.strip()):
            if "no journal files" in (said := first_line(answer.err).lower()) and "permission" not in said:
                raise NotThere(f"{self.name}: no journal is kept there yet")
            raise self.tool.error(self.name, answer.said, was_reached=was_reached)
        if not answer.out.strip():
            raise NotThere(f"{self.name}: the journal has no entry of that unit (as far as this user may see)")
        return Instance("journal")

    def words(self, instance: Instance, resume: str | None, *, follow: bool, lines: int | None) -> tuple[str, ...]:
        words = [*self._words()]
        if resume is not None:
            words += ["--cursor", resume]
        words += ["-n", str(lines) if lines is not None and resume is None else "all"]
        if follow:
            words.append("-f")
        return tuple(words)

    def rest_words(self, old: Instance, new: Instance, resume: str | None) -> tuple[str, ...] | None:
        return None

    def _words(self) -> tuple[str, ...]:
        # -u and --user-unit are joined by "or"; -a keeps control characters and long lines.
        units = ("-u", self.unit, "--user-unit", self.unit)
        return ("journalctl", "--no-pager", "-a", "-o", "json", f"--output-fields={_FIELDS}", *units)


@dataclass(slots=True)
class CursorMemory:
    """The cursor of the entry that was handed out last."""

    as_json: bool = True
    believes_gaps: bool = True
    resume: str | None = None
    _is_awaited: bool = False  # the reading should begin with that entry

    def begin(self, *, is_limited: bool = False) -> None:
        self._is_awaited = self.resume is not None

    def take(self, line: bytes) -> Taken | None:
        """One entry; None for everything else (a note of journalctl)."""
        if (found := _entry(line)) is None:
            return None
        cursor = str(found["__CURSOR"])
        was_awaited, self._is_awaited = self._is_awaited, False
        if was_awaited and cursor == self.resume:
            return Taken("old", b"")
        self.resume = cursor
        return Taken("gap" if was_awaited else "new", line if self.as_json else as_text(found))


def _entry(line: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("__CURSOR"), str) else None


def as_text(entry: dict[str, object]) -> bytes:
    """An entry as `journalctl -a -o short-iso-precise --utc` prints it."""
    micros = str(entry.get("__REALTIME_TIMESTAMP", "0"))
    at = datetime.fromtimestamp(int(micros) // 1_000_000 if micros.isdigit() else 0, UTC)
    fraction = int(micros) % 1_000_000 if micros.isdigit() else 0
    process = f"[{entry['_PID']}]" if isinstance(entry.get("_PID"), str) else ""
    who = entry.get("SYSLOG_IDENTIFIER") or "unknown"
    head = f"{at:%Y-%m-%dT%H:%M:%S}.{fraction:06d}+0000 {entry.get('_HOSTNAME') or 'localhost'} {who}{process}: "
    message = entry.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(part, int) and 0 <= part < 256 for part in message):
        text = bytes(message)
    else:
        text = message.encode("utf-8", "replace") if isinstance(message, str) else b""
    # As journalctl does, the further lines of a message stand below the first one's text.
    return head.encode() + text.rstrip(b"\n").replace(b"\n", b"\n" + b" " * len(head.encode())) + b"\n"
