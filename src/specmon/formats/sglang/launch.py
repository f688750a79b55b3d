"""The launch record: `server_args=ServerArgs(…)` [0.4.1 to 0.5.16] and `server_args={…}` [0.5.19 on].

A record of 14 kB is often cut, and a terminal wraps it in the middle of a key. What is read off a cut
record is right as far as it goes; the record then says that it is not complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from specmon.events import Json
from specmon.formats.literals import is_self_ended, read_literal, split_items
from specmon.secrets import drop_secrets

RECORD = re.compile(rb"server_args=(?:[A-Za-z_]{1,64}\(|\{)")

_CALL_ITEM = re.compile(r"\s*([A-Za-z_]\w{0,127})=(.*)", re.DOTALL)
_DICT_ITEM = re.compile(r"""\s*(?:'([^'\\]{1,128})'|"([^"\\]{1,128})")\s*:\s*(.*)""", re.DOTALL)
_NEXT_ITEM = re.compile(r"""[,\s]\s?(?=[A-Za-z_]\w{0,127}=|'[A-Za-z_]\w{0,127}': )""")
_LONGEST_REST = 4096  # characters of an unfinished item that are kept for the next line, which costs as many again


class LaunchRecord:
    """Reads one launch record, in as many pieces as the log has it."""

    def __init__(self) -> None:
        self._rest = ""
        self.is_complete = False

    def begin(self, body: bytes) -> Mapping[str, Json]:
        """Read the line on which the record begins; answer its flags."""
        match = RECORD.search(body)
        return self._read(body[match.end() :].decode("utf-8", "replace")) if match else MappingProxyType({})

    def go_on(self, line: bytes) -> Mapping[str, Json] | None:
        """Read a line that may be the rest of the record; None when it is something else."""
        text = line.decode("utf-8", "replace")
        joined = self._rest + text
        first = _NEXT_ITEM.search(text)
        if _item(split_items(joined)[0][:1] or [joined]) is None:
            # Whatever was lost at the break, the items behind the first comma are whole again.
            if first is None:
                return None
            joined = text[first.end() :]
        elif first is None and not text.rstrip().endswith((")", "}")) and "=" not in joined and ": " not in joined:
            return None
        return self._read(joined)

    def _read(self, text: str) -> Mapping[str, Json]:
        items, rest, end = split_items(text)
        self.is_complete = end >= 0
        self._rest = "" if self.is_complete else rest[-_LONGEST_REST:]
        if (last := _item([rest])) and (self.is_complete or is_self_ended(last[1])):
            items.append(rest)
        flags: dict[str, Json] = {}
        for item in items:
            if (pair := _item([item])) is not None:
                flags[pair[0]] = read_literal(pair[1])
        return MappingProxyType(drop_secrets(flags))


def _item(items: list[str]) -> tuple[str, str] | None:
    match = _CALL_ITEM.fullmatch(items[0]) or _DICT_ITEM.fullmatch(items[0])
    if match is None:
        return None
    *names, value = match.groups()
    return next(name for name in names if name), value
