"""Is the log's own tok/s right? Held against figures that do not come from it.

Four are known. The stamps: a line of SGLang stands for a fixed number of cycles, so lines counted between two stamps
give tokens per second without the printed throughput. Phase times that an instrumented server measured. The
server's own counter of tokens on its metrics page. And what a client says that it got.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from specmon.analysis.comparison import SAMPLES_NEEDED
from specmon.clients.result import ClientResult
from specmon.events import Covers
from specmon.monitor.life import Life
from specmon.shares import percent as percent_of
from specmon.shares import signed_percent

# Genuine logs of SGLang on an H200 lay within 1 % of the client on a baseline and within 4 % on speculative servers.
AGREES_WITHIN = 0.05
_EDGES_S = 1.0  # of another load that whole-second stamps let into the time of a benchmark
_IS_CHUNKS_WITHIN = 0.07  # a cycle cut short at the end of an answer makes A a little smaller for the client
_TELLS_CHUNKS_FROM = 1.15  # accept length below which tokens and chunks cannot be told apart
# A line tells the requests at its end, so windows in which they came and went are a few percent off; another
# interval than the assumed one is off by half and more.
_STAMPS_AGREE_WITHIN = 0.05
_STAMPS_DIFFER_FROM = 0.20
_STAMPS_CUT_TO_S = 1.0  # as most logs have them; a log with finer ones is only held to less than it could be
_STAMPS_TOO_COARSE = 0.05  # uncertainty of the elapsed time from which nothing is said
_PHASES_AGREE_WITHIN = 0.05
_PHASES_DIFFER_FROM = 0.10
_COUNTERS_DIFFER_FROM = 0.20
_COUNTED_FROM_S = 8.0  # of steady load
_MUCH_PROMPT = 0.1  # prompt tokens for each generated one, where no line tells when a prompt ran


@dataclass(frozen=True, slots=True)
class Finding:
    """One independent figure against the log's."""

    state: str  # ok, failed, unknown
    text: str


@dataclass(frozen=True, slots=True)
class ClientEvidence:
    """A client's result and what the log delivered meanwhile."""

    server: str  # key of the server that it measured
    result: ClientResult
    delivered_tok_s: float | None
    accept_len: float | None
    is_same_time: bool  # False: over the whole run, for want of times


def findings_of(life: Life, running: int | None, clients: Sequence[ClientEvidence]) -> list[Finding]:
    """All that can be held against the figures of one server life."""
    found = [client_finding(evidence) for evidence in clients]
    if running is not None:
        found += [
            each for each in (_stamps(life), _phases(life, running), counter_finding(life, running)) if each is not None
        ]
    return found


def client_finding(evidence: ClientEvidence) -> Finding:
    """Whether a client got what the log says was delivered."""
    result, log, accept = evidence.result, evidence.delivered_tok_s, evidence.accept_len
    said = f"{result.tool} got {_tok_s(result.output_tok_s)}"
    if log is None:
        return Finding("unknown", f"{said}, the log delivers nothing to compare it with")
    when = "in the same time" if evidence.is_same_time else "over the whole run"
    away = result.output_tok_s / log - 1
    pair = f"{said}, the log delivers {_tok_s(log)} {when} ({signed_percent(away)})"
    within = AGREES_WITHIN
    if evidence.is_same_time and result.duration_s:
        within += _EDGES_S / result.duration_s
    if abs(away) <= within:
        return Finding("ok", pair)
    if accept is not None and accept >= _TELLS_CHUNKS_FROM:
        tokens = result.output_tok_s * accept
        if abs(tokens / log - 1) <= _IS_CHUNKS_WITHIN:
            return Finding(
                "failed",
                f"the client counts chunks, not tokens: its {_tok_s(result.output_tok_s)} × accept length {accept:.2f} "
                f"= {tokens:,.1f}, and the log delivers {_tok_s(log)} {when}. Let it count the tokens that the server "
                "reports (usage.completion_tokens), then compare again",
            )
    if result.request_rate is not None and away < 0:
        return Finding(
            "unknown",
            f"{pair}: it sent {result.request_rate:g} requests a second at most, so its time holds idle time that the "
            "log's figure leaves out. Send as many at once as the comparison is about",
        )
    if not evidence.is_same_time:
        return Finding(
            "unknown",
            f"{pair}: the file tells no time, and the run may hold other load. Judge the time of the benchmark alone "
            "(--since, --until)",
        )
    if away < 0:
        return Finding(
            "unknown", f"{pair}: requests of somebody else, or waiting on the client's side, would explain it"
        )
    return Finding("failed", f"{pair}: no client can get more than the server makes, so one of the two counts wrongly")


