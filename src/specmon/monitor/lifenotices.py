"""Notices about one life of a server and its levels: why figures are missing, few or to be taken with care."""

from __future__ import annotations

import math

from specmon.analysis.attribution import Attribution, Standing, standing_of, words_of_change
from specmon.analysis.figures import LevelFigures, RunFigures
from specmon.monitor.life import Life
from specmon.monitor.notice import Notice
from specmon.monitor.phasenotices import MUCH_PROMPT
from specmon.monitor.server import ServerMonitor

_HALF = 0.5
_LONGER_CONTEXT = 1.25  # times the tokens a request had before
_MANY_OUTLIERS = 0.1
_ANSWERS_WITHOUT_STATS_S = 60.0


def of_life(server: ServerMonitor, life: Life, figures: RunFigures, *, is_finished: bool) -> list[Notice]:
    """What stands in the way of the figures of the life that is looked at."""
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
    elif heavy := [level for level in figures.levels if (level.prompt_share or 0.0) > MUCH_PROMPT]:
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
    if life.statistics.samples:
        return False
    if not life.is_ready:
        # Without stderr even the line that says that the server is ready is missing.
        is_bare = not life.statistics.prefill_lines and life.launch is None
        return is_finished and is_bare and server.engine == "sglang" and server.history.answers > 0
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


def without_clean_samples(figures: RunFigures) -> list[Notice]:
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


def of_own_cycle(server: ServerMonitor, level: LevelFigures) -> list[Notice]:
    """Where a format that somebody wrote reads a cycle time that cannot belong to the throughput beside it."""
    figures = (level.cycle_ms, level.tok_s.median, level.accept_len)
    if not (server.engine or "").startswith("custom:") or None in figures:
        return []
    from specmon.formats.custom.units import crossed_unit

    cycle_ms, tok_s, accept_len = (figure or 0.0 for figure in figures)
    text = crossed_unit(cycle_ms, tok_s, accept_len, level.running)
    return [Notice("cycle_disagrees", f"At {level.running} running {text}")] if text else []


def of_level(level: LevelFigures) -> list[Notice]:
    """What is special about one level."""
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
                f"the figures count only what came since. {_what_to_do(move.context_tokens, level.context_tokens)}; "
                "--until gives the time before.",
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


def _what_to_do(before: float | None, now: float | None) -> str:
    """Longer contexts make a cycle longer by themselves, and then nothing need have happened on the host."""
    if before is None or now is None or now < _LONGER_CONTEXT * before:
        return "Find out what changed on the host then"
    return (
        f"The contexts grew from {before:,.0f} to {now:,.0f} tokens a request, and attention to a longer context takes "
        "longer: that alone may be it. Compare at like lengths of prompt and answer; if it is slower there too, find "
        "out what changed on the host"
    )


def _ratio(prompt_share: float | None) -> str:
    if prompt_share is None or prompt_share == math.inf:
        return "no generated token beside the prompts"
    return f"{prompt_share:.2f} prompt tokens for each generated one"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
