"""What a reader must know about a server before believing its figures: what happened and what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specmon.analysis.attribution import Attribution, Standing, standing_of, words_of_change
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.monitor.life import Life
from specmon.monitor.server import ServerMonitor
from specmon.monitor.snapshot import Role

_HALF = 0.5
_MANY_OUTLIERS = 0.1
_MUCH_PROMPT = 0.1  # prompt tokens for each generated one, from which a window is no longer decoding alone
_ANSWERS_WITHOUT_STATS_S = 60.0
_MANY_UNPARSED = 0.05
_PHASES_DIFFER = 0.1
_CLASHES_TOLD = 4

# Every kind there is, about a server or about the question as a whole.
NOTICE_KINDS = (
    *("batch_unsteady", "blob_data", "client_disagrees", "clock_backwards", "conditions_unread", "cut_columns"),
    *(
        "dialect_failed",
        "formats_clash",
        "gap",
        "kv_full",
        "no_clean_samples",
        "no_common_level",
        "no_date",
        "not_a_server_log",
    ),
    *("outliers", "outside_window", "phases_disagree", "prefill_heavy", "ranks_missing", "reference_misfit"),
    *("reference_younger", "restart", "role_conflict", "speculation_inactive", "stats_missing", "unparsed"),
)


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is part of the JSON contract, `text` is for people."""

    kind: str
    text: str


def notices_of(server: ServerMonitor, *, is_finished: bool) -> tuple[Notice, ...]:
    """All notices about one server, about its current life where they concern a life."""
    if server.unreadable is not None:
        return (Notice("unreadable", server.unreadable),)
    found = list(_of_stream(server, is_finished=is_finished))
    if (life := server.life) is not None:
        figures = life.figures(is_exact=is_finished)
        found += _of_life(server, life, figures, is_finished=is_finished)
        found += _of_phases(life)
        found += _without_clean_samples(figures)
        for level in figures.levels:
            found += _of_level(level)
    return tuple(found)


def _of_stream(server: ServerMonitor, *, is_finished: bool) -> list[Notice]:
    found = []
    if is_finished and server.engine is None:
        found.append(
            Notice(
                "not_a_server_log",
                f"No line of {server.source} is an LLM server's. Give the file that holds the server's stderr; the "
                "lines of a server that specmon does not know can be described in a format file (--format-file).",
            )
        )
    if server.is_undated:
        found.append(Notice("no_date", "The stamps of this log carry no full date, so no times are given."))
    if server.gaps:
        found.append(
            Notice("gap", f"Bytes of the log are missing, so what they said is not counted: {server.gaps[-1]}")
        )
    found += _of_formats(server)
    if server.hidden:
        found.append(
            Notice(
                "blob_data",
                f"journalctl hid {server.hidden} lines behind their size ([… blob data]), as it does with control "
                "characters. Call it with -a: `journalctl -a -u UNIT`.",
            )
        )
    if server.clipped:
        found.append(
            Notice(
                "cut_columns",
                f"{server.clipped} statistics lines have columns cut out, as a narrow terminal does: "
                "figures that were cut are unknown. Read the log from the file, not from a terminal.",
            )
        )
    if server.outside:
        found.append(
            Notice("outside_window", f"{server.outside} samples lie outside the times asked for and enter no figure.")
        )
    if len(server.lives) > 1:
        found.append(
            Notice(
                "restart",
                f"The log holds {len(server.lives)} lives of the server. The figures are those of "
                f"{'the last one' if server.run is None else f'number {server.run}'}; "
                "nothing of the others enters them.",
            )
        )
    if server.history.lives.clock_steps:
        found.append(
            Notice(
                "clock_backwards",
                "The times of the statistics lines run backwards by more than a minute: what follows is taken as "
                "another life of the server. Check the host's clock, or whether two logs were joined.",
            )
        )
    declared, logged = server.declared, server.logged_role
    is_contrary = declared is not None and logged is not Role.UNKNOWN and logged is not declared
    if is_contrary and not server.is_split:
        found.append(
            Notice(
                "role_conflict",
                f"You name this the {declared} server, but its log is that of a {logged} one. "
                "Check which log belongs to which option.",
            )
        )
    return found