def _stamps(life: Life) -> Finding | None:
    """Tokens by the count of lines, over the time between their stamps; idle windows are left out."""
    statistics = life.statistics
    cadence = statistics.cadence
    if cadence.covers is not Covers.WINDOW:
        return None  # only where a line stands for a known count of cycles
    running = statistics.samples_by_level
    found = [statistics.level_of(tag, each) for tag in statistics.counted_ranks for each in running]
    levels = [level for level in found if level is not None]
    tokens = math.fsum(level.delivery.tokens for level in levels)
    said_s = math.fsum(level.delivery.seconds for level in levels)
    stamped_s = math.fsum(level.stamped_s for level in levels)
    stretches = len(statistics.counted_ranks) + sum(level.idle_windows for level in levels)
    if stamped_s <= 0 or said_s <= 0:
        return None
    # A stretch lies between two stamps that are each cut to the clock's resolution: two uniform errors.
    blur = 2 * _STAMPS_CUT_TO_S * math.sqrt(stretches / 6) / stamped_s
    if blur > _STAMPS_TOO_COARSE:
        return None
    ranks = len(statistics.counted_ranks)
    seconds = stamped_s / ranks
    text = (
        f"counted lines give {tokens:,.0f} tokens in {seconds:,.0f} s by the stamps, {_tok_s(tokens / seconds)}, "
        f"the lines' own figures {_tok_s(tokens / said_s * ranks)}"
    )
    away = abs(said_s / stamped_s - 1)
    if away <= _STAMPS_AGREE_WITHIN + blur:
        return Finding("ok", text)
    if away <= _STAMPS_DIFFER_FROM + blur:
        return Finding(
            "unknown", f"{text}: {percent_of(away)} apart, as when requests come and go within a line's window"
        )
    return Finding(
        "failed",
        f"{text}: a line stands for another number of cycles than is assumed, or lines are missing. "
        "Give the whole log; its launch line tells decode_log_interval",
    )


def _phases(life: Life, running: int) -> Finding | None:
    phases = life.logged_phases
    level = life.figures().level_at(running) if phases is not None else None
    if phases is None or level is None or level.cycle_ms is None:
        return None
    at_level = phases.by_running.get(running)
    if at_level is None or at_level.cycle_ms is None:
        return None
    away = level.cycle_ms / at_level.cycle_ms - 1
    words = {"probe": "the probe measured", "log": "its own step lines give"}
    text = (
        f"{words.get(phases.source, 'its own format gives')} {at_level.cycle_ms:.2f} ms a cycle at {running} running, "
        f"the throughput gives {level.cycle_ms:.2f} ms ({signed_percent(away)})"
    )
    if abs(away) <= _PHASES_AGREE_WITHIN:
        return Finding("ok", text)
    if level.clean < SAMPLES_NEEDED or (level.prompt_share or 0) > _MUCH_PROMPT:
        return Finding("unknown", f"{text}, by {level.clean} clean samples, whose time may hold prompts")
    return Finding("failed" if abs(away) > _PHASES_DIFFER_FROM else "unknown", text)


def counter_finding(life: Life, running: int) -> Finding | None:
    """Tokens that the server counted over time that specmon's own clock took, against what the log delivers."""
    if not life.counters.has_readings:
        return None
    counted, level = life.counters.level(running), life.figures().level_at(running)
    if counted is None or level is None or level.delivered_tok_s is None or counted.seconds < _COUNTED_FROM_S:
        return _acceptance(life)
    away = counted.tok_s / level.delivered_tok_s - 1
    text = (
        f"the server's token counter gives {_tok_s(counted.tok_s)} in {counted.seconds:,.0f} s at {running} running, "
        f"the log delivers {_tok_s(level.delivered_tok_s)} ({signed_percent(away)})"
    )
    if abs(away) <= AGREES_WITHIN:
        return Finding("ok", text)
    if abs(away) <= _COUNTERS_DIFFER_FROM or level.clean < SAMPLES_NEEDED:
        return Finding("unknown", f"{text}; the two need not be from the same time")
    return Finding("failed", f"{text}. See that the metrics are of this server, and of the time of this log")


def _acceptance(life: Life) -> Finding | None:
    """Without a load to compare at, the counters still tell an accept length; it says nothing about tok/s."""
    totals, logged = life.counters.totals, life.figures().accept_len
    if totals is None or totals.accept_len is None or logged is None:
        return None
    away = totals.accept_len / logged - 1
    pair = f"the server's counters give an accept length of {totals.accept_len:.3f}, the log {logged:.3f}"
    text = f"{pair} ({signed_percent(away)})"
    return Finding("unknown", f"{text}, and no throughput")


def _tok_s(value: float) -> str:
    return f"{value:,.1f} tok/s"
