"""One line of a log in full: as it stands there, what was read from it, and whether its sample counts."""

from __future__ import annotations

from collections.abc import Sequence

from specmon.formats.explaining import KIND_WORDS, ExplainedLine, Explainer
from specmon.formats.reader import LogReader
from specmon.monitor.leftout import MEANINGS
from specmon.monitor.logpage import LineView
from specmon.monitor.logpattern import shown_text
from specmon.monitor.snapshot import LogLine
from specmon.secrets import hide_in_text

_LONGEST_RAW = 64 << 10


def view_line(
    line: LogLine,
    *,
    shift_s: float = 0.0,
    position: int,
    text: bytes | None,
    carried: bytes | None,
    reader: LogReader,
    before: Sequence[bytes],
    after: Sequence[bytes],
) -> LineView:
    """The view of a line, read among those `before` and `after` it in its log: what it means may depend on them.

    `shift_s` is what its log's clock was moved by, to stand on one axis with the others.
    """
    physical = carried or text
    explained = None if physical is None else _explain(reader, before, physical, after)
    return LineView(
        server=line.server,
        role=line.role,
        at=line.at,
        log_at=line.at - shift_s if shift_s and line.at is not None else None,
        position=position,
        size_bytes=None if physical is None else len(physical),
        raw="" if physical is None else written_out(physical),
        text=shown_text(text) if carried and text is not None else "",
        carriers=() if explained is None else explained.carriers,
        engine=None if explained is None or not explained.kinds else explained.engine,
        kind="" if explained is None else KIND_WORDS.get(explained.kind, explained.kind.replace("_", " ")),
        fields=() if explained is None else tuple((k, hide_in_text(v)) for k, v in explained.read.items()),
        verdict=_verdict(line, explained),
    )


def written_out(raw: bytes) -> str:
    """The bytes of a line, each that is no printable sign as an escape; keys are hidden."""
    text = hide_in_text(raw[:_LONGEST_RAW].decode("utf-8", "backslashreplace"))
    text = "".join(sign if sign.isprintable() else _escape(sign) for sign in text)
    return text if len(raw) <= _LONGEST_RAW else f"{text}… ({len(raw) - _LONGEST_RAW:,} bytes more)"


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def _verdict(line: LogLine, explained: ExplainedLine | None) -> str:
    if line.is_unparsed:
        return "not understood: it looks like statistics and lacks a figure they need. It enters no figure."
    if line.excluded is not None:
        meaning = MEANINGS.get(line.excluded)
        return f"left out by the rule {line.excluded}" + (f": {meaning}" if meaning else "")
    if line.is_counted:
        return "its sample counts"
    if explained is not None and "decode" in explained.kinds:
        return "whether its sample counts is no longer known: it is too long ago, or outside the times asked for"
    return ""


def _explain(
    reader: LogReader, before: Sequence[bytes], physical: bytes, after: Sequence[bytes]
) -> ExplainedLine | None:
    explainer = Explainer(reader=reader)
    head = b"".join(_whole(line) for line in before)
    block = head + _whole(physical) + b"".join(_whole(line) for line in after)
    lines = [*explainer.feed(block, 0), *explainer.finish()]
    return next((line for line in lines if line.offset == len(head)), None)


def _whole(line: bytes) -> bytes:
    return line.replace(b"\n", b" ") + b"\n"
