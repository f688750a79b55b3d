"""Synthetic snapshots that look like real sessions: deterministic, with the figures of a true story.

The baseline ran at 88.8 tok/s with hand-tuned NCCL variables, lost them in a restart and fell to 62.9;
speculation gives 75.9 at accept length 2.10, which wins against the one and loses against the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from specmon.monitor.logtail import LogTail
from specmon.monitor.snapshot import (
    AgainstReference,
    ComparisonView,
    Difference,
    EventLine,
    Headline,
    LaunchView,
    LevelFigures,
    Link,
    LinkState,
    LogLine,
    Mark,
    MarkKind,
    Playback,
    Role,
    RunState,
    SamplePoint,
    ServerView,
    Severity,
    Snapshot,
    Trust,
    TrustView,
    Verdict,
)

NOW = 20_510 * 86_400.0 + 16 * 3600 + 41 * 60 + 43
RESTART = NOW - 178
_NAMES = ("gpu01:30000", "gpu02:30000")


def wobble(index: int, size: float) -> float:
    """Noise that is the same in every run and on every machine."""
    return size * (math.sin(index * 1.7) + 0.6 * math.sin(index * 0.37 + 1.0) + 0.4 * math.cos(index * 3.1))


def series(
    seconds: float,
    every_s: float,
    level: Callable[[float], float | None],
    *,
    accept: float | None = None,
    noise: float = 0.5,
    now: float = NOW,
) -> tuple[SamplePoint, ...]:
    """Samples up to `now`; a level of None is a pause, the first after it is left out."""
    points = []
    after_pause = True
    for index in range(int(seconds / every_s)):
        at = now - seconds + index * every_s
        value = level(at)
        if value is None:
            after_pause = True
            continue
        excluded = "after_idle" if after_pause else "after_prefill" if index % 41 == 17 else None
        tok_s = value * (0.62 if excluded else 1.0) + wobble(index, noise)
        length = None if accept is None else accept + wobble(index + 5, 0.05)
        cycle = 1000 * (length or 1.0) / tok_s
        points.append(SamplePoint(at, tok_s, 1, length, cycle, excluded))
        after_pause = False
    return tuple(points)


def _excluded(**counts: int) -> MappingProxyType[str, int]:
    return MappingProxyType(counts)


def _log(names: tuple[str, str], base: float, spec: float, count: int = 60) -> tuple[LogLine, ...]:
    lines: list[LogLine] = []
    for index in range(count):
        at = NOW - (count - index) * 0.5
        clock = f"2026-02-26 16:41:{int(at) % 60:02d}"
        if index % 2:
            text = (
                f"[{clock} TP0] Decode batch, #running-req: 1, #token: {338 + index}, token usage: 0.00, accept len: "
                f"{2.10 + wobble(index, 0.04):.2f}, accept rate: 0.55, cuda graph: True, "
                f"gen throughput (token/s): {spec + wobble(index, 0.6):.2f}, #queue-req: 0"
            )
            lines.append(LogLine(names[1], Role.SPECULATIVE, at, text, is_stats=True))
        else:
            text = (
                f"[{clock} TP0] Decode batch, #running-req: 1, #token: {341 + index}, token usage: 0.00, "
                f"cuda graph: True, gen throughput (token/s): {base + wobble(index, 0.4):.2f}, #queue-req: 0"
            )
            lines.append(LogLine(names[0], Role.BASELINE, at, text, is_stats=True))
    return tuple(lines)


def _odd_log() -> tuple[LogLine, ...]:
    """The story's log: a prefill and what it spoils, a warning, a line that came in half."""
    names, lines = _NAMES, list(_log(_NAMES, 62.9, 75.9))
    text = "[2026-02-26 16:41:38 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0"
    lines[-9] = LogLine(names[1], Role.SPECULATIVE, NOW - 5, text, is_stats=True)
    lines[-7] = replace(lines[-7], excluded="after_prefill")
    lines[-5] = LogLine(
        names[0], Role.BASELINE, NOW - 3, "[2026-02-26 16:41:40 TP0] WARNING: NCCL falls back to shared memory"
    )
    lines[-4] = LogLine(
        names[1], Role.SPECULATIVE, NOW - 2, "[2026-02-26 16:41:41 TP0] Decode batch, #running-req: 1, #tok",
        is_stats=True, is_unparsed=True,
    )  # fmt: skip
    return tuple(lines)


def _causes() -> tuple[Difference, ...]:
    wanted = (
        ("NCCL_PROTO", "LL"),
        ("NCCL_ALGO", "Ring"),
        ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_MAX_NCHANNELS", "16"),
        ("NCCL_BUFFSIZE", "16777216"),
        ("NCCL_NTHREADS", "512"),
    )
    return tuple(Difference("env", name, value, None, "matters") for name, value in wanted)


