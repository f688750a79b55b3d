"""Notices about phase times that do not agree with the cycle that follows from the throughput."""

from __future__ import annotations

from specmon.analysis.figures import PhaseFigures
from specmon.monitor.life import Life
from specmon.monitor.notice import Notice
from specmon.visible import visible

_PHASES_DIFFER = 0.1
SUM_WITHIN = 1.02  # of the cycle, that its phases may come to: they are inside it, but for rounding
_ADVICE = {
    "metrics": "the metrics are of another server or another time than the log. See that both files belong together",
    "log": "each line is one step out of many, and its figures need not be typical. Compare over a longer time",
}
_TIMERS_ADVICE = (
    "they overlap, or a unit is wrong. Check the units (`[unit]` in a custom format) and what the timers span"
)
_LONGEST_SHOWN = 40  # characters of a figure that is none
MUCH_PROMPT = 0.1  # prompt tokens for each generated one, from which a window is no longer decoding alone


def of_phases(life: Life) -> list[Notice]:
    """Phase times are evidence of their own: whether they agree with the throughput is worth a word."""
    return [*_of_refused(life), *_of_counters(life), *_of_times(life)]


def _of_refused(life: Life) -> list[Notice]:
    """Lines of the probe that gave no figure, and what to do about each kind."""
    refused = life.phases_refused
    version, figure = (visible(refused.details.get(reason, ""))[:_LONGEST_SHOWN] for reason in ("version", "figure"))
    said = {
        "version": f"written in version {version} of the line, and this specmon reads version 1. Update specmon, or "
        "install in the server's environment the specmon-probe that came with it.",
        "cut": "cut short. Read the log from the file, not from a terminal.",
        "figure": f"with a figure that is no time, `{figure}`. Look whether something rewrites the log on its way; if "
        "nothing does, report the line with the version of SGLang.",
        "sum": "with phases that add up to more than the whole cycle. If nothing cuts the ends of lines, report one of "
        "them with the version of SGLang.",
    }
    return [
        Notice("phases_refused", f"{count} phase line{'s' if count > 1 else ''} not counted: {said[reason]}")
        for reason, count in refused.counts.items()
        if reason in said
    ]


def _of_counters(life: Life) -> list[Notice]:
    """Metrics pages that gave nothing."""
    said = {
        "large": "larger than any server's. See that the file holds metrics.",
        "html": "HTML. The address is that of a web page or of a proxy's error; take the server's own `/metrics`.",
        "cut": "cut short: its last line has no end. Fetch it again.",
        "text": "in another form than the Prometheus text format. Fetch it without an Accept header.",
        "none": "without any metric of SGLang, vLLM or llama.cpp that is used here. Start the server with its metrics "
        "on (SGLang: --enable-metrics, llama.cpp: --metrics), or name the file of this server.",
        "file": "because the file cannot be read. See to its permissions.",
        "figure": "with a counter that is NaN, infinite or negative. See what stands between the server and the file.",
    }
    found = [
        Notice("metrics_refused", f"{count} metrics page{'s' if count > 1 else ''} not used: {said[reason]}")
        for reason, count in life.counters.refused.items()
        if reason in said
    ]
    if count := life.counters.overfull:
        text = (
            f"{count} window{'s' if count > 1 else ''} of the metrics not used: the server counts more GPU time than "
            "the time that passed. See that the times in the file are those at which the pages were fetched."
        )
        found.append(Notice("metrics_refused", text))
    return found


def _of_times(life: Life) -> list[Notice]:
    phases = life.phases
    if phases is None:
        return []
    if life.step_times.count and phases.source == "log":
        return _of_steps(phases, life)
    cycle, identity, residual = phases.cycle_ms, phases.identity_cycle_ms, phases.residual_ms
    if cycle is not None and residual is not None and residual < (1 - SUM_WITHIN) * cycle:
        advice = _ADVICE.get(phases.source, _TIMERS_ADVICE)
        return [
            Notice(
                "phases_disagree",
                f"The phases add up to {cycle - residual:.2f} ms, more than the {cycle:.2f} ms of a whole cycle: "
                f"{advice}.",
            )
        ]
    is_timed = phases.source in ("probe", "custom")  # by timers of its own, not by the throughput
    if is_timed and cycle is not None and identity is not None and abs(cycle / identity - 1) > _PHASES_DIFFER:
        return [
            Notice(
                "phases_disagree",
                f"By its own timers a cycle takes {cycle:.2f} ms, by throughput and accept length {identity:.2f} ms. "
                "Check that both are from the same batch sizes, and what the timers leave out.",
            )
        ]
    return []


def _of_steps(phases: PhaseFigures, life: Life) -> list[Notice]:
    """vLLM's iteration lines against its engine lines, at the batch size that has most of the steps."""
    levels = [(level.cycles, running) for running, level in phases.by_running.items() if level.identity_cycle_ms]
    if not levels:
        return []
    running = max(levels)[1]
    step, cycle = phases.by_running[running].cycle_ms, phases.by_running[running].identity_cycle_ms
    if step is None or cycle is None or abs(step / cycle - 1) <= _PHASES_DIFFER:
        return []
    figures = (
        f"At {running} running an iteration line counts {step:.1f} ms for a decode step, the engine lines come to "
        f"{cycle:.1f} ms a cycle"
    )
    level = life.figures().level_at(running)
    if step < cycle and level is not None and (level.prompt_share or 0.0) > MUCH_PROMPT:
        # The likely reason: iterations with a prompt are left out of the steps, and windows with prompts are not.
        reason = (
            "The engine lines' windows hold prompts too, iterations with a prompt are not counted, and an iteration "
            "line times only the wait for the forward pass. Longer answers bring the two together; until then the "
            "cycle is an upper bound."
        )
        return [Notice("prefill_heavy", f"{figures}. {reason}")]
    if step < cycle:
        reason = (
            "An iteration line times the wait for the forward pass alone; scheduling, output handling and the prompts "
            "of the window are only in the engine line's time. Take the engine lines' cycle, and see whether the "
            "host's CPUs or prefills take the difference."
        )
    else:
        reason = (
            "Of an engine line the running requests are those at the end of its window, and part of the window may "
            "have been at another batch size. Take the iteration lines' time, or keep the number of clients fixed "
            "for a minute."
        )
    return [Notice("phases_disagree", f"{figures}. {reason}")]
