"""The figures of one server, explained from its part of the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from specmon.analysis.comparison import SAMPLES_NEEDED
from specmon.monitor.explainphases import figures_of_phases
from specmon.monitor.explanation import Explanation, Formula, SourceLine, Unit, formula, number, quotient
from specmon.monitor.leftout import MEANINGS
from specmon.monitor.ownwords import own_word
from specmon.monitor.snapshot import LevelFigures, Role, RunState, ServerView
from specmon.shares import percent

_SIDES = ("baseline", "speculative")
_PHASE_NOTICES = frozenset({"phases_disagree", "phases_refused", "metrics_refused"})
_IDENTITY = "1000 · A · B / C"


def figures_of_side(view: ServerView, subject: str) -> Iterator[Explanation]:
    """Every figure of a server; those that it lacks say why. `subject` is the side, or the name of another server."""
    key = subject if subject in _SIDES else f"server:{view.key}"
    yield from (replace(each, doubts=_doubts(each, view)) for each in _Side(view, subject, key).figures())


@dataclass(frozen=True, slots=True)
class _Side:
    view: ServerView
    subject: str
    key: str

    def figures(self) -> Iterator[Explanation]:
        yield from self._speeds()
        yield from self._lengths()
        yield from self._load()
        yield from self._counts()
        yield from figures_of_phases(self.view.phases, self.key, self.subject, self._level.cycle_ms)

    @property
    def _level(self) -> LevelFigures:
        return self.view.level or LevelFigures(0, 0, 0)

    @property
    def _is_speculative(self) -> bool:
        return self.view.role is Role.SPECULATIVE

    def _make(self, figure: str, name: str, meaning: str, unit: Unit, value: float | None) -> Explanation:
        """What all figures from clean samples share."""
        view, level = self.view, self._level
        basis = level.basis
        reason = view.no_data_reason or "the log does not tell it"
        source = SourceLine(view.key, view.name, view.source, basis.last_at, view.clean_place)
        if not level.clean:
            source = replace(source, at=view.last_sample_at, position=view.newest_place)
        return Explanation(
            id=f"{self.key}.{figure}",
            subject=self.subject,
            name=name,
            meaning=meaning,
            unit=unit,
            value=value,
            used=_used(level),
            left_out=_left_out(view),
            span=None if basis.first_at is None or basis.last_at is None else (basis.first_at, basis.last_at),
            own_word=own_word(view.engine, figure),
            source=source if source.at is not None else None,
            none_because="" if value is not None else reason,
        )

    # -- speeds ----------------------------------------------------------------------------------

    def _speeds(self) -> Iterator[Explanation]:
        level = self._level
        yield replace(
            self._make(
                "decode",
                "decode throughput",
                "The speed of pure decoding, all requests together; prefills, idle time and start-up are out. A is "
                "pooled over the clean samples and C their median, so slow windows do not pull it down.",
                Unit.TOK_S,
                level.decode_tok_s,
            ),
            formulas=decode_formula(level),
            interval=_decode_interval(level),
        )
        delivered = self._make(
            "delivered",
            "delivered throughput",
            "What clients get: tokens over the time of the windows, prefill stalls included, idle time not.",
            Unit.TOK_S,
            level.delivered_tok_s,
        )
        share = "" if level.prefill_share is None else f"prefills take {percent(level.prefill_share)} of that time"
        yield replace(
            delivered,
            formulas=_delivered_formula(level),
            used=_delivered_used(level) if level.delivered_tok_s is not None else "",
            left_out=(),
            span=None,
            extra=share,
        )
        spread = self._make(
            "spread",
            "tok/s of the samples",
            "The median of what the clean lines themselves say; 5 % of them lie below p5, 5 % above p95. It is not the "
            "decode throughput: the noise of the accept length pushes a median up.",
            Unit.TOK_S,
            level.median_tok_s,
        )
        if level.p5_tok_s is not None and level.p95_tok_s is not None:
            spread = replace(spread, extra=f"p5 {number(level.p5_tok_s)}, p95 {number(level.p95_tok_s)} tok/s")
        yield spread
        yield self._newest(
            "last", "speed of the latest line", "The sum of every rank's latest line, whatever it holds."
        )
        if self.view.live_tok_s is not None:
            live = self._newest(
                "live", "live speed", "What the requests under way do, by their progress lines: no sample."
            )
            yield replace(live, value=self.view.live_tok_s, source=None, none_because="")

    def _newest(self, figure: str, name: str, meaning: str) -> Explanation:
        view = self.view
        source = SourceLine(view.key, view.name, view.source, view.last_sample_at, view.newest_place)
        return replace(
            self._make(figure, name, meaning, Unit.TOK_S, view.last_tok_s),
            used="",
            left_out=(),
            span=None,
            source=source if source.at is not None else None,
        )

    # -- cycle and acceptance --------------------------------------------------------------------

    def _lengths(self) -> Iterator[Explanation]:
        level, view = self._level, self.view
        meaning = (
            "The time of one draft, verify and draft-extend round: the median over the clean samples of each one's "
            "1000 · A · B / R."
            if self._is_speculative
            else "The time of one decode step: the median over the clean samples of each one's 1000 · B / R."
        )
        name = "cycle" if self._is_speculative else "step time"
        yield replace(self._make("cycle", name, meaning, Unit.MS, level.cycle_ms), formulas=self._cycle_formulas())
        if not self._is_speculative:
            return
        tokens = view.launch.num_draft_tokens
        clean = "clean samples only" if level.clean else "all samples, as none is clean"
        accept = self._make(
            "accept",
            "accept length",
            f"Mean tokens per request and cycle, the bonus token included; 1 is no gain. Pooled over {clean}: tokens "
            "over the cycles of all requests.",
            Unit.LENGTH,
            level.accept_len,
        )
        basis = level.basis
        yield replace(
            accept,
            formulas=quotient(
                "A = tokens / (requests × cycles)",
                basis.accept_tokens,
                basis.accept_rounds,
                level.accept_len,
                Unit.LENGTH,
            ),
            extra="" if tokens is None else f"of {tokens} tokens at most",
        )
        yield self._rate(tokens)
        yield self._positions()

    def _cycle_formulas(self) -> tuple[Formula, ...]:
        level = self._level
        if len(level.basis.rank_tok_s) > 1 or level.accept_len is None or not level.decode_tok_s:
            return ()
        filled = f"1000 × {number(level.accept_len)} × {level.running} / {number(level.decode_tok_s)}"
        value = 1000 * level.accept_len * level.running / level.decode_tok_s
        return formula("C = 1000 · A · B / R", filled, value, level.cycle_ms, Unit.MS)

    def _rate(self, tokens: int | None) -> Explanation:
        level, basis = self._level, self._level.basis
        rate = level.acceptance_rate
        found: tuple[Formula, ...] = ()
        if rate is not None:
            found = quotient("accepted drafts / proposed drafts", basis.accepted, basis.drafted, rate, Unit.SHARE)
        elif level.accept_len is not None and tokens is not None and tokens > 1:
            rate = (level.accept_len - 1) / (tokens - 1)
            note = "" if self.view.launch.topk in (None, 1) else "for a tree: all its nodes count as proposed"
            filled = f"({number(level.accept_len)} − 1) / ({tokens} − 1)"
            found = formula("(A − 1) / (draft tokens − 1)", filled, rate, rate, Unit.SHARE, note)
        told = self._make(
            "rate",
            "acceptance rate",
            "Accepted drafts over proposed drafts. It is worked out anew, never copied from the log.",
            Unit.SHARE,
            rate,
        )
        why = "the log tells neither proposed drafts nor how many there are a cycle"
        if level.acceptance_rate is not None:
            used = f"all {level.samples:,} samples at {level.running} running, clean or not"
            told = replace(told, used=used, left_out=(), span=None)
        return replace(told, formulas=found, none_because="" if rate is not None else why)

    def _positions(self) -> Explanation:
        view = self.view.acceptance
        told = self._make(
            "positions",
            "acceptance by position",
            "How often the draft at each position was accepted; with 1 for the bonus token they add up to the accept "
            "length.",
            Unit.LENGTH,
            1 + math.fsum(view.positions) if view.positions else None,
        )
        filled = " + ".join(["1", *(number(each) for each in view.positions)])
        why = {"metrics": "by the server's counters, over the whole run"}.get(view.source, "")
        return replace(
            told,
            formulas=formula("1 + sum over positions", filled, told.value, told.value, Unit.LENGTH),
            extra=why,
            none_because=view.reason if not view.positions else "",
        )

    # -- load and counts -------------------------------------------------------------------------

    def _load(self) -> Iterator[Explanation]:
        level, page = self._level, self.view.page
        running = float(level.running) if self.view.level is not None else None
        yield self._make(
            "running", "running", "Requests decoding together in one batch on one rank (B).", Unit.COUNT, running
        )
        context = "Tokens of context a request, the median over the clean samples. Longer contexts make longer cycles."
        yield self._make("context", "context", context, Unit.COUNT, level.context_tokens)
        queue = self._make(
            "queue", "queue", "Requests that wait, the median over the clean samples.", Unit.COUNT, level.queue
        )
        if level.queue is None and page is not None and page.queue is not None:
            queue = replace(_bare(queue), value=float(page.queue), extra="by the metrics page, of this moment")
        yield queue
        if page is not None and page.kv_usage is not None:
            kv = "How full the KV cache is at this moment, by the server's metrics page."
            yield replace(
                self._make("kv", "KV cache", kv, Unit.SHARE, page.kv_usage),
                used="",
                left_out=(),
                span=None,
                source=None,
            )

    def _counts(self) -> Iterator[Explanation]:
        view = self.view
        reasons = [count for _, count in _left_out(view) if count]
        out = view.samples - view.clean
        filled = " − ".join(f"{each:,}" for each in (view.samples, *reasons))
        used = self._make(
            "samples",
            "samples used",
            "Clean samples of this run, at every number of running requests: windows of nothing but steady decoding.",
            Unit.COUNT,
            float(view.clean) if view.samples else None,
        )
        yield replace(
            used,
            formulas=formula("all − left out", filled, view.samples - math.fsum(reasons), used.value, Unit.COUNT),
            extra=f"{out:,} left out of {view.samples:,}" if view.samples else "",
            used="",
            span=None,
        )
        yield _bare(
            self._make(
                "unparsed",
                "lines not understood",
                "Lines that look like statistics and lack a figure they need. They enter no figure; the log marks them "
                "with a question mark.",
                Unit.COUNT,
                float(view.unparsed),
            )
        )


def _bare(figure: Explanation) -> Explanation:
    """Without samples, times and a line: it does not rest on those."""
    return replace(figure, used="", left_out=(), span=None, source=None, own_word="", none_because="")


def decode_formula(level: LevelFigures) -> tuple[Formula, ...]:
    """R from A, B and C; of several ranks the sum, of a band what one request gets."""
    shown, ranks = level.decode_tok_s, level.basis.rank_tok_s
    if len(ranks) > 1:
        filled = " + ".join(number(each) for each in ranks)
        words = f"R = sum over {len(ranks)} ranks of {_IDENTITY}"
        return formula(words, filled, math.fsum(ranks), shown, Unit.TOK_S)
    if level.accept_len is None or not level.cycle_ms:
        return ()
    running = 1 if level.running_range is not None else level.running
    filled = f"1000 × {number(level.accept_len)} × {running} / {number(level.cycle_ms)}"
    note = "of a band of loads: what one request gets" if level.running_range is not None else ""
    return formula(
        f"R = {_IDENTITY}", filled, 1000 * level.accept_len * running / level.cycle_ms, shown, Unit.TOK_S, note
    )


def _delivered_formula(level: LevelFigures) -> tuple[Formula, ...]:
    parts = [(tokens, seconds) for tokens, seconds in level.basis.delivered if seconds > 0]
    filled = " + ".join(f"{number(tokens)} / {number(seconds)}" for tokens, seconds in parts)
    total = math.fsum(tokens / seconds for tokens, seconds in parts) if parts else None
    words = "tokens / seconds" if len(parts) < 2 else f"sum over {len(parts)} ranks of tokens / seconds"
    return formula(words, filled, total, level.delivered_tok_s, Unit.TOK_S)


def _delivered_used(level: LevelFigures) -> str:
    basis = level.basis
    if not basis.windows:
        return ""
    return (
        f"{basis.windows:,} windows at {level.running} running, clean or not; left out: {basis.idle_windows:,} with "
        "idle time, and the first after the start"
    )


def _decode_interval(level: LevelFigures) -> str:
    if level.decode_tok_s_ci95 is None:
        return "none: it needs six clean samples" if level.decode_tok_s is not None else ""
    low, high = level.decode_tok_s_ci95
    text = f"95 %: {number(low)} to {number(high)} tok/s"
    error = level.decode_error
    if error is None or not error.standard_error or level.decode_tok_s is None:
        return text
    factor = error.half_width / error.standard_error
    return (
        f"{text} = {number(level.decode_tok_s)} × e^±({factor:.2f} × {number(error.standard_error)}): Student's t with "
        f"{error.freedom:.0f} degrees of freedom, and a standard error from the slowest waves in the samples, so that "
        "neighbours that resemble each other widen it"
    )


def _used(level: LevelFigures) -> str:
    if not level.samples:
        return ""
    return f"{level.clean:,} clean samples of {level.samples:,} at {level.running} running"


def _left_out(view: ServerView) -> tuple[tuple[str, int], ...]:
    """By reason, of the whole run; repeated ranks and a speed that the level has left come last."""
    found = [(_reason(rule), count) for rule, count in view.excluded.items() if count]
    rest = view.samples - view.clean - sum(count for _, count in found)
    if rest > 0:
        found.append(("lines of ranks that repeat another one, or of a speed that the level has left since", rest))
    return tuple(found)


def _reason(rule: str) -> str:
    meaning = MEANINGS.get(rule)
    return rule.replace("_", " ") + (f": {meaning}" if meaning else "")


def _doubts(figure: Explanation, view: ServerView) -> tuple[str, ...]:
    """What is to be known before the figure is believed."""
    is_phase = ".phase." in figure.id
    kinds = view.notice_kinds or ("",) * len(view.notices)
    found = [text for kind, text in zip(kinds, view.notices, strict=True) if is_phase or kind not in _PHASE_NOTICES]
    if view.is_ended_run:
        found.append("This is a run of the past: its server does not run now.")
    elif view.state in (RunState.EXITED, RunState.CRASHED):
        found.append(f"The server has {'crashed' if view.state is RunState.CRASHED else 'ended'}: no more will come.")
    elif view.is_stale and view.age_s is not None:
        found.append(f"No new line for {view.age_s:,.0f} s: these are the last known figures.")
    clean = view.level.clean if view.level is not None else 0
    if figure.value is not None and figure.left_out and 0 < clean < SAMPLES_NEEDED:
        found.append(f"Only {clean} clean samples: {SAMPLES_NEEDED} are needed for a verdict.")
    return tuple(found)
