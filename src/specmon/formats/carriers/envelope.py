"""A line of a log on its way through the carriers."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.events import MISSING, Clock


@dataclass(frozen=True, slots=True)
class Label:
    """Whose line it is.

    Lines with different `group` come from different servers. `member` tells apart what may be parts of one
    server (the tasks of a job, the actors of a Ray program, the processes of a unit): whether they are is only
    known from what they say. `names` is how people call it, from the shortest name to the one that is unique.
    """

    group: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    member: str = ""

    def inside(self, outer: Label | None) -> Label:
        """This label on a line that another carrier has labelled as well."""
        if outer is None:
            return self
        names = self.names or outer.names
        longest = f"{outer.names[-1]} {names[-1]}" if outer.names and self.names else ""
        member = " ".join(part for part in (outer.member, self.member) if part)
        return Label(outer.group + self.group, (*names, longest) if longest else names, member)


@dataclass(slots=True)
class Envelope:
    """What is left of a line, and what the carriers have told about it so far."""

    text: bytes
    label: Label | None = None
    at: float = MISSING  # when a carrier passed it on, s since 1970 on that carrier's wall clock
    clock: Clock = Clock.NONE  # how much of a date `at` rests on
    utc_offset_s: int | None = None
    process: int = -1
    channel: bytes = b""  # stdout or stderr: their split lines must not be mixed up
    is_partial: bool = False  # the rest of the line comes with the next one of its channel
    is_supervisor: bool = False  # not the server's own words, but those of who started it
    is_header: bool = False  # says whose the lines after it are
    is_hidden: bool = False  # the carrier shows only how long the line was

    def stamp(self, at: float, clock: Clock, utc_offset_s: int | None) -> None:
        """Note a carrier's stamp. The innermost one counts: it was nearest to the server."""
        if at == at and (clock is Clock.DATED or self.clock is not Clock.DATED):
            self.at, self.clock, self.utc_offset_s = at, clock, utc_offset_s

    def name(self, label: Label) -> None:
        """Note a label inside the one that is known."""
        self.label = label.inside(self.label)
