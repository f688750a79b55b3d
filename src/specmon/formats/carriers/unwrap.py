"""Takes a line out of all that carries it, from the outside to the inside.

What a line begins with says which carrier wrote it, so one pattern asks for all of them at once. Plain lines of
a server begin like none of them; `PLAIN_SCAN` finds the others in a whole block at the cost of one look a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from specmon.formats.carriers import (
    compose,
    files,
    journald,
    kubectl,
    markdown,
    objects,
    pylogging,
    ray,
    router,
    srun,
    stamped,
)
from specmon.formats.carriers.envelope import Envelope

_MOST_LAYERS = 6
_STARTS = (
    ("bracket", pylogging.BRACKET_START),
    ("kubectl", kubectl.START),
    ("journald", journald.START),
    ("stamped", stamped.START),
    ("pylogging", pylogging.START),
    ("files", files.START),
    ("compose", compose.START),
    ("ray", ray.START),
    ("srun", srun.START),
    ("router", router.START),
    ("objects", objects.START),
    ("markdown", markdown.START),
)
_WORDS = {
    "bracket": "python logging",
    "pylogging": "python logging",
    "stamped": "stamps",
    "objects": "json",
    "files": "file names",
}
_WHICH = re.compile(rb"|".join(rb"(?P<%b>%b)" % (name.encode(), start) for name, start in _STARTS))
# The usual line of SGLang costs a look at its first three bytes and at those behind its stamp, no more.
_CARRIED = (
    rb"(?:\[20[^\n]{17}(?:[.,]\d{1,9}+)?(?: [A-Z_]{2,12}\d{1,6}){0,8}+\] \[(?:[\w.:-]{1,64}\] \[){0,2}?"
    rb"(?:DEBUG|INFO|WARN|ERROR|CRIT)|(?!\[20)(?:"
    + rb"|".join(start for name, start in _STARTS if name != "bracket")
    + rb"))"
)
PLAIN_SCAN = re.compile(rb"\n" + _CARRIED)
# Colours of a line without a carrier are left to the dialects, so that it stays where it is.
COLOUR_SCAN = re.compile(rb"\n(?:\x1b\[[\d;]{0,32}m){0,8}+" + _CARRIED)

# CSI sequences (colours, cursor), OSC sequences (titles, links) and single escapes.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,1024}(?:\x07|\x1b\\)|[@-Z\\^_=>78])")


class Unwrapper:
    """Opens lines one after another; what it remembers (days) never changes an answer."""

    def __init__(self, claims: Sequence[Callable[[bytes], bool]] = ()) -> None:
        """A line of which one of `claims` says that it begins as it should carries nothing."""
        self._claims = tuple(claims)
        self._open: dict[str, Callable[[Envelope], bool]] = {
            "kubectl": kubectl.unwrap,
            "journald": journald.Journald().unwrap,
            "stamped": stamped.Stamped().unwrap,
            "pylogging": (logging := pylogging.PythonLogging()).unwrap,
            "bracket": logging.unwrap,
            "files": files.unwrap,
            "compose": compose.unwrap,
            "ray": ray.unwrap,
            "srun": srun.unwrap,
            "router": router.unwrap,
            "objects": objects.Objects().unwrap,
            "markdown": markdown.unwrap,
        }

    def layers(self, text: bytes) -> tuple[str, ...]:
        """The names of all that `open` takes off, from the outside to the inside."""
        line = Envelope(_ESCAPES.sub(b"", text))
        names: list[str] = []
        while len(names) < _MOST_LAYERS and not any(claims(line.text) for claims in self._claims):
            if (found := _WHICH.match(line.text)) is None:
                break
            if not self._open[found.lastgroup or ""](line) and not line.is_header:
                break
            names.append(_WORDS.get(found.lastgroup or "", found.lastgroup or ""))
            if line.is_header:
                break
            line.text = _ESCAPES.sub(b"", line.text)
        return tuple(names)

    def open(self, text: bytes) -> Envelope:
        """The line that `text`, without its line feed, carries."""
        line = Envelope(_ESCAPES.sub(b"", text) if b"\x1b" in text else text)
        for _ in range(_MOST_LAYERS):
            if any(claims(line.text) for claims in self._claims):
                break
            if (found := _WHICH.match(line.text)) is None or not self._open[found.lastgroup or ""](line):
                break
            if b"\x1b" in line.text:
                line.text = _ESCAPES.sub(b"", line.text)
        return line