def _of_formats(server: ServerMonitor) -> list[Notice]:
    """What specmon itself could not read, or could have read in another way."""
    found = []
    looked_at = server.samples + server.unparsed
    if server.unparsed > _MANY_UNPARSED * looked_at and not server.clipped:
        found.append(
            Notice(
                "unparsed",
                f"{server.unparsed} of {looked_at} statistics lines lack a figure that they need, so they are not "
                "counted. `specmon formats explain LOG` shows them.",
            )
        )
    for reads, other in server.history.clashes[:_CLASHES_TOLD]:
        found.append(
            Notice(
                "formats_clash",
                f"The formats {reads} and {other} both read lines of this log; the log goes to whose lines it has more "
                f"of, now {server.engine or reads}. Make a pattern of the custom format narrower, or remove its file.",
            )
        )
    if server.history.dialect_failure is not None:
        engine, reason = server.history.dialect_failure
        found.append(
            Notice(
                "dialect_failed",
                f"The dialect {engine}, which another package brings, failed ({reason}), so the log is not read from "
                "there on. Update that package, or remove it.",
            )
        )
    return found


def _of_phases(life: Life) -> list[Notice]:
    """Phase times are evidence of their own: whether they agree with the throughput is worth a word."""
    phases = life.phases
    if phases is None or phases.source not in ("probe", "custom"):
        return []
    found = []
    cycle, identity, residual = phases.cycle_ms, phases.identity_cycle_ms, phases.residual_ms
    if cycle is not None and residual is not None and residual < -_PHASES_DIFFER * cycle:
        found.append(
            Notice(
                "phases_disagree",
                f"The phases add up to {cycle - residual:.2f} ms, more than the {cycle:.2f} ms of a whole cycle: they "
                "overlap, or a unit is wrong. Check the units (`[unit]` in a custom format) and what the timers span.",
            )
        )
    elif cycle is not None and identity is not None and abs(cycle / identity - 1) > _PHASES_DIFFER:
        found.append(
            Notice(
                "phases_disagree",
                f"By its own timers a cycle takes {cycle:.2f} ms, by throughput and accept length {identity:.2f} ms. "
                "Check that both are from the same batch sizes, and what the timers leave out.",
            )
        )
    return found


def _of_life(server: ServerMonitor, life: Life, figures: RunFigures, *, is_finished: bool) -> list[Notice]:
    found = []
    samples = figures.counted
    if life.fingerprint is not None and life.fingerprint.unread:
        found.append(
            Notice("conditions_unread", f"{life.fingerprint.unread_sentence}. A difference there is not seen.")
        )
    if figures.ranks_missing:
        found.append(
            Notice(
                "ranks_missing",
                f"The ranks {_listed(figures.ranks_missing)} never report here, so the sums are not the whole "
                "server's. Add the log of the other node.",
            )
        )
    if samples and figures.after_prefill > _HALF * samples:
        found.append(
            Notice(
                "prefill_heavy",
                f"{figures.after_prefill} of {samples} windows contain a prefill, so few show decoding alone. "
                "Longer answers or fewer clients give clean windows.",
            )
        )
    elif heavy := [level for level in figures.levels if (level.prompt_share or 0.0) > _MUCH_PROMPT]:
        worst = max(heavy, key=lambda level: level.prompt_share or 0.0)
        found.append(
            Notice(
                "prefill_heavy",
                f"Prompts take their part of the time at {_listed([str(level.running) for level in heavy])} running: "
                f"up to {_ratio(worst.prompt_share)} at {worst.running}. "
                "The decode speed there is a lower bound; longer answers show decoding alone.",
            )
        )
    if samples and figures.excluded["batch_changed"] > _HALF * samples:
        found.append(
            Notice(
                "batch_unsteady",
                f"The number of running requests changes in {figures.excluded['batch_changed']} of {samples} windows. "
                "Measure with a fixed number of clients.",
            )
        )
    if life.kv_full:
        found.append(
            Notice(
                "kv_full",
                f"The KV cache was full with requests waiting in {life.kv_full} of {figures.samples} windows: the load "
                "is more than the server holds. Lower the concurrency or give it more memory.",
            )
        )
    if life.speculation == "inactive":
        found.append(
            Notice(
                "speculation_inactive",
                f"Speculation runs but gains nothing: accept length {figures.accept_len:.2f} over "
                f"{figures.drafts:,.0f} drafts. Check that the draft model belongs to this target.",
            )
        )
    if not samples and (life.statistics_off or (life.launch is not None and life.launch.says_no_statistics)):
        found.append(
            Notice(
                "stats_missing",
                f"The server prints no statistics lines, and says so: {life.statistics_off.rstrip('.')}. "
                "Start it with `--api-server-count 1`."
                if life.statistics_off
                else "The server was started with --disable-log-stats, so it prints no statistics lines. "
                "Start it without that.",
            )
        )
    elif _lacks_stats(server, life, is_finished=is_finished):
        found.append(
            Notice(
                "stats_missing",
                "The server answers requests but logs no decode lines. They go to stderr: start the server with "
                "`> LOG 2>&1`. If stderr is in this file, a log level above INFO hides them.",
            )
        )
    return found


