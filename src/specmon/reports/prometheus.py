"""The figures of a session as Prometheus reads them: one gauge a figure, in base units, a label for each server.

A figure that nobody knows has no sample: a gap in a graph is true, a 0 would not be. The text formats are those of
https://prometheus.io/docs/instrumenting/exposition_formats/; their own library writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

import specmon
from specmon.monitor.snapshot import (
    ComparisonView,
    FleetRow,
    LevelFigures,
    LinkState,
    Role,
    RunState,
    ServerView,
    Snapshot,
    Trust,
    TrustView,
    Verdict,
)
from specmon.visible import visible

Row: TypeAlias = tuple[tuple[str, ...], float | None]
_Gauge: TypeAlias = tuple[str, str, Callable[[ServerView], float | None]]


def prometheus_text(picture: Snapshot, accept: str) -> tuple[bytes, str]:
    """The page of all figures and its content type; `accept` is what the scraper says that it reads."""
    encode, content_type = choose_encoder(accept)
    return encode(_Page(picture)), content_type


class _Page(Collector):
    """Hands the library one picture."""

    def __init__(self, picture: Snapshot) -> None:
        self._picture = picture

    def collect(self) -> Iterator[Metric]:
        picture = self._picture
        views = [view for view in (picture.baseline, picture.speculative, *picture.others) if view is not None]
        yield _info("specmon_build", "The specmon that serves this page.", (), [((), {"version": specmon.__version__})])
        yield from _servers(views)
        yield from _fleet(picture.fleet)
        # Of several servers of one role nobody has said which one the question is about.
        roles = Counter(row.role for row in picture.fleet)
        if roles[Role.BASELINE] == 1:
            yield from _reference(picture.trust)
            if picture.comparison is not None and roles[Role.SPECULATIVE] == 1:
                yield from _comparison(picture.comparison)


# -- one server --------------------------------------------------------------------------------------------------------


def _of_level(read: Callable[[LevelFigures], float | None]) -> Callable[[ServerView], float | None]:
    return lambda view: None if view.level is None else read(view.level)


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def _low(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else interval[0]


def _high(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else interval[1]


_LEVEL = "of the present run at its main load level, from clean samples"
_GAUGES: tuple[_Gauge, ...] = (
    (
        "specmon_decode_tokens_per_second",
        f"Decode throughput {_LEVEL}.",
        _of_level(lambda level: level.decode_tok_s),
    ),
    (
        "specmon_decode_tokens_per_second_low",
        "Lower end of the 95 % interval of the decode throughput.",
        _of_level(lambda level: _low(level.decode_tok_s_ci95)),
    ),
    (
        "specmon_decode_tokens_per_second_high",
        "Upper end of the 95 % interval of the decode throughput.",
        _of_level(lambda level: _high(level.decode_tok_s_ci95)),
    ),
    (
        "specmon_decode_tokens_per_second_median",
        "Median of the clean samples' throughputs at the main load level.",
        _of_level(lambda level: level.median_tok_s),
    ),
    (
        "specmon_delivered_tokens_per_second",
        "Delivered throughput at the main load level: all windows, with what prefills took of them.",
        _of_level(lambda level: level.delivered_tok_s),
    ),
    (
        "specmon_last_tokens_per_second",
        "Sum of the latest line of every rank.",
        lambda view: view.last_tok_s,
    ),
    (
        "specmon_live_tokens_per_second",
        "Sum over the requests under way, by their own progress lines.",
        lambda view: view.live_tok_s,
    ),
    ("specmon_accept_length_tokens", f"Accept length {_LEVEL}.", lambda view: _accept_len(view)),
    (
        "specmon_acceptance_ratio",
        f"Accepted of proposed draft tokens {_LEVEL}, 0 to 1.",
        _of_level(lambda level: level.acceptance_rate),
    ),
    ("specmon_cycle_seconds", f"Time of a decode cycle {_LEVEL}.", _of_level(lambda level: _seconds(level.cycle_ms))),
    (
        "specmon_prefill_ratio",
        "Part of the delivered windows' time that prefills took, 0 to 1.",
        _of_level(lambda level: level.prefill_share),
    ),
    ("specmon_level_requests", "Running requests at the main load level.", _of_level(lambda level: level.running)),
    (
        "specmon_context_tokens",
        "Context of a request at the main load level, median.",
        _of_level(lambda level: level.context_tokens),
    ),
    ("specmon_running_requests", "Running requests by the latest line.", lambda view: view.running),
    (
        "specmon_queued_requests",
        "Waiting requests: by the metrics page, else the median at the main load level.",
        lambda view: _queue(view),
    ),
    (
        "specmon_kv_cache_usage_ratio",
        "Used part of the KV cache by the metrics page, 0 to 1.",
        lambda view: None if view.page is None else view.page.kv_usage,
    ),
    ("specmon_sample_age_seconds", "Age of the newest sample or progress line.", lambda view: view.age_s),
    (
        "specmon_is_stale",
        "1 when the newest sample is older than the larger of 5 s and 3 usual gaps, or the server has ended.",
        lambda view: float(view.is_stale),
    ),
    (
        "specmon_run_index",
        "Which run of the server in its log the figures are of, from 1.",
        lambda view: view.run_index,
    ),
    ("specmon_samples", "Samples of the present run.", lambda view: view.samples),
    ("specmon_clean_samples", "Samples of the present run that count.", lambda view: view.clean),
)


def _accept_len(view: ServerView) -> float | None:
    """Of a server that speculates; the 1 of every other one is no measurement."""
    return view.level.accept_len if view.level is not None and view.role is Role.SPECULATIVE else None


def _queue(view: ServerView) -> float | None:
    if view.page is not None and view.page.queue is not None:
        return view.page.queue
    return None if view.level is None else view.level.queue


def _servers(views: list[ServerView]) -> Iterator[Metric]:
    server = ("server",)
    yield _info("specmon_server", "What a server is.", server, [((view.name,), _facts(view)) for view in views])
    for name, text, read in _GAUGES:
        yield _gauge(name, text, server, [((view.name,), read(view)) for view in views])
    yield _states("specmon_run_state", "1 for the state of the present run, else 0.", RunState, views, _state_of)
    yield _states("specmon_link_state", "1 for how the log's bytes come, else 0.", LinkState, views, _link_of)
    yield _gauge(
        "specmon_left_out_samples",
        "Samples of the present run that do not count, by the rule that leaves them out.",
        ("server", "rule"),
        [((view.name, rule), count) for view in views for rule, count in view.excluded.items()],
    )
    unparsed = CounterMetricFamily(
        "specmon_unparsed_lines", "Stats lines that lack a figure which they need.", labels=server
    )
    for view in views:
        unparsed.add_metric((visible(view.name),), view.unparsed)
    yield unparsed
    yield _gauge(
        "specmon_notice",
        "1 for each notice about a server that holds.",
        ("server", "kind"),
        [((view.name, kind), 1.0) for view in views for kind in dict.fromkeys(view.notice_kinds)],
    )
    yield _gauge(
        "specmon_phase_seconds",
        "Time of a phase of the mean decode cycle at the shown load level.",
        ("server", "phase"),
        [((view.name, part.name), part.ms / 1000) for view in views for part in view.phases.parts],
    )
    yield _gauge(
        "specmon_speculation_is_active",
        "1 when the server accepts draft tokens, 0 when it is set to and does not, or is not set to.",
        server,
        [((view.name,), _SPECULATION.get(view.speculation)) for view in views],
    )


_SPECULATION = {"active": 1.0, "inactive": 0.0, "off": 0.0}


def _state_of(view: ServerView) -> StrEnum:
    return view.state


def _link_of(view: ServerView) -> StrEnum:
    return view.link.state


def _facts(view: ServerView) -> dict[str, str]:
    launch = view.launch
    facts = {
        "role": view.role.value,
        "engine": view.engine,
        "source": view.source,
        "model": launch.model,
        "engine_version": launch.engine_version,
        "algorithm": launch.algorithm,
        "num_steps": launch.num_steps,
        "num_draft_tokens": launch.num_draft_tokens,
        "tp_size": launch.tp_size,
    }
    return {name: "" if value is None else str(value) for name, value in facts.items()}


def _fleet(rows: tuple[FleetRow, ...]) -> Iterator[Metric]:
    """What is known of each server against the reference."""
    server = ("server",)
    held = [row for row in rows if row.trust is not Trust.NO_REFERENCE]
    yield _gauge(
        "specmon_baseline_deviation_ratio",
        "Measured over recorded decode throughput of a baseline, less 1.",
        server,
        [((row.name,), row.deviation) for row in held],
    )
    yield _gauge(
        "specmon_baseline_state",
        "1 for how a baseline stands against its reference, else 0.",
        ("server", "state"),
        [((row.name, state.value), float(row.trust is state)) for row in held for state in Trust],
    )


# -- the question ------------------------------------------------------------------------------------------------------


def _reference(trust: TrustView) -> Iterator[Metric]:
    if trust.reference is None:
        return
    named = ("reference",)
    for name, text, value in (
        (
            "specmon_reference_tokens_per_second",
            "Recorded decode throughput at the compared load level.",
            trust.reference_tok_s,
        ),
        (
            "specmon_reference_tolerance_ratio",
            "By how much a baseline may differ from the reference.",
            trust.tolerance,
        ),
    ):
        yield _gauge(name, text, named, [((trust.reference,), value)])
    yield _gauge(
        "specmon_baseline_cause",
        "1 for each difference in the conditions that may explain a deviation.",
        ("kind", "name", "weight"),
        [((cause.kind, cause.name, cause.weight), 1.0) for cause in trust.causes],
    )


def _comparison(found: ComparisonView) -> Iterator[Metric]:
    against = found.against_reference
    yield from (
        _gauge(name, text, (), [((), value)])
        for name, text, value in (
            (
                "specmon_speedup_ratio",
                "Speculative over baseline decode throughput at the compared load level.",
                found.speedup,
            ),
            ("specmon_speedup_ratio_low", "Lower end of the speed-up's 95 % interval.", _low(found.speedup_ci95)),
            ("specmon_speedup_ratio_high", "Upper end of the speed-up's 95 % interval.", _high(found.speedup_ci95)),
            (
                "specmon_delivered_speedup_ratio",
                "Speculative over baseline delivered throughput at the compared load level.",
                found.delivered_speedup,
            ),
            (
                "specmon_break_even_accept_length_tokens",
                "The accept length at which speculation would be as fast as the baseline.",
                found.break_even_accept_len,
            ),
            ("specmon_headroom_ratio", "Accept length over its break-even, less 1.", found.headroom),
            ("specmon_compared_requests", "Running requests at the compared load level.", found.running),
            (
                "specmon_reference_speedup_ratio",
                "Speculative decode throughput over the reference's.",
                None if against is None else against.speedup,
            ),
            (
                "specmon_reference_break_even_accept_length_tokens",
                "The accept length at which speculation would be as fast as the reference.",
                None if against is None else against.break_even_accept_len,
            ),
        )
    )
    yield _gauge(
        "specmon_verdict",
        "1 for the verdict of the comparison, else 0.",
        ("verdict",),
        [((verdict.value,), float(found.verdict is verdict)) for verdict in Verdict],
    )
    yield _gauge(
        "specmon_assumption",
        "1 when an assumption behind the comparison holds, 0 when it fails; no sample where nobody knows.",
        ("id",),
        [((point.id,), {"ok": 1.0, "failed": 0.0}.get(point.state)) for point in found.checklist],
    )
    yield _gauge(
        "specmon_level_speedup_ratio",
        "Speculative over baseline decode throughput at one number of running requests.",
        ("running",),
        [((str(level.running),), level.speedup) for level in found.levels],
    )
    sides = (Role.BASELINE, Role.SPECULATIVE)
    yield _gauge(
        "specmon_level_decode_tokens_per_second",
        "Decode throughput of the compared servers at one number of running requests.",
        ("role", "running"),
        [
            ((role.value, str(level.running)), tok_s)
            for level in found.levels
            for role, tok_s in zip(sides, (level.baseline_tok_s, level.speculative_tok_s), strict=True)
        ],
    )


# -- how a figure is written -------------------------------------------------------------------------------------------


def _gauge(name: str, text: str, labels: tuple[str, ...], rows: Iterable[Row]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in rows:
        if value is not None:
            family.add_metric([visible(each) for each in values], value)
    return family


def _states(
    name: str, text: str, states: type[StrEnum], views: list[ServerView], read: Callable[[ServerView], StrEnum]
) -> Metric:
    rows = [((view.name, state.value), float(read(view) is state)) for view in views for state in states]
    return _gauge(name, text, ("server", "state"), rows)


def _info(
    name: str, text: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], dict[str, str]]]
) -> Metric:
    family = InfoMetricFamily(name, text, labels=labels)
    for values, facts in rows:
        family.add_metric([visible(each) for each in values], {key: visible(value) for key, value in facts.items()})
    return family