def _differences() -> tuple[Difference, ...]:
    return (
        Difference("flag", "speculative_algorithm", None, "EAGLE3", "expected"),
        Difference("flag", "speculative_num_steps", None, "2", "expected"),
        Difference("flag", "speculative_num_draft_tokens", None, "3", "expected"),
        Difference("flag", "port", "30000", "30001", "noise"),
        Difference("flag", "random_seed", "170421", "902117", "noise"),
    )


def diverged() -> Snapshot:
    """The story: the baseline lost its NCCL variables, and speculation looks better than it is."""
    base = ServerView(
        key="base",
        name="gpu01:30000",
        source="gpu01:/var/log/sglang/base.log",
        role=Role.BASELINE,
        link=Link(LinkState.LIVE),
        engine="sglang",
        state=RunState.SERVING,
        speculation="off",
        launch=LaunchView("moonshotai/Kimi-K2.5", "0.5.9", 8, is_read=True),
        run_index=2,
        run_started_at=RESTART,
        level=LevelFigures(1, 221, 212, 62.9, (62.5, 63.3), 58.9, 62.9, 0.4, 61.8, 63.9, 1.0, 15.9, 338, 0, "true"),
        last_tok_s=62.7,
        running=1,
        last_sample_at=NOW - 0.4,
        age_s=0.4,
        samples=221,
        clean=212,
        excluded=_excluded(first_after_start=1, after_prefill=4, after_idle=4),
        points=series(290, 0.64, lambda at: 88.8 if at < RESTART - 20 else None if at < RESTART + 32 else 62.9),
        marks=(Mark(RESTART, MarkKind.RESTART, "restarted"),),
        reference_tok_s=88.8,
        reference_cycle_ms=11.26,
    )
    spec = ServerView(
        key="spec",
        name="gpu02:30000",
        source="gpu02:/var/log/sglang/eagle3.log",
        role=Role.SPECULATIVE,
        link=Link(LinkState.LIVE),
        engine="sglang",
        state=RunState.SERVING,
        speculation="active",
        launch=LaunchView("moonshotai/Kimi-K2.5", "0.5.9", 8, algorithm="EAGLE3", num_steps=2, num_draft_tokens=3,
                          topk=1, is_read=True),
        run_index=1,
        level=LevelFigures(
            1, 208, 197, 75.9, (75.1, 76.7), 71.4, 76.0, 0.9, 71.2, 80.4, 2.10, 27.7, 341, 0, "true"
        ),
        last_tok_s=76.3,
        running=1,
        last_sample_at=NOW - 0.5,
        age_s=0.5,
        samples=208,
        clean=197,
        excluded=_excluded(first_after_start=1, after_prefill=6, after_idle=4),
        unparsed=1,
        points=series(290, 1.1, lambda at: 75.9, accept=2.10, noise=1.3),
    )  # fmt: skip
    return Snapshot(
        title="specmon",
        mode="live",
        now=NOW,
        headline=Headline(
            Severity.ALERT,
            "BASELINE NOT TRUSTED",
            "62.9 tok/s, reference 88.8 (−29.2 %)",
            "likely cause: NCCL_PROTO, NCCL_ALGO, NCCL_P2P_LEVEL and 3 more unset since restart 16:38",
        ),
        trust=TrustView(
            Trust.DIVERGED, "nccl-tuned", 1, 88.8, 62.9, -0.292, 0.05, 212, 3, RESTART, _causes(),
            "slower than the reference since the restart",
        ),
        comparison=ComparisonView(
            Verdict.FASTER,
            "1.21× faster than the baseline measured now",
            1, 1.21, (1.19, 1.22), 1.21, 2.10, 1.74, 0.21, 212, 197, True,
            AgainstReference(0.85, 2.46, -0.15, Verdict.SLOWER, "0.85× of the reference"),
        ),
        baseline=base,
        speculative=spec,
        differences=_differences(),
        events=(
            EventLine(NOW - 41, Severity.ALERT, "", "baseline −29.2 % against reference nccl-tuned (88.8 tok/s)"),
            EventLine(RESTART + 33, Severity.OK, "gpu01:30000", "serving again"),
            EventLine(RESTART, Severity.WARNING, "gpu01:30000", "restarted: 6 variables differ from the reference"),
            EventLine(NOW - 201, Severity.OK, "gpu02:30000", "reconnected after 12 s, no line lost"),
            EventLine(NOW - 213, Severity.WARNING, "gpu02:30000", "connection lost, trying again"),
        ),
        log=LogTail.of(_odd_log()),
        log_revision=60,
        version=7,
    )  # fmt: skip