def _lacks_stats(server: ServerMonitor, life: Life, *, is_finished: bool) -> bool:
    answered = server.last_answer_at
    if server.outside:
        return False  # there are some, only not in the times asked for
    if life.statistics.samples or not life.is_ready:
        return False
    if life.ready_at is None or answered is None:
        # uvicorn prints no time below vLLM, so only the end of the log can tell.
        return is_finished and answered is None and server.history.answers > 0
    # The warm-up request is answered in the second of the ready line. A short answer has no decode line, and an
    # engine with a cadence prints none for a while; but SGLang has a prefill line for each.
    patience = _ANSWERS_WITHOUT_STATS_S
    if is_finished:
        is_silent = server.engine == "sglang" and not life.statistics.prefill_lines
        patience = 0 if is_silent else _ANSWERS_WITHOUT_STATS_S / 10
    return answered - life.ready_at > patience


def _without_clean_samples(figures: RunFigures) -> list[Notice]:
    """One notice for all levels without a speed: under a wandering load there are many."""
    lacking = [level for level in figures.levels if level.ranks_without_clean]
    if not lacking:
        return []
    words = []
    for level in lacking:
        ranks = [rank for rank in level.ranks_without_clean if rank] if level.clean else []
        words.append(f"{level.running}" + (f" ({_listed(ranks)})" if ranks else ""))
    samples, clean = sum(level.samples for level in lacking), sum(level.clean for level in lacking)
    return [
        Notice(
            "no_clean_samples",
            f"No speed is given at {_listed(words)} running: {_why(clean)} "
            f"({clean} of {samples} samples). Keep that many requests running for longer.",
        )
    ]


def _why(clean: int) -> str:
    return "some ranks have no clean sample there" if clean else "no sample there is clean"


def _of_level(level: LevelFigures) -> list[Notice]:
    found = []
    if level.moves:
        move = level.moves[-1]
        now = standing_of(level)
        what = "another cycle time"
        if move.cycle_ms is not None and now is not None:
            was = Standing(move.accept_len or now.accept_len, move.cycle_ms)
            what = words_of_change(Attribution(was, now))
        found.append(
            Notice(
                "outliers",
                f"At {level.running} running the speed moved after {move.clean} clean samples: {what}; "
                "the figures count only what came since.",
            )
        )
    elif level.outliers > _MANY_OUTLIERS * level.counted:
        found.append(
            Notice(
                "outliers",
                f"At {level.running} running {level.outliers} of {level.counted} windows took more than 1.5 times the "
                "usual cycle. Look for other load on the host.",
            )
        )
    return found


def _ratio(prompt_share: float | None) -> str:
    if prompt_share is None or prompt_share == math.inf:
        return "no generated token beside the prompts"
    return f"{prompt_share:.2f} prompt tokens for each generated one"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
