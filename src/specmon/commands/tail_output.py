"""What `specmon tail` prints: the bytes of logs, line by line where they share a place, and sentences beside them."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.monitor.names import is_command
from specmon.sources.events import Chunk, Connected, Gap, Refused, Rotated, SourceEvent, Waiting

_CARETS = {code: f"^{chr(code + 64)}" for code in range(32) if chr(code) not in "\t\n"} | {127: "^?"}


class LineOutput:
    """The bytes to print for what one source says.

    Bytes are passed on as they come. With a prefix, or for a terminal, a line is held until it is whole, so that no two
    sources share one. A line without an end is ended where another file follows.
    """

    def __init__(self, *, prefix: str = "", is_terminal: bool = False) -> None:
        self._prefix = prefix.encode()
        self._is_terminal = is_terminal
        self._held: list[bytes] = []  # of a line that has no end yet: pieces, since it may be very long
        self._is_midway = False  # the last line that was passed on has no end yet

    def chunk(self, data: bytes) -> bytes:
        """What to print now that these bytes have come."""
        if not self._prefix and not self._is_terminal:
            self._is_midway = not data.endswith(b"\n")
            return data
        end = data.rfind(b"\n") + 1
        if not end:
            self._held.append(data)
            return b""
        whole = b"".join((*self._held, data[:end]))
        self._held = [data[end:]] if end < len(data) else []
        return self._shown(whole)

    def interrupt(self) -> bytes:
        """What to print when the next bytes do not continue the last line."""
        rest = self.finish()
        is_open = bool(rest) or self._take_midway()
        return rest + b"\n" if is_open and not rest.endswith(b"\n") else rest

    def finish(self) -> bytes:
        """The last line, which has no end; where others may follow it, it gets one."""
        rest, self._held = b"".join(self._held), []
        return self._shown(rest) + (b"\n" if self._prefix else b"") if rest else b""

    def _take_midway(self) -> bool:
        was, self._is_midway = self._is_midway, False
        return was

    def _shown(self, lines: bytes) -> bytes:
        if self._is_terminal:
            lines = for_terminal(lines)
        if not self._prefix:
            return lines
        end = b"\n" if lines.endswith(b"\n") else b""
        return self._prefix + lines.removesuffix(b"\n").replace(b"\n", b"\n" + self._prefix) + end


def for_terminal(lines: bytes) -> bytes:
    """Lines that cannot steer a terminal: control characters are written out, as ^[."""
    text = lines.decode("utf-8", "replace").replace("\r\n", "\n").translate(_CARETS)
    if not all(line.isprintable() for line in text.replace("\t", "").split("\n")):
        text = "".join(
            character if character.isprintable() or character in "\t\n" else f"\\u{ord(character):04x}"
            for character in text
        )
    return text.encode()


@dataclass(slots=True)
class Teller:
    """The sentences about one source; the same is not said again until something else has happened."""

    name: str
    has_connected: bool = False
    told: str = ""

    def sentence(self, event: SourceEvent) -> str | None:
        """What the user should know of an event; None when nothing."""
        match event:
            case Waiting(reason=reason):
                if reason == self.told:
                    return None
                self.told = reason
                return f"{self._about(reason).removesuffix('.')}. Waiting; it is tried again by itself."
            case Connected(detail=detail):
                was_waiting, self.told = bool(self.told), ""
                was_connected, self.has_connected = self.has_connected, True
                if was_waiting:
                    return f"{self.name}: {detail or ('reading again' if was_connected else 'reading now')}."
            case Gap(size_bytes=None, reason=reason):
                return f"{self.name}: lines may be missing here, nobody knows how many: {reason}."
            case Gap(size_bytes=size, reason=reason):
                return f"{self.name}: {size:,} bytes are missing here: {reason}."
            case Rotated(reason=reason) if " " not in reason:
                return f"{self.name}: the file was {reason}; its new content follows."
            case Rotated(reason=reason):
                return f"{self.name}: {reason}; what it says follows."
            case Refused(reason=reason):
                return reason
        return None

    def _about(self, reason: str) -> str:
        subject = reason.partition(": ")[0]  # the file or its host
        is_named = self.name == subject or self.name.startswith(f"{subject}:")
        return reason if is_named else f"{self.name}: {reason}"


def short_names(names: list[str]) -> list[str]:
    """The shortest ends of paths that tell them apart."""
    return [_shortest(name, [other for other in names if other != name]) for name in names]


def _shortest(name: str, others: list[str]) -> str:
    parts = [name] if is_command(name) else name.split("/")
    for count in range(1, len(parts)):
        tail = "/".join(parts[-count:])
        if not any(other == tail or other.endswith(f"/{tail}") for other in others):
            return tail
    return name


def printed(output: LineOutput, event: SourceEvent) -> bytes:
    """What to print on stdout for an event."""
    if isinstance(event, Chunk):
        return output.chunk(event.data)
    return output.interrupt() if isinstance(event, Rotated | Gap) else b""
