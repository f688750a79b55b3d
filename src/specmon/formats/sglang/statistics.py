"""Decode and prefill lines: figures found by their names, because every release moved or added some.

The usual layouts have a pattern of their own (`DECODE`, `PREFILL`), which the parser builds into its one
pass over a block. All others, also lines out of whose middle a terminal cut columns, are read field by
field with `read_fields`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from specmon.events import MISSING, Graph

_COUNT = rb"(\d{1,15}+)"
_FIGURE = rb"(\d{1,12}+\.\d{1,9}+)"
HEADER = rb"(?:Decode|Prefill) batch(?:[.,]| \[\d{1,15}\][.,]) ?"

# [0.4.2 to 0.5.23] without the fields that only some pools, modes and switches add.
DECODE = (
    rb"Decode batch(?: \[\d{1,15}\])?[.,] #running-req: " + _COUNT + rb", #token: " + _COUNT
    + rb", token usage: " + _FIGURE
    + rb"(?:, accept len: " + _FIGURE + rb")?(?:, accept rate: " + _FIGURE + rb")?"
    + rb"(?:, [a-z]{1,8}+ graph: (True|False))?"
    + rb", gen throughput \(token/s\): " + _FIGURE
    + rb", #queue-req: " + _COUNT + rb",? ?(?=\n)"
)  # fmt: skip
PREFILL = (
    rb"Prefill batch(?: \[\d{1,15}\])?[.,] #new-seq: \d{1,15}+, #new-token: " + _COUNT
    + rb", #cached-token: " + _COUNT + rb", token usage: " + _FIGURE
    + rb", #running-req: " + _COUNT + rb", #queue-req: " + _COUNT + rb"(?=[,\n])"
)  # fmt: skip

# A second record that another rank wrote into the first, or behind it without a line end.
_INTERLEAVED = re.compile(rb"\[(20\d\d-[^\]\n]{6,96})\] (?=(?:Decode|Prefill) batch)")

# Every name that a release up to 0.5.23 is known to print, to tell a cut column from a new field.
_NAMES = (
    b"#running-req", b"#token", b"token usage", b"accept len", b"accept rate", b"cap len", b"block accept len",
    b"pre-allocated usage", b"#prealloc-req", b"#transfer-req", b"#host-receive-req", b"#retracted-req",
    b"waiting-image-req", b"cuda graph", b"cpu graph", b"npu graph", b"musa graph", b"gen throughput (token/s)",
    b"largest-len", b"#queue-req", b"fwd occupancy", b"fwd+idle occupancy", b"#full token", b"full token usage",
    b"#swa token", b"swa token usage", b"mamba num", b"mamba usage", b"#gpu token", b"gpu token usage",
    b"#cpu token", b"cpu token usage", b"#new-seq", b"#new-token", b"#cached-token", b"cache hit rate",
    b"#unbootstrapped-req", b"#transferring-req", b"input throughput (token/s)", b"#inflight-req",
    b"#pending-token", b"#bootstrap-req", b"#optimistic-req", b"#replay-token",
)  # fmt: skip
_KNOWN = frozenset(_NAMES)

# A value counts only when something ends it: a figure cut by the end of the bytes at hand is half a figure.
_NUMBER = re.compile(rb"(nan|-?\d{1,15}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)%?(?=[,\s\x1b\"}]|\Z)", re.IGNORECASE)
_POOLS = re.compile(rb"full=(\d{1,15}(?:\.\d{1,12})?)")  # [0.4.9] #token: full=123, swa=45
Names = tuple[tuple[bytes, ...], ...]
# By which names a figure is known, the first one that is there counts; the last is a second pool's `usage`.
DECODE_NAMES: Names = (
    (b"#running-req",),
    (b"#token", b"#full token", b"#gpu token"),
    (b"token usage", b"full token usage", b"gpu token usage"),
    (b"accept len",),
    (b"accept rate",),
    (b"gen throughput (token/s)",),
    (b"#queue-req",),
    (b"swa token usage",),
)
PREFILL_NAMES: Names = (
    (b"#new-token",),
    (b"#cached-token",),
    (b"token usage", b"full token usage", b"gpu token usage"),
    (b"#running-req",),
    (b"#queue-req",),
    (b"swa token usage",),
)
_LONGEST_LINE = 4096  # bytes of a statistics line that are looked at; MFU tails end far before


@dataclass(slots=True)
class DecodeFigures:
    """What a decode line says. NaN: printed as nan, or not at all (see `has_throughput`)."""

    running: int | None = None
    tok_s: float = MISSING
    has_throughput: bool = False
    accept_len: float = MISSING
    accept_rate: float = MISSING
    context_tokens: float = MISSING
    usage: float = MISSING
    queue: float = MISSING
    graph: int = Graph.UNKNOWN
    is_clipped: bool = False


@dataclass(slots=True)
class PrefillFigures:
    """What a prefill line says; `new_tokens` is NaN when the line lacks it."""

    new_tokens: float = MISSING
    cached_tokens: float = MISSING
    running: float = MISSING
    queue: float = MISSING
    usage: float = MISSING
    is_clipped: bool = False


def read_decode(body: bytes, *, is_ended: bool = True) -> DecodeFigures:
    """Read the body of a decode line, whichever release or fork wrote it."""
    fields, is_clipped = read_fields(body, is_ended=is_ended)
    running, context, usage, accept_len, accept_rate, tok_s, queue, sliding = (
        _number(fields, names) for names in DECODE_NAMES
    )
    figures = DecodeFigures(is_clipped=is_clipped)
    if running == running and running >= 0:
        figures.running = int(running)
    figures.has_throughput = b"gen throughput (token/s)" in fields and _is_number(fields[b"gen throughput (token/s)"])
    figures.tok_s = tok_s
    figures.accept_len = accept_len
    figures.accept_rate = accept_rate
    figures.context_tokens = context
    figures.usage = _fuller(usage, sliding)
    figures.queue = queue
    for name, value in fields.items():
        if name.endswith(b" graph") and value.strip() in (b"True", b"False"):
            figures.graph = Graph.TRUE if value.strip() == b"True" else Graph.FALSE
    return figures


def read_prefill(body: bytes, *, is_ended: bool = True) -> PrefillFigures:
    """Read the body of a prefill line, whichever release or fork wrote it."""
    fields, is_clipped = read_fields(body, is_ended=is_ended)
    new_tokens, cached_tokens, usage, running, queue, sliding = (_number(fields, names) for names in PREFILL_NAMES)
    return PrefillFigures(new_tokens, cached_tokens, running, queue, _fuller(usage, sliding), is_clipped)


def locate_figures(body: bytes, names: Names) -> list[tuple[int, int] | None]:
    """Where in the whole body of a statistics line each figure stands that is read by `names`; None: nowhere.

    What stands there may be no figure.
    """
    fields, _ = read_fields(body)
    values: dict[bytes, int] = {}
    header = _HEADER.match(body)
    position = header.end() if header else 0
    for part in body[position:].split(b", "):
        head, separator, tail = part.rpartition(b": ")
        if separator:
            values.setdefault(head, position + len(part) - len(tail))
        position += len(part) + 2
    found: list[tuple[int, int] | None] = []
    for own in names:
        if (name := next((each for each in own if each in fields), None)) is None:
            found.append(None)
            continue
        begin, value = values.get(name, 0), fields[name]
        match = _NUMBER.match(value) or _POOLS.match(value)
        is_there = match is not None and body.startswith(value, begin)
        found.append((begin + match.start(1), begin + match.end(1)) if match and is_there else (begin, begin))
    return found


def split_interleaved(body: bytes) -> list[bytes]:
    """A body alone, or followed by the inside of the bracket and the body of each record in it."""
    return _INTERLEAVED.split(body)


def read_fields(body: bytes, *, is_ended: bool = True) -> tuple[dict[bytes, bytes], bool]:
    """Split a statistics body into its fields; also say whether columns were cut out of it.

    `is_ended` is False for a pending line: then its last value may be half a value and is left out.
    """
    text = body[:_LONGEST_LINE]
    header = _HEADER.match(text)
    parts = text[header.end() if header else 0 :].split(b", ")
    if not is_ended and not text.endswith((b",", b" ")):
        parts.pop()
    fields: dict[bytes, bytes] = {}
    is_clipped = False
    name = b""
    for index, part in enumerate(parts):
        head, separator, value = part.rpartition(b": ")
        if not separator:
            head, separator, value = part.rstrip(b", \t\x1b").rpartition(b":")
        if not separator or not head:
            if index == len(parts) - 1 and is_ended and not part.strip(b", \t\r"):
                continue
            if name in fields and b"=" in part:
                fields[name] += b", " + part  # the value itself holds a comma: full=123, swa=45
            elif index == len(parts) - 1:
                is_clipped = True
            continue
        name = head
        if name not in _KNOWN:
            torn = _torn_name(name)
            is_clipped = is_clipped or torn is not None
            name = torn or name
        fields.setdefault(name, value)
    return fields, is_clipped


@lru_cache(maxsize=256)  # a server prints the same names all the time
def _torn_name(name: bytes) -> bytes | None:
    """What a name ends with that is the head of one known name and the tail of another; b"" for no whole name.

    `token usaccept rate` gives `accept rate`: the figure behind it is whole. None: simply a new name.
    """
    tail = b""
    for known in _NAMES:
        if name.endswith(known) and len(known) > len(tail):
            tail = known
    if tail:
        head = name[: len(name) - len(tail)]
        # A head that ends at a word is a new name ("mamba token usage"), not the stump of a known one.
        return tail if not head.endswith(b" ") and any(known.startswith(head) for known in _NAMES) else None
    longest_head = max(_shared_head(name, known) for known in _NAMES)
    longest_tail = max(_shared_head(name[::-1], known[::-1]) for known in _NAMES)
    is_torn = min(longest_head, longest_tail) >= 3 and longest_head + longest_tail >= len(name)
    return b"" if is_torn else None


def _shared_head(one: bytes, other: bytes) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _number(fields: dict[bytes, bytes], names: tuple[bytes, ...]) -> float:
    for name in names:
        if (value := fields.get(name)) is not None:
            match = _NUMBER.match(value) or _POOLS.match(value)
            return float(match[1]) if match else MISSING
    return MISSING


def _fuller(usage: float, sliding: float) -> float:
    """Share of the KV cache in use: of a model with two pools, that of the fuller one, which is the limit."""
    return sliding if usage != usage or sliding > usage else usage


def _is_number(value: bytes) -> bool:
    return _NUMBER.match(value) is not None


_HEADER = re.compile(HEADER)
