"""The result for people: the verdict sentence, the figures with their evidence, what to do next."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.events import Covers
from specmon.monitor.life import Life
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.serverview import phase_words
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, RunState, Trust
from specmon.monitor.verdict import Judged
from specmon.references.diff import compare
from specmon.reports.times import stamp
from specmon.visible import visible

_LEVELS_SHOWN = 8
_TOO_MANY = 5000  # clean samples a side: an hour and more of decoding
_SMALL = (0.95, 1.05)  # a speed-up that nobody would notice


def to_text(session: Session, console: Console) -> None:
    """Print the report of a session on a console. Server text is never read as markup."""
    judged = session.judge()
    _say(console, _opening(session, judged), style="bold")
    _print_comparison(session, judged, console)
    names = session.names()
    for server in session.servers:
        console.print()
        _print_server(session, server, names[server.key], console)
    advice = _next_steps(session, judged)
    if advice:
        console.print()
        console.print(Text("What to do next", style="bold"))
        for step in advice:
            _say(console, f"  - {step}")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line, never wrapped by us: a terminal does that, and a file should hold whole sentences."""
    console.print(Text(visible(text), style=style), soft_wrap=True)


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


def _print_comparison(session: Session, judged: Judged | None, console: Console) -> None:
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
                f"headroom {found.headroom:+.0%} (the same figure as the speed-up, seen from the accept length)"
            )
        if found.delivered_speedup is not None:
            lines.append(f"delivered speed-up {found.delivered_speedup:.2f}× ({_what_delivery_holds(session)})")
        if judged.against_sentence and found.verdict != "not comparable":
            lines.append(judged.against_sentence)
        lines += [f"note: {reason}" for reason in judged.reasons]
        lines += _assumptions(session, judged)
    for cause in trust.causes[:8]:
        lines.append(
            f"differs from the reference: {cause.name} was {cause.before or 'unset'}, is {cause.now or 'unset'}"
        )
    for line in lines:
        _say(console, f"  {line}")


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


def _print_server(session: Session, server: ServerMonitor, name: str, console: Console) -> None:
    head = f"{name}  {server.role.value}, {server.engine or 'engine unknown'}"
    _say(console, head, style="bold")
    if server.source != name:
        _say(console, f"  {server.source}")
    if server.life is not None and server.engine is not None:
        _print_life(server, server.life, console)
    for notice in notices_of(server, is_finished=session.is_finished):
        if notice.kind == "role_conflict":
            continue  # said at the top
        _say(console, f"  ! {notice.text}")


def _print_life(server: ServerMonitor, life: Life, console: Console) -> None:
    figures = life.figures()
    where = f"run {life.index} of {len(server.lives)}, {life.state.value}"
    if life.launch is not None and life.launch.model is not None:
        where += f", {life.launch.model}"
    if life.statistics.is_speculative:
        where += f", speculation {life.speculation}"
    if life.last_sample_at is not None:
        moment = stamp(life.last_sample_at, server.utc_offset_s)
        where += f", last sample {moment}" if moment is not None else ""
    _say(console, f"  {where}")
    _say(console, f"  {_counts(figures, server)}")
    if life.caveat is not None:
        _say(console, f"  {life.caveat}")
    if words := phase_words(life.phases):
        _say(console, f"  phases of a cycle: {words}")
    if figures.levels:
        console.print(Padding(_level_table(figures), (0, 0, 0, 2)))
        if len(figures.levels) > _LEVELS_SHOWN:
            console.print(Text(f"  {len(figures.levels) - _LEVELS_SHOWN} more levels: see --format json"))


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
            text += f", {figures.prefill_share:.0%} of the time in prefill"
    return text


def _level_table(figures: RunFigures) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")  # 76 columns and no ruling
    for heading in ("B", "clean", "decode tok/s", "95 %", "delivered", "accept", "cycle ms", "graph"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = sorted(figures.levels, key=lambda level: (-level.clean, -level.samples))[:_LEVELS_SHOWN]
    for level in sorted(shown, key=lambda level: level.running):
        table.add_row(*_level_cells(level))
    return table


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
                "Check that this baseline is the one you think it is: "
                f"give the number you expect, as --reference-tok-s X@{level.running}."
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
