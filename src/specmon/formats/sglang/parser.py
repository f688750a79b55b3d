"""Finds SGLang's lines in a block and hands each to the module that can read it.

One pattern goes over the block and stops only at lines with SGLang's bracket and a known body behind it.
The remaining lines (bars, tracebacks, foreign loggers) are looked at one by one only when one of a few
words is among them at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from specmon.events import Block, Crashed, EnvironmentSet, LaunchContinued, Launched
from specmon.formats import deaths, nccl
from specmon.formats.sglang.endings import Endings, interrupts
from specmon.formats.sglang.findings import Findings
from specmon.formats.sglang.launch import RECORD, LaunchRecord
from specmon.formats.sglang.lifecycle import FAMILIAR, STARTS, read_event
from specmon.formats.sglang.prefix import Prefix, PrefixReader
from specmon.formats.sglang.statistics import DECODE, HEADER, PREFILL, read_decode, read_prefill, split_interleaved
from specmon.formats.traceback import TracebackReader

if TYPE_CHECKING:
    from specmon.formats.sglang.skim import Skimmer
    from specmon.formats.sglang.skimmed import Skimmed

_CSI = rb"(?:\x1b\[[\d;]{0,16}m)*"
_STYLES = rb"(?:\x1b\[[\d;]{0,16}m)*+"
_ANSWER = (
    rb"INFO" + _STYLES + rb": {1,8}[^ \n\"']{1,64} - \"" + _STYLES
    + rb"POST /(?:generate|v1/(?:chat/)?completions|v1/responses|v1/messages|api/chat|api/generate|invocations"
    + rb"|vertex_generate)(?:\?[^ \n]{0,256})? HTTP/[\d.]{1,3}" + _STYLES + rb"\" " + _STYLES + rb"2\d\d"
)  # fmt: skip
# Under load most lines are answers. They are only counted, so no line of theirs is looked at by itself.
_ANSWERS = re.compile(rb"\] " + _ANSWER)
_COLOURED_ANSWERS = re.compile(rb"\] \x1b\[[\d;]{1,16}m" + _ANSWER)
# No quote and no brace may stand in front of a bracket: what they hold is text of a user, not a prefix.
_BEFORE = rb"[^\[\n\"'{]{0,256}+"
# What a logging configuration puts between time and body: `[…] [INFO] `, `[…][scheduler][INFO] - `, `[…] INFO: `.
# uvicorn's lines look like the last of these; most lines are uvicorn's, so they are turned away first.
_LEVEL = rb"(?: -)? ?\[[\w.:/ -]{1,80}+\]|(?: -)? (?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b:?"
_AFTER = rb"(?! INFO:  )(?:" + _LEVEL + rb"){1,4}+(?: [-:|])? "
_LINE = re.compile(
    rb"\n(" + _BEFORE + rb")\[(20\d\d-[^\]\n]{6,96}+)\](?: |" + _AFTER + rb")(?:"
    + DECODE + rb"|" + PREFILL
    + rb"|(" + HEADER + rb"|(?:Decode|Prefill) batch[,.]?(?=\n|\Z))"
    + rb"|(server_args=(?:[A-Z]\w{0,63}\(|\{))|(" + STARTS + rb")|(" + FAMILIAR + rb"))"
)  # fmt: skip
# Which group of `_LINE` was the last to catch something.
_DECODE_END, _PREFILL_END, _STATISTICS, _LAUNCH, _EVENT = 10, 15, 16, 17, 18

_OTHER_LINE = re.compile(rb"\n(?!" + _BEFORE + rb"\[20\d\d-)([^\n]*)")
# uvicorn colours its level on a terminal. Answers, which have quotes, are counted elsewhere.
_COLOURED_LINE = re.compile(rb"\n(" + _BEFORE + rb"\[20\d\d-[^\]\n]{6,96}+\] \x1b\[[^\n\"]*+)(?:(?=(\n))|\Z)")
# One of these is in every line that `_read_other` can read.
_NEEDLES = (
    b" batch", b"server_args=", nccl.NEEDLE, b"Traceback (most", b": error: ", b"usage: ", b"INFO: ", b"fired up",
    b"retracted_reqs", b"flushed", b"hit an exception", b"dog timeout", b" crashed with ", b"SIG", b"sigquit",
    b" is dead", b"Initialization failed", b" terminated with ", b"ut of memory", b"Capture ", b"kill_process_tree",
    *deaths.NEEDLES,
)  # fmt: skip
_BODY = re.compile(
    rb"(?:^|(?<=[\s\]:|>-]))(?:((?:Decode|Prefill) batch(?: \[\d{1,15}\])?[,.] ?#)"
    rb"|(server_args=(?:[A-Z]\w{0,63}\(|\{))|(" + STARTS + rb"))"
)
_JSON_BODY = re.compile(rb'"(?:message|msg)"\s?:\s?"((?:Decode|Prefill) batch[,. ][^"\\]{1,4096})"')
_USAGE = re.compile(rb"(?:launch_server\.py|(?:python3? -m )?sglang[\w .-]{0,40}): error: [^\n]{1,300}")
_USAGE_HEAD = re.compile(rb"usage: (?:launch_server\.py|sglang)\b")
_STYLE = re.compile(rb"\x1b\[[\d;?]{0,16}[A-Za-z]")
_TRACEBACK = b"Traceback (most recent call last):"
# What can be no rest of a launch record, though one that was cut inside a text would go on with anything.
_ENDS_RECORD = re.compile(rb"Traceback \(most|[^\n]{0,256}? NCCL (?:INFO|WARN|version) ")
# What has a meaning in the middle of a line, too: brackets with a year, answers, colours.
_SPEAKING = re.compile(rb"\[\d{4}-|\] ?INFO|\x1b|\A\[?\d")
_KEPT = 4096  # brackets that are remembered
_HOLE = b" " * 512  # what a log that was cut under its writer has in front of the next line (framed NULs)
_LONGEST_BEFORE = 2048  # bytes in front of a body: a bar and its blocks of three bytes each


Place = tuple[float, int, int]


class SglangParser:
    """Reads one stream of one SGLang server."""

    def __init__(self) -> None:
        self._prefixes = PrefixReader()
        self._ranks: dict[str, int] = {"": 0}
        self._places: dict[bytes, Place] = {}  # of brackets: many lines share their second and rank
        self._open_launches: dict[int, LaunchRecord] = {}  # by the offset at which the record would go on
        self._traceback = TracebackReader(b"sglang")
        self._is_dense = True  # many lines of one minute are read by pattern
        self._endings = Endings()
        self._utc_offset_s: int | None = None  # of the last stamp that was looked at
        self._end = 0  # offset after the last byte
        self._skimmer: Skimmer | None = None

    def feed(self, block: bytes, start: int) -> Block:
        """Read a block of whole lines; a last line without a line feed is read as a pending one."""
        text = b"\n" + block
        found = Findings(text, start)
        found.events += interrupts(text, start)
        self._read_lines(text, found)
        self._read_coloured_lines(text, found)
        self._read_other_lines(text, found)
        self._count_answers(text, found)
        self._end_block(start + len(block))
        self._utc_offset_s = found.tell_zones(self._utc_offset_s)
        return found.block(tuple(self._ranks), self._endings)

    def skim(self, block: bytes) -> Skimmed | None:
        """Sort the lines of a long block into those that can be read on arrays and the others; None: `feed` it."""
        if self._skimmer is None:
            from specmon.formats.sglang.skim import Skimmer  # numpy, for long blocks only

            self._skimmer = Skimmer(
                _is_statistics, _ANSWERS.search, _is_silent, self._prefixes.midnight, self._rank_index
            )
        return self._skimmer.skim(block, is_awaited=bool(self._open_launches) or self._traceback.is_waiting)

    def feed_skimmed(self, skimmed: Skimmed, block: bytes, start: int) -> Block:
        """Read a block whose lines have been sorted."""
        text = b"\n" + skimmed.rest
        found = Findings(text, 0, skimmed.excerpt(start))
        if b"^" in block:
            found.events += interrupts(b"\n" + block, start)
        self._is_dense = False
        self._read_lines(text, found)
        self._is_dense = True
        self._read_coloured_lines(text, found)
        self._read_other_lines(text, found)
        self._count_sorted_answers(skimmed, block, start, text, found)
        self._end_block(start + len(block))
        self._utc_offset_s = found.tell_zones(self._utc_offset_s)
        return skimmed.joined(found.block(tuple(self._ranks), self._endings), start, len(block))

    def finish(self) -> Block:
        """Nothing is held back: each line of SGLang is complete in itself."""
        return Block(self._end, self._end, 0)

    def _end_block(self, end: int) -> None:
        self._open_launches = {at: record for at, record in self._open_launches.items() if at == end}
        self._traceback.end_block(end)
        self._end = end

    # -- lines with SGLang's bracket ------------------------------------------------------------------

    def _read_lines(self, text: bytes, found: Findings) -> None:
        place_of = self._places.get
        start = found.start
        decode, prefill = found.decode_rows, found.prefill_rows
        for match in _LINE.finditer(text):
            last = match.lastindex
            if last == _DECODE_END:
                caught = match.group(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
                place = place_of(caught[1]) if not caught[0] else None
                at, rank, process = place or self._place(caught[0], caught[1], found)
                decode.append((start + match.start(), at, rank, process, *caught))
            elif last == _PREFILL_END:
                caught = match.group(1, 2, 11, 12, 13, 14, 15)
                at, rank, process = self._place(caught[0], caught[1], found)
                prefill.append((start + match.start(), at, rank, process, *caught))
            else:
                self._read_matched(match, text, found)

    def _read_coloured_lines(self, text: bytes, found: Findings) -> None:
        if b"\x1b" not in text:
            return
        for match in _COLOURED_LINE.finditer(text):
            found.recognised += b"INFO\x1b" in match[1]
            self._read_other(match[1], found.offset(match.start()), bool(match[2]), found)

    def _count_answers(self, text: bytes, found: Findings) -> None:
        for pattern in (_ANSWERS, _COLOURED_ANSWERS) if b"\x1b" in text else (_ANSWERS,):
            self._count_answers_of(pattern, text, found)

    def _count_answers_of(self, pattern: re.Pattern[bytes], text: bytes, found: Findings) -> None:
        if not (answers := pattern.findall(text)):
            return
        end = text.rfind(answers[-1])
        line = text[text.rfind(b"\n", 0, end) + 1 : end]
        found.note_answers(len(answers), self._prefixes.loose(line + b"] ").at)

    def _count_sorted_answers(self, skimmed: Skimmed, block: bytes, start: int, text: bytes, found: Findings) -> None:
        answers = list(_ANSWERS.finditer(text))
        last = -1 if skimmed.last_answer < 0 else int(skimmed.starts[skimmed.last_answer])
        if answers:
            last = max(last, found.offset(text.rfind(b"\n", 0, answers[-1].start())) - start)
        if last >= 0:
            line = block[last : block.find(b" INFO", last)]
            found.note_answers(skimmed.answers + len(answers), self._prefixes.loose(line).at)
        if b"\x1b" in text:
            self._count_answers_of(_COLOURED_ANSWERS, text, found)

    def _place(self, before: bytes, bracket: bytes, found: Findings) -> Place:
        """Time, rank index and process of a line with SGLang's bracket."""
        if not before and (place := self._places.get(bracket)):
            return place
        prefix = self._prefix_of(before, bracket)
        found.note_prefix(prefix)
        place = (prefix.at, self._rank_index(prefix.rank), prefix.process)
        if before:
            return place
        if len(self._places) >= _KEPT:
            self._places.clear()
        # A torn bracket has its stamp elsewhere, so its seconds are not where they usually are.
        is_usual = bracket[16:17] == b":" and bracket[17:19].isdigit()
        if self._is_dense and is_usual and not prefix.has_milliseconds and prefix.at == prefix.at:
            # Lines of the same minute and rank will follow, so all of its seconds are known at once.
            head, tail, start = bracket[:17], bracket[19:], prefix.at - int(bracket[17:19])
            for second in range(60):
                self._places[b"%b%02d%b" % (head, second, tail)] = (start + second, place[1], -1)
        self._places[bracket] = place
        return place

    def _read_matched(self, match: re.Match[bytes], text: bytes, found: Findings) -> None:
        last = match.lastindex or 0
        found.recognised += not match[last].startswith(b"INFO")  # those are counted by `Findings`
        if last not in (_STATISTICS, _LAUNCH, _EVENT):
            return
        end = text.find(b"\n", match.end())
        is_ended = end >= 0
        body = text[match.start(last) : end if is_ended else len(text)]
        prefix = self._prefix_of(match[1], match[2])
        self._read_body(last, body, prefix, found.offset(match.start()), is_ended, found)

    def _prefix_of(self, before: bytes, bracket: bytes) -> Prefix:
        prefix = self._prefixes.bracket(bracket, before)
        return self._prefixes.loose(before + b"[" + bracket + b"]") if prefix is None else prefix

    # -- all other lines ------------------------------------------------------------------------------

    def _read_other_lines(self, text: bytes, found: Findings) -> None:
        others = b"\n".join(_OTHER_LINE.findall(text))
        is_waiting = bool(self._open_launches) or self._traceback.is_waiting
        needles = [needle for needle in _NEEDLES if needle in others]
        if not needles and not is_waiting:
            return
        for match in _OTHER_LINE.finditer(text):
            offset = found.offset(match.start())
            if match.start() == len(text) - 1 and not match[1]:
                break  # what stands behind the last line feed is no line
            line = match[1]
            end = offset + len(line) + 1
            record = self._open_launches.pop(offset, None) if self._open_launches else None
            if record is not None and not _ENDS_RECORD.match(line):
                if self._go_on(record, line, offset, end, found):
                    continue
            elif not self._traceback.wants(offset) and not any(needle in line for needle in needles):
                continue
            if crash := self._traceback.read(line, offset, end):
                found.events.append(crash)
                found.recognised += 1
            is_ended = match.end() < len(text)
            for piece in line.split(b"\r"):
                if piece.startswith(_HOLE):
                    piece = piece.lstrip(b" ")
                if piece:
                    self._read_other(piece, offset, is_ended, found)
                offset += len(piece) + 1

    def _go_on(self, record: LaunchRecord, line: bytes, offset: int, end: int, found: Findings) -> bool:
        if not line.strip():
            self._open_launches[end] = record
            return True
        if (flags := record.go_on(line)) is None:
            return False
        found.events.append(LaunchContinued(offset, flags=flags, is_complete=record.is_complete))
        found.recognised += 1
        if not record.is_complete:
            self._open_launches[end] = record
        return True

    def _read_other(self, line: bytes, offset: int, is_ended: bool, found: Findings) -> None:
        if b"\x1b" in line:
            line = _STYLE.sub(b"", line)
        if (at_start := _LINE.match(b"\n" + line + b"\n")) is not None and (last := at_start.lastindex):
            prefix = self._prefix_of(at_start[1], at_start[2])
            found.recognised += not at_start[last].startswith(b"INFO")
            begin = at_start.start(last)
            if last in (_DECODE_END, _PREFILL_END):
                last = _STATISTICS
                begin = at_start.string.find(b"Decode" if at_start[3] else b"Prefill", at_start.end(2))
            self._read_body(last, line[begin - 1 :], prefix, offset, is_ended, found)
            return
        if line.startswith(b"[20"):
            return
        if nccl.NEEDLE in line and (environment := nccl.read_environment(line)):
            name, value, pid = environment
            found.events.append(EnvironmentSet(offset, process=pid, name=name, value=value))
            return
        if line.startswith(b"{") and (json_body := _JSON_BODY.search(line)) and b'"rid"' not in line:
            prefix = self._prefixes.loose(line[: json_body.start()] + b" " + line[json_body.end() :])
            found.recognised += 1
            self._read_body(_STATISTICS, json_body[1], prefix, offset, is_ended, found)
            return
        if death := deaths.read_death(line, offset):
            found.events.append(death)
            return
        if usage := _USAGE.search(line):
            found.recognised += 1
            detail = usage[0].decode("utf-8", "replace")
            found.events.append(Crashed(offset, cause="exception", detail=detail))
            return
        if _USAGE_HEAD.match(line):
            found.recognised += 1
            return
        body = _BODY.search(line, 0, _LONGEST_BEFORE)
        if body is None or any(sign in line[: body.start()] for sign in (b'"', b"'", b"{")):
            return
        kind = (_STATISTICS, _LAUNCH, _EVENT)[(body.lastindex or 1) - 1]
        found.recognised += 1
        prefix = self._prefixes.loose(line[: body.start()])
        self._read_body(kind, line[body.start() :], prefix, offset, is_ended, found)

    # -- bodies ---------------------------------------------------------------------------------------

    def _read_body(self, kind: int, body: bytes, prefix: Prefix, offset: int, is_ended: bool, found: Findings) -> None:
        found.note_prefix(prefix)
        if prefix.at == prefix.at:
            found.zones.append((offset, prefix.utc_offset_s))
        if b"\x1b" in body:
            body = _STYLE.sub(b"", body)
        if kind == _STATISTICS:
            self._read_statistics(body, prefix, offset, is_ended, found)
        elif kind == _LAUNCH:
            self._read_launch(body, prefix, offset, found)
        elif event := read_event(body, prefix, offset):
            found.events.append(event)
            if is_ended and isinstance(event, Crashed) and body.rstrip().endswith(_TRACEBACK):
                self._traceback.announce(found.line_end(offset))

    def _read_statistics(self, body: bytes, prefix: Prefix, offset: int, is_ended: bool, found: Findings) -> None:
        pieces = split_interleaved(body)
        for position in range(0, len(pieces), 2):
            piece, is_last = pieces[position], position == len(pieces) - 1
            if position:
                prefix = self._prefix_of(b"", pieces[position - 1])
                offset += 1  # still in this line, and behind the record before
            rank = self._rank_index(prefix.rank)
            is_whole = is_last and is_ended  # a record that another one broke may end in half a figure
            is_over = not is_last or is_ended  # no more of it will come
            if piece.startswith(b"D"):
                found.add_decode(read_decode(piece, is_ended=is_whole), prefix, rank, offset, is_ended=is_over)
            else:
                found.add_prefill(read_prefill(piece, is_ended=is_whole), prefix, rank, offset, is_ended=is_over)

    def _read_launch(self, body: bytes, prefix: Prefix, offset: int, found: Findings) -> None:
        if RECORD.match(body) is None:
            return
        record = LaunchRecord()
        flags = record.begin(body)
        at = None if prefix.at != prefix.at else prefix.at
        process = None if prefix.process < 0 else prefix.process
        found.events.append(Launched(offset, at, prefix.rank, process, flags, record.is_complete))
        if not record.is_complete:
            self._open_launches[found.line_end(offset)] = record

    def _rank_index(self, rank: str) -> int:
        return self._ranks.setdefault(rank, len(self._ranks))


def _is_statistics(line: bytes) -> bool:
    """Whether the parser reads a line that begins with SGLang's bracket as a decode or prefill line."""
    match = _LINE.match(b"\n" + line + b"\n")
    return match is not None and not match[1] and match.lastindex in (_DECODE_END, _PREFILL_END, _STATISTICS)


def _is_silent(line: bytes) -> bool:
    """Whether nothing is read in a line without SGLang's bracket, whatever its digits, when it continues no other."""
    needles = [needle for needle in _NEEDLES if needle in line]
    is_plain = not needles or (needles == [b"INFO: "] and _BODY.search(line) is None)
    return is_plain and _SPEAKING.search(line) is None
