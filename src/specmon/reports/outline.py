"""The result for people, as sentences and tables without a form: what text, Markdown and HTML are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.events import Covers
from specmon.monitor.life import Life
from specmon.monitor.method import client_finding
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.serverview import counter_words, phase_facts, phase_words
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, RunState, Trust
from specmon.monitor.verdict import Judged
from specmon.monitor.why import why_of
from specmon.references.diff import compare
from specmon.reports.times import stamp
from specmon.shares import percent, signed_percent

_LEVELS_SHOWN = 8
_TOO_MANY = 5000  # clean samples a side: an hour and more of decoding
_SMALL = (0.95, 1.05)  # a speed-up that nobody would notice
LEVEL_HEADINGS = ("B", "clean", "decode tok/s", "95 %", "delivered", "accept", "cycle ms", "graph")


@dataclass(frozen=True, slots=True)
class ServerOutline:
    """What is said of one server."""

    head: str
    lines: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()  # cells under LEVEL_HEADINGS
    more_levels: int = 0  # that are not shown
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """The whole: the verdict first, then its evidence, then the servers, then what to do."""

    opening: str
    lines: tuple[str, ...] = ()
    servers: tuple[ServerOutline, ...] = ()
    advice: tuple[str, ...] = ()


def outline_of(session: Session) -> Outline:
    """What a session comes to, in words. Nothing of it is escaped yet."""
    judged = session.judge()
    names = session.names()
    return Outline(
        _opening(session, judged),
        tuple(_about_all(session, judged)),
        tuple(_server(session, server, names[server.key]) for server in session.servers),
        tuple(_next_steps(session, judged)),
    )


def _server(session: Session, server: ServerMonitor, name: str) -> ServerOutline:
    lines = [server.source] if server.source != name else []
    levels: tuple[tuple[str, ...], ...] = ()
    more = 0
    if server.life is not None and server.engine is not None:
        figures = server.life.figures()
        lines += _life(server, server.life, figures)
        levels, more = _levels(figures)
    if session.judge() is None:  # else the checklist says it
        findings = [client_finding(evidence) for evidence in session.clients_of(server.key)]
        lines += [f"{_SIGNS[finding.state]} {finding.text}" for finding in findings]
    notices = notices_of(server, is_finished=session.is_finished)
    return ServerOutline(
        f"{name}  {server.role.value}, {server.engine or 'engine unknown'}",
        tuple(lines),
        levels,
        more,
        tuple(notice.text for notice in notices if notice.kind != "role_conflict"),  # that one is said at the top
    )


def _life(server: ServerMonitor, life: Life, figures: RunFigures) -> list[str]:
    where = f"run {life.index} of {server.runs}, {life.state.value}"
    if life.launch is not None and life.launch.model is not None:
        where += f", {life.launch.model}"
    if life.statistics.is_speculative:
        where += f", speculation {life.speculation}"
    if life.last_sample_at is not None:
        moment = stamp(life.last_sample_at, life.utc_offset_s)
        where += f", last sample {moment}" if moment is not None else ""
    lines = [where, _counts(figures, server)]
    if life.caveat is not None:
        lines.append(life.caveat)
    if words := phase_words(life.phases):
        lines.append(f"phases of a cycle: {words}")
        lines += [f"  {line}" for line in phase_facts(life.phases)]
    if words := counter_words(life.counters.totals):
        lines.append(f"the server's own counters: {words}")
    return lines


def _levels(figures: RunFigures) -> tuple[tuple[tuple[str, ...], ...], int]:
    shown = sorted(figures.levels, key=lambda level: (-level.clean, -level.samples))[:_LEVELS_SHOWN]
    cells = tuple(_level_cells(level) for level in sorted(shown, key=lambda level: level.running))
    return cells, len(figures.levels) - len(shown)


def _opening(session: Session, judged: Judged | None) -> str:
    trust = session.trust_view(session.pair()[0], is_exact=True)
    if trust.state is Trust.DIVERGED:
        return f"Baseline not trusted: {trust.sentence}."
    if judged is not None:
        return _sentence_case(judged.sentence) + "."
    notices = session.notices()
    if notices:
        return notices[0].text
    if not session.servers:
        return "No server was given."
    known = [server for server in session.servers if server.life is not None and server.engine is not None]
    if all(server.unreadable is not None for server in session.servers):
        return "No data: nothing of what was given could be read."
    if not known:
        return "No data: none of this is the log of an LLM server."
    life = known[0].life
    assert life is not None
    figures = life.figures()
    level = figures.main_level
    if level is None and known[0].outside:
        return f"No data: all {known[0].outside} samples lie outside the times asked for."
    if level is None:
        crash = next((each.detail for each in reversed(life.happenings) if each.kind == "crash"), "")
        return f"No data: no decode line in the log ({life.state.value}{f': {crash}' if crash else ''})."
    if level.decode_tok_s is None and figures.clean:
        return f"No speed: {figures.clean} of {figures.samples} samples are steady, but some lack an accept length."
    if level.decode_tok_s is None:
        return f"No speed: none of {figures.samples} samples shows steady decoding."
    return (
        f"{_sentence_case(known[0].role.value)} server: decodes {level.decode_tok_s:.1f} tok/s "
        f"at {level.running} running ({level.clean} clean samples)."
    )


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _about_all(session: Session, judged: Judged | None) -> list[str]:
    lines = []
    for server in session.servers:
        lines += [
            f"! {notice.text}" for notice in notices_of(server, is_finished=True) if notice.kind == "role_conflict"
        ]
    trust = session.trust_view(session.pair()[0], is_exact=True)
    if session.reference is not None and trust.state is not Trust.DIVERGED:
        lines.append(f"baseline: {trust.state.value}, {trust.sentence}")
    if judged is not None and trust.state is Trust.DIVERGED:
        lines.append(judged.sentence)
    if judged is not None:
        found = judged.comparison
        if found.verdict == "not comparable":
            found = replace(found, accept_len=None, delivered_speedup=None)  # figures that would mean nothing
        if found.accept_len is not None and found.break_even_accept_len is not None and found.headroom is not None:
            lines.append(
                f"accept length {found.accept_len:.2f}, break-even {found.break_even_accept_len:.2f}, "
                f"headroom {signed_percent(found.headroom, 0)} "
                "(the same figure as the speed-up, seen from the accept length)"
            )
            if (why := why_of(session, judged)) is not None:
                lines.append(why)
        if found.delivered_speedup is not None:
            lines.append(f"delivered speed-up {found.delivered_speedup:.2f}× ({_what_delivery_holds(session)})")
        if judged.against_sentence and found.verdict != "not comparable":
            lines.append(judged.against_sentence)
        lines += [f"note: {reason}" for reason in judged.reasons]
        lines += _assumptions(session, judged)
    lines += [f"! {notice.text}" for notice in session.notices() if notice.kind == "reference_younger"]
    for cause in trust.causes[:8]:
        before, now = cause.shortened()
        was = "" if cause.kind == "graph" and before is None else f" was {before or 'unset'},"
        why = "; ".join(filter(None, (cause.origin, cause.reason)))
        change = f"{cause.name}{was} is {now or 'unset'}"
        lines.append(f"differs from the reference: {change}{f' ({why})' if why else ''}")
    return lines


_ASSUMPTIONS = {
    "reproduces": "the baseline reproduces",
    "method": "the method is sound",
    "only_speculation": "speculation is the only difference",
    "right_level": "the level is the right one",
}
_SIGNS = {"ok": "[ok]", "failed": "[NO]", "unknown": "[? ]"}


def _assumptions(session: Session, judged: Judged) -> list[str]:
    baseline, speculative = session.pair()
    if baseline is None or speculative is None or baseline.life is None or speculative.life is None:
        return []
    differences = compare(baseline.life.conditions, speculative.life.conditions, is_speculation_expected=True)
    return [
        f"{_SIGNS[point.state]} {_ASSUMPTIONS[point.id]}: {point.evidence}"
        for point in session.checklist(judged, differences)
    ]


def _what_delivery_holds(session: Session) -> str:
    """A log of whole requests tells their decode times, and neither prompts nor the time between requests."""
    covers = {server.life.habits.covers for server in session.pair() if server is not None and server.life is not None}
    return "over the requests' own decode times" if Covers.REQUEST in covers else "prefill stalls included"


def _counts(figures: RunFigures, server: ServerMonitor) -> str:
    left_out = ", ".join(f"{count} {rule.replace('_', ' ')}" for rule, count in figures.excluded.items() if count)
    text = f"{figures.samples} samples, {figures.clean} clean"
    if left_out:
        text += f"; left out: {left_out}"
    if server.unparsed:
        text += f"; {server.unparsed} statistics lines could not be read"
    if figures.delivered_tok_s is not None:
        text += f". Delivered over the run: {figures.delivered_tok_s:.1f} tok/s"
        if figures.prefill_share is not None:
            text += f", {percent(figures.prefill_share)} of the time in prefill"
    return text


def _level_cells(level: LevelFigures) -> tuple[str, ...]:
    interval = level.decode_tok_s_ci95
    return (
        str(level.running),
        f"{level.clean}/{level.samples}",
        _number(level.decode_tok_s, 1),
        f"{interval[0]:.1f}-{interval[1]:.1f}" if interval is not None else "-",
        _number(level.delivered_tok_s, 1),
        _number(level.accept_len, 2),
        _number(level.cycle_ms, 2),
        level.cuda_graph,
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _next_steps(session: Session, judged: Judged | None) -> list[str]:
    steps = []
    baseline, speculative = session.pair()
    trust = session.trust_view(baseline, is_exact=True)
    if trust.state is Trust.DIVERGED and (trust.deviation or 0) > 0:
        steps.append("The baseline is faster than its reference: write down the new speed before you compare with it.")
    elif trust.state is Trust.DIVERGED:
        steps.append("Restore the conditions of the reference, or write this baseline down as a new one; then tune.")
    elif session.reference is None and baseline is not None and baseline.life is not None:
        level = judged.comparison.baseline if judged is not None else baseline.life.figures().main_level
        if level is not None and level.decode_tok_s is not None:
            steps.append(
                "Check that this baseline is the one you think it is: give the number you expect, as "
                f"--reference-tok-s X@{level.running}, or what `specmon reference record` wrote, as --reference NAME."
            )
    if any(server.life is not None and server.life.state is RunState.CRASHED for server in session.servers):
        steps.append("Read the end of the crashed server's log, mend the fault and start it again.")
    elif judged is not None and judged.comparison.verdict == "cannot tell":
        needed, interval = judged.comparison.decided_by, judged.comparison.ci95
        if interval is not None and _SMALL[0] <= interval[0] and interval[1] <= _SMALL[1]:
            steps.append("The difference is too small to matter: treat the two as equally fast.")
        elif needed is not None and needed > _TOO_MANY:
            steps.append(
                "The answers vary too much to tell: measure with the same prompts on both servers, and longer."
            )
        else:
            steps.append("Measure longer at a fixed number of clients, the same on both servers.")
    elif len(session.servers) == 1 and session.servers[0].role is not Role.UNKNOWN:
        other = "speculative" if session.servers[0].role is Role.BASELINE else "baseline"
        steps.append(f"Give the log of a {other} server as well to see which is faster.")
    if baseline is not None and speculative is not None and baseline.life and speculative.life:
        differences = compare(baseline.life.conditions, speculative.life.conditions, is_speculation_expected=True)
        weighty = [difference.name for difference in differences if difference.weight == "matters"]
        if weighty:
            verb = "differs" if len(weighty) == 1 else "differ"
            steps.append(f"Speculation is not the only difference: {', '.join(weighty[:6])} {verb} too.")
    return steps