def healthy() -> Snapshot:
    """The variables are back: the baseline matches its reference and speculation wins by a little."""
    story = diverged()
    assert story.baseline is not None
    assert story.baseline.level is not None
    assert story.speculative is not None
    assert story.speculative.level is not None
    base = replace(
        story.baseline,
        run_index=1,
        level=replace(
            story.baseline.level, decode_tok_s=88.8, decode_tok_s_ci95=(88.5, 89.1), delivered_tok_s=83.1,
            cycle_ms=11.3, p5_tok_s=87.4, p95_tok_s=90.2,
        ),
        points=series(290, 0.45, lambda at: 88.8, noise=0.5),
        marks=(),
    )  # fmt: skip
    spec = replace(
        story.speculative,
        unparsed=0,
        level=replace(
            story.speculative.level, decode_tok_s=94.0, decode_tok_s_ci95=(93.1, 94.9), delivered_tok_s=88.0,
            cycle_ms=22.3, p5_tok_s=88.2, p95_tok_s=99.6,
        ),
        points=series(290, 0.9, lambda at: 94.0, accept=2.10, noise=1.5),
    )  # fmt: skip
    return replace(
        story,
        headline=Headline(
            Severity.OK,
            "SPECULATIVE WINS",
            "1.06× (95 % CI 1.05 – 1.07)",
            "baseline trusted: 88.8 tok/s, reference 88.8 (0.0 %) · accept 2.10 of 3, break-even 1.98",
        ),
        trust=TrustView(
            Trust.MATCHES, "nccl-tuned", 1, 88.8, 88.8, 0.0, 0.05, 212, 3, None, (), "as fast as it was recorded"
        ),
        comparison=ComparisonView(
            Verdict.FASTER, "1.06× faster", 1, 1.06, (1.05, 1.07), 1.06, 2.10, 1.98, 0.06, 212, 197, True, None
        ),
        baseline=base,
        speculative=spec,
        log=LogTail.of(_log(_NAMES, 88.8, 94.0)),
        events=(
            EventLine(NOW - 150, Severity.OK, "", "baseline matches reference nccl-tuned (88.8 tok/s)"),
            EventLine(NOW - 201, Severity.OK, "gpu02:30000", "reconnected after 12 s, no line lost"),
        ),
    )


def no_data() -> Snapshot:
    """Both logs are open, neither has a decode line yet."""
    base = ServerView(
        "base", "gpu01:30000", "gpu01:/var/log/sglang/base.log", Role.BASELINE, Link(LinkState.LIVE), "sglang",
        RunState.READY, no_data_reason="no decode line yet: the server is ready and idle",
    )  # fmt: skip
    spec = ServerView(
        "spec", "gpu02:30000", "gpu02:/var/log/sglang/eagle3.log", Role.SPECULATIVE,
        Link(LinkState.WAITING, "retry in 4 s: connection lost"), None, RunState.UNKNOWN,
        no_data_reason="not connected: retry in 4 s",
    )  # fmt: skip
    return Snapshot(
        now=NOW,
        headline=Headline(
            Severity.INFO, "NO DATA", "no decode sample of either server yet", "send a request to both servers"
        ),
        baseline=base,
        speculative=spec,
        events=(EventLine(NOW - 8, Severity.WARNING, "gpu02:30000", "connection lost, trying again"),),
        log=LogTail.of([LogLine("gpu01:30000", Role.BASELINE, NOW - 9, "The server is fired up and ready to roll!")]),
        log_revision=1,
        version=2,
    )


def stale() -> Snapshot:
    """The baseline's server died; its numbers must not stay bright."""
    story = diverged()
    assert story.baseline is not None
    dead = replace(
        story.baseline, state=RunState.CRASHED, is_stale=True, age_s=74.0, link=Link(LinkState.ENDED),
        last_sample_at=NOW - 74,
        points=tuple(p for p in story.baseline.points if p.at < NOW - 74),
        marks=(*story.baseline.marks, Mark(NOW - 73, MarkKind.CRASH, "Scheduler hit an exception")),
    )  # fmt: skip
    return replace(
        story,
        baseline=dead,
        headline=Headline(
            Severity.ALERT, "SERVER DOWN", "gpu01:30000 crashed 74 s ago", "Scheduler hit an exception: CUDA error"
        ),
    )


def replayed() -> Snapshot:
    """The story played from captured logs."""
    return replace(
        diverged(), mode="replay", playback=Playback(NOW, NOW - 290, NOW + 120, 10.0, False),
    )  # fmt: skip


def demo() -> Snapshot:
    """The story played by the demo."""
    return replace(
        diverged(), mode="demo", demo_note="the baseline was restarted without its NCCL variables: watch the left side"
    )


PICTURES = {
    "healthy": healthy,
    "diverged": diverged,
    "no_data": no_data,
    "stale": stale,
    "replayed": replayed,
    "demo": demo,
}
