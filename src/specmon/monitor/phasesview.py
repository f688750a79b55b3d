"""Where the cycles of a server go, as the screen shows it: shares, residual, identity, history, what is missing."""

from __future__ import annotations

import math
from dataclasses import replace

from specmon.analysis.figures import LevelFigures, PhaseFigures
from specmon.analysis.phasehistory import PhaseWindow, changes_of
from specmon.analysis.phasetimes import PhaseSource
from specmon.analysis.whatif import WhatIf
from specmon.monitor.axis import zone_between
from specmon.monitor.life import Life
from specmon.monitor.phasenotices import SUM_WITHIN, of_phases
from specmon.monitor.phaserecords import (
    IdentityCheck,
    PhaseLevel,
    PhasePart,
    PhasesView,
    VerifyCost,
)
from specmon.monitor.phasewords import sentence_of
from specmon.monitor.server import ServerMonitor
from specmon.shares import percent, signed_percent

_ORDER = ("draft", "verify", "draft_extend", "decode")
_OWN_CLOCK = ("probe", "custom", "log")  # whose cycle, where there is one, is not the throughput's
_AGREES_WITHIN = 0.03
_HELD_LIVES = 4
_DRAFTERS_WITHOUT_TIMER = ("NGRAM", "DFLASH")
_TIMER = "SGLang ≥ 0.5.11 with --enable-metrics and SGLANG_ENABLE_METRICS_DEVICE_TIMER=1"
_PROBE = "`pip install ./probe` (a folder of specmon's checkout) in the server's environment, and restart it"
_MENDS = {
    "vllm": "start it with --enable-logging-iteration-details (vLLM of 2026 and later)",
    "llama.cpp": "start it with -lv 4: its statistics lines then time the drafts",
}
_OWN_TIMERS = "put timers of your own into the server and describe their line in a custom format"
_SOURCES = {
    "metrics": "the device timer on its metrics page",
    "probe": "specmon-probe",
    "log": "the engine's own log lines",
    "custom": "timers of your own, by a custom format",
}


def phases_view(server: ServerMonitor, running: int | None) -> PhasesView:
    """The phases of a server's current life, at `running` requests where that was told of."""
    life = server.life
    if life is None:
        return PhasesView(why_none="no line of a server yet", mend="")
    notices = tuple(notice.text for notice in of_phases(life))
    found = life.phases
    if found is None or not found.ms:
        return PhasesView(why_none=_why_none(life), mend=mend_of(server.engine, life), notices=notices)
    levels = tuple(level_of(at, level) for at, level in found.by_running.items()) or (level_of(None, found),)
    shown = next((level for level in levels if level.running == running and running is not None), None)
    if shown is None:
        shown = max(levels, key=lambda level: level.cycles)
    figures = found.by_running.get(shown.running, found) if shown.running is not None else found
    windows = _windows(server, life, found.source, shown.running)
    changes = () if shown.fault else changes_of(windows)
    return PhasesView(
        source=found.source,
        source_words=_SOURCES.get(found.source, found.source),
        shown=shown,
        levels=levels,
        identity=None if shown.fault else identity_of(figures),
        windows=() if shown.fault else windows,
        changes=changes,
        sentence=sentence_of(changes),
        notices=notices,
    )


def mend_of(engine: str | None, life: Life | None = None) -> str:
    """How to get phases out of an engine, in one line; "" while nobody knows which it is."""
    if engine is None:
        return ""
    if engine.startswith("sglang"):
        algorithm = (life.launch.algorithm or "") if life is not None and life.launch is not None else ""
        if algorithm.upper() in _DRAFTERS_WITHOUT_TIMER:
            return _PROBE
        return f"start {_TIMER}, or {_PROBE}"
    return _MENDS.get(engine, _OWN_TIMERS)


def _why_none(life: Life) -> str:
    if life.phases_refused.counts:
        return "no phase line could be used"
    if life.counters.refused:
        return "no metrics page could be used"
    if life.counters.has_readings:
        return "its metrics page has no phase times so far"
    return "the log has no phase times"


def level_of(running: int | None, figures: PhaseFigures) -> PhaseLevel:
    """Phases with their shares and what they leave; no parts where they cannot be right."""
    whole = math.fsum(figures.ms.values())
    cycle = figures.cycle_ms
    common = PhaseLevel(running, figures.cycles, cycle)
    if not all(math.isfinite(ms) and ms >= 0 for ms in figures.ms.values()):
        return replace(common, fault="a phase is no time: it is negative or not a number")
    if cycle is not None and not (math.isfinite(cycle) and cycle > 0):
        return replace(common, cycle_ms=None, fault="the cycle is no time: it is not above 0, or not a number")
    if cycle is not None and whole > SUM_WITHIN * cycle:
        return replace(
            common, fault=f"the phases add up to {whole:.2f} ms, more than the {cycle:.2f} ms of a whole cycle"
        )
    named = sorted(figures.ms.items(), key=lambda item: _ORDER.index(item[0]) if item[0] in _ORDER else len(_ORDER))
    parts = [PhasePart(name, ms, ms / cycle if cycle else None) for name, ms in named]
    if cycle is not None:
        rest = max(0.0, cycle - whole)  # below 0 within what the clocks differ by
        parts.append(PhasePart("other", rest, rest / cycle))
    return replace(common, parts=tuple(parts))


