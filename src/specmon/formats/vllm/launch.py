"""What vLLM says about itself when it starts: a banner, the arguments, the configuration of each engine.

    … █  version 0.32.0                                                             [0.11 on]
    vLLM API server version 0.8.5 / vLLM server version 0.32.0, serving model …     [before; JSON formatter]
    non-default args: {'model': '…', 'speculative_config': {…}}                     [0.8 on]
    args: Namespace(host=None, model='…', …)                                        [before]
    Initializing a V1 LLM engine (v0.32.0) with config: model='…', speculative_config=None, …

They belong to one launch. Where they disagree the arguments win: they are what the user typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from specmon.events import Json
from specmon.formats.literals import is_self_ended, read_literal, split_items
from specmon.secrets import drop_secrets

_BANNER = re.compile(
    rb"vLLM (?:API )?server version v?(\d[\w.+-]{0,63}?)(?=[,\s]|$)"
    rb"|[\x80-\xff ]{3,256}+(?<= )version v?(\d[\w.+-]{0,63})$"
)
_ARGUMENTS = re.compile(rb"non-default args: \{|args: Namespace\(")
_ENGINE = re.compile(rb"Initializing an? (?:V\d )?LLM engine \(v?(\d[^)\s]{0,63})\) with config: (?:VllmConfig\()?")
_CALL_ITEM = re.compile(r"\s*([A-Za-z_]\w{0,127})=(.*)", re.DOTALL)
_DICT_ITEM = re.compile(r"""\s*(?:'([^'\\]{1,128})'|"([^"\\]{1,128})")\s*:\s*(.*)""", re.DOTALL)
_CALL = re.compile(r"[A-Z]\w{0,63}\((.*)\)", re.DOTALL)
_SPECULATION = "speculative_config"


class Source(StrEnum):
    """Which of the records."""

    BANNER = "banner"
    ARGUMENTS = "arguments"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One record; `is_complete` when a flag that is not there was not given."""

    source: Source
    version: str | None
    flags: Mapping[str, Json]
    is_complete: bool = False


def read_launch(body: bytes) -> LaunchRecord | None:
    """Read a record from the beginning of its body; None for anything else."""
    if match := _ARGUMENTS.match(body):
        flags, is_complete = _read_flags(body[match.end() :])
        return LaunchRecord(Source.ARGUMENTS, None, flags, is_complete)
    if match := _ENGINE.match(body):
        flags, _ = _read_flags(body[match.end() :])
        return LaunchRecord(Source.ENGINE, match[1].decode("utf-8", "replace"), flags)
    if match := _BANNER.match(body.strip()):
        return LaunchRecord(Source.BANNER, (match[1] or match[2]).decode("ascii", "replace"), {})
    return None


class LaunchHistory:
    """Tells which records belong to one launch. The rules are those of a deployment with several processes."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        """A launch knows nothing of the one before."""
        self.is_speculative: bool | None = None
        self.steps: int | None = None  # k
        self.servers = 1  # API server processes
        self._said: set[tuple[str, Source]] = set()
        self._arguments: dict[str, Json] = {}
        self._is_complete = False
        self._is_serving = False
        self._is_over = False
        self._pids: set[int] = set()

    def serve(self) -> None:
        """The server is ready, or prints statistics."""
        self._is_serving = True

    def end(self) -> None:
        """A crash or a stop: the next record is another launch."""
        self._is_over = True

    def started(self, pid: int) -> bool:
        """`Started server process`: False for a further API server of the same deployment."""
        if pid in self._pids or (self._pids and len(self._pids) < self.servers):
            self._pids.add(pid)
            return False
        self._pids.add(pid)
        return True

    def add(self, record: LaunchRecord, name: str) -> tuple[bool, Mapping[str, Json], bool]:
        """Whether a launch begins here, which flags are new, and whether all flags are known now."""
        begins = self._begins(record.source, name)
        if begins:
            self._reset()
        self._said.add((name, record.source))
        flags = dict(record.flags)
        if record.source is Source.ARGUMENTS:
            self._is_complete = record.is_complete
            self._arguments.update(flags)
        else:
            flags = self._without_arguments(flags)
        self._note(flags)
        return begins, flags, self._is_complete

    def _begins(self, source: Source, name: str) -> bool:
        if not self._said or self._is_over:
            return True
        if (name, source) in self._said:
            # Engines without a name of their own [0.9] each print a configuration before the server is ready.
            return self._is_serving or source is not Source.ENGINE
        is_sibling = name[-1:].isdigit() and any(said.rstrip("0123456789") == name.rstrip("0123456789")
                                                 for said, _ in self._said)  # fmt: skip
        return self._is_serving and source is not Source.ENGINE and not is_sibling

    def _without_arguments(self, flags: dict[str, Json]) -> dict[str, Json]:
        """What an engine adds to the arguments; of the speculation also what was left to be found out."""
        given, found = self._arguments.get(_SPECULATION), flags.get(_SPECULATION)
        new = {name: value for name, value in flags.items() if name not in self._arguments}
        if isinstance(given, dict) and isinstance(found, dict):
            new[_SPECULATION] = {**{name: value for name, value in found.items() if value is not None}, **given}
        return new

    def _note(self, flags: Mapping[str, Json]) -> None:
        speculation = flags.get(_SPECULATION)
        if isinstance(speculation, dict):
            self.is_speculative = True
            for name in ("num_speculative_tokens", "num_spec_tokens"):
                if isinstance(steps := speculation.get(name), int) and steps > 0:
                    self.steps = steps
                    break
        elif flags.get("speculative_model") is not None:
            self.is_speculative = True
            steps = flags.get("num_speculative_tokens")
            self.steps = steps if isinstance(steps, int) and steps > 0 else None
        elif speculation is None and (_SPECULATION in flags or self._is_complete) and self.is_speculative is None:
            self.is_speculative = False
        servers = flags.get("api_server_count")
        if isinstance(servers, int) and 0 < servers < 1000:
            self.servers = servers


def _read_flags(text: bytes) -> tuple[Mapping[str, Json], bool]:
    items, rest, end = split_items(text.decode("utf-8", "replace"))
    if (last := _item(rest)) and (end >= 0 or is_self_ended(last[1])):
        items.append(rest)
    flags: dict[str, Json] = {}
    for item in items:
        if (pair := _item(item)) is not None:
            flags[pair[0]] = _value(pair[1])
    if isinstance(text_of_it := flags.get(_SPECULATION), str) and text_of_it.startswith("{"):
        flags[_SPECULATION] = _from_json(text_of_it)  # as typed on the command line
    return drop_secrets(flags), end >= 0


def _value(text: str) -> Json:
    """A literal, or the fields of `SpeculativeConfig(method='ngram', model=None, num_spec_tokens=4)`."""
    value = read_literal(text)
    if isinstance(value, str) and (call := _CALL.fullmatch(text.strip())) and text.strip().startswith("Speculative"):
        items, rest, _ = split_items(call[1])
        pairs = [pair for item in [*items, rest] if (pair := _item(item)) is not None]
        return {name: read_literal(field) for name, field in pairs}
    return value


def _from_json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _item(text: str) -> tuple[str, str] | None:
    match = _CALL_ITEM.fullmatch(text) or _DICT_ITEM.fullmatch(text)
    if match is None:
        return None
    *names, value = match.groups()
    return next(name for name in names if name), value