def identity_of(figures: PhaseFigures) -> IdentityCheck:
    """Whether the source's cycle is that of throughput and accept length."""
    cycle, identity = figures.cycle_ms, figures.identity_cycle_ms
    if identity is None:
        return IdentityCheck(None, "cannot be checked: the log gives no cycle at these requests")
    if cycle is None or cycle == identity or figures.source not in _OWN_CLOCK:
        whole = math.fsum(figures.ms.values())
        return IdentityCheck(
            None,
            f"the source times no whole cycle; its phases fill {percent(whole / identity)} of the {identity:.2f} ms "
            "that throughput and accept length give",
        )
    off = cycle / identity - 1
    both = f"phases + other {cycle:.2f} ms, 1000·A·B/R {identity:.2f} ms"
    if abs(off) <= _AGREES_WITHIN:
        return IdentityCheck(True, f"agrees within {percent(max(abs(off), 0.001), 1)}: {both}", off)
    return IdentityCheck(False, f"differs by {signed_percent(off)}: {both}", off)


def _windows(server: ServerMonitor, life: Life, source: str, running: int | None) -> tuple[PhaseWindow, ...]:
    """Of this life and the few before it, on the log's clock."""
    found: list[PhaseWindow] = []
    lives = server.lives[: server.lives.index(life) + 1] if life in server.lives else [life]
    for each in lives[-_HELD_LIVES:]:
        if source == "metrics":
            counted = each.counters.history.windows("metrics", running)
            if not counted or each.last_stats_at is None:
                continue
            # Whoever looked at the page had a clock of his own; zones are all that they may differ by.
            shift = zone_between(each.last_stats_at, counted[-1].at)
            found += [replace(window, at=window.at + shift) for window in counted] if shift else counted
        elif source in ("probe", "log", "custom"):
            known: dict[str, PhaseSource] = {"probe": "probe", "log": "log", "custom": "custom"}
            found += each.phase_history.windows(known[source], running)
    return tuple(found)


# -- both sides ----------------------------------------------------------------------------------


def _part(view: PhasesView, name: str) -> float | None:
    return next((part.ms for part in view.parts if part.name == name), None)


def verify_cost(
    baseline: PhasesView, speculative: PhasesView, step_ms: float | None, reference_step_ms: float | None = None
) -> VerifyCost | None:
    """What a verify costs in steps of the baseline: of its measured decode phase, else of its step as a whole."""
    verify = _part(speculative, "verify")
    if verify is None:
        return None
    same = (
        baseline.shown is not None
        and speculative.shown is not None
        and None not in (baseline.shown.running, speculative.shown.running)
        and baseline.shown.running == speculative.shown.running
    )
    if same and (decode := _part(baseline, "decode")):
        return VerifyCost(verify / decode, decode, "the baseline's measured decode phase")
    if step_ms:
        return VerifyCost(verify / step_ms, step_ms, "the baseline's step by its throughput")
    if reference_step_ms:
        return VerifyCost(verify / reference_step_ms, reference_step_ms, "the reference's step")
    return None


def what_if(
    baseline: LevelFigures,
    speculative: LevelFigures,
    phases: PhasesView,
    cost: VerifyCost | None,
    *,
    reference_step_ms: float | None = None,
    most_accept_len: int | None = None,
) -> WhatIf | None:
    """The speed-up as it is now, to be moved; None without accept length and cycle on both sides."""
    step, cycle, accept = baseline.cycle_ms, speculative.cycle_ms, speculative.accept_len
    if not step or not cycle or not accept:
        return None
    step /= baseline.accept_len or 1.0  # 1 for a baseline; more when two speculative set-ups are compared
    verify = _part(phases, "verify")
    drafts = [ms for name in ("draft", "draft_extend") if (ms := _part(phases, name)) is not None]
    draft = math.fsum(drafts) if drafts else None
    if not phases.is_at(speculative.running) or (verify or 0.0) + (draft or 0.0) > SUM_WITHIN * cycle:
        verify = draft = None
    return WhatIf(
        accept_len=accept,
        step_ms=step,
        rest_ms=cycle - (verify or 0.0) - (draft or 0.0),
        verify_ms=verify,
        draft_ms=draft,
        reference_step_ms=reference_step_ms,
        most_accept_len=most_accept_len if most_accept_len and most_accept_len >= accept else None,
        running=speculative.running,
        verify_steps_ms=cost.step_ms if cost is not None and verify is not None else None,
    )
