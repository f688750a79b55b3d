"""The counters of a metrics page over all ranks of a server.

Which of several series are summed and which repeat each other follows from their labels. Series that differ in
`tp_rank` or `moe_ep_rank` alone are ranks that do the same pass together: the lowest one stands for them. Series that
differ in `pp_rank` are stages of one pass: its time is the sum of theirs, its tokens and its count are those of one.
All other labels (`dp_rank`, vLLM's `engine`) tell servers of different requests apart, which add up.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from specmon.scrape import MetricSample, PageRefused, Scrape

_SAME_PASS = ("pp_rank", "tp_rank", "moe_ep_rank")


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is used of one page. None: the page does not have it."""

    at: float | None = None
    seconds: Mapping[str, float] | None = None  # GPU seconds by SGLang's category of forward
    passes: float | None = None  # decode passes: cycles
    eager_passes: float = 0.0  # of these, without a CUDA graph
    tokens: float | None = None  # generated, exactly
    answered_tokens: float | None = None  # of requests that have ended (SGLang)
    rounds: float | None = None  # verify calls of those, or draft rounds
    proposed: float | None = None  # draft tokens
    accepted: float | None = None
    by_position: tuple[float, ...] = ()  # accepted at each draft position
    running: float | None = None  # requests of one replica
    queue: float | None = None  # requests that wait, in all
    kv_usage: float | None = None  # 0..1, of the replica whose cache is fullest
    replicas: int = 1
    stages: int = 1

    def falls_below(self, before: Reading) -> bool:
        """A counter is smaller than it was: the server was started anew, or a rank is missing."""
        if self.replicas < before.replicas or self.stages < before.stages:
            return True
        mine, theirs = self._counters(), before._counters()
        return any(mine[name] < theirs[name] for name in mine.keys() & theirs.keys())

    def _counters(self) -> dict[str, float]:
        timed = {f"seconds {name}": value for name, value in (self.seconds or {}).items()}
        return self.totals() | timed | ({} if self.passes is None else {"passes": self.passes})

    def totals(self) -> dict[str, float]:
        """The counters of tokens and drafts that the page has."""
        named = {
            "tokens": self.tokens,
            "answered": self.answered_tokens,
            "rounds": self.rounds,
            "proposed": self.proposed,
            "accepted": self.accepted,
        }
        return {name: value for name, value in named.items() if value is not None}


def reading_of(scrape: Scrape) -> Reading:
    """The page of SGLang, vLLM or llama.cpp in the same words."""
    by_name: dict[str, list[MetricSample]] = defaultdict(list)
    for sample in scrape.samples:
        by_name[sample.name].append(sample)
    if any(name.startswith("sglang:") for name in by_name):
        return _sglang(scrape.at, {name.removeprefix("sglang:"): found for name, found in by_name.items()})
    is_llamacpp = any(name.startswith("llamacpp:") for name in by_name)
    named = {name.split(":", 1)[1]: found for name, found in by_name.items()}
    return _drafts(scrape.at, named, "tokens_predicted_total" if is_llamacpp else "generation_tokens_total")


def stretches_of(pages: Iterable[Scrape | PageRefused]) -> list[list[Scrape | PageRefused]]:
    """A series cut where its counters fall back, as they do when a server starts anew; one stretch at least."""
    stretches: list[list[Scrape | PageRefused]] = [[]]
    before: Reading | None = None
    for page in pages:
        if isinstance(page, Scrape):
            reading = reading_of(page)
            if before is not None and reading.falls_below(before):
                stretches.append([])
            before = reading
        stretches[-1].append(page)
    return stretches


def _sglang(at: float | None, named: Mapping[str, list[MetricSample]]) -> Reading:
    passes = named.get("cuda_graph_passes_total", [])
    decode = [sample for sample in passes if sample.labels.get("mode", "").startswith("decode_")]
    eager = [sample for sample in decode if sample.labels["mode"] == "decode_none"]
    tokens = [each for each in named.get("realtime_tokens_total", []) if each.labels.get("mode") == "decode"]
    timed = named.get("forward_execution_seconds_total", [])
    categories = sorted({sample.labels.get("category", "") for sample in timed})
    running = named.get("num_running_reqs", [])
    gauges = _replicas(running, ())
    return Reading(
        at=at,
        seconds={
            name: _sum([each for each in timed if each.labels.get("category", "") == name], "category", stages=True)
            for name in categories
        }
        or None,
        passes=_sum(decode, "mode") if decode else None,
        eager_passes=_sum(eager, "mode"),
        tokens=_sum(tokens, "mode") if tokens else None,
        answered_tokens=_total(named.get("generation_tokens_total")),
        rounds=_total(named.get("spec_verify_calls_total")),
        running=_sum(running) / len(gauges) if gauges else None,
        queue=_gauge(named, "num_queue_reqs"),
        kv_usage=_fullest(named, "token_usage"),
        replicas=max(1, len(_replicas(decode, ("mode",)))),
        stages=max(1, len({sample.labels.get("pp_rank") for sample in timed})),
    )


def _drafts(at: float | None, named: Mapping[str, list[MetricSample]], tokens: str) -> Reading:
    positions: dict[int, float] = defaultdict(float)
    for sample in named.get("spec_decode_num_accepted_tokens_per_pos_total", []):
        if (position := sample.labels.get("position", "")).isdecimal():
            positions[int(position)] += sample.value
    is_whole = sorted(positions) == list(range(len(positions)))
    return Reading(
        at=at,
        tokens=_total(named.get(tokens)),
        rounds=_total(named.get("spec_decode_num_drafts_total")),
        proposed=_total(named.get("spec_decode_num_draft_tokens_total")),
        accepted=_total(named.get("spec_decode_num_accepted_tokens_total")),
        by_position=tuple(positions[at] for at in sorted(positions)) if is_whole else (),
        running=_total(named.get("num_requests_running") or named.get("requests_processing")),
        queue=_gauge(named, "num_requests_waiting", "requests_deferred"),
        kv_usage=_fullest(named, "kv_cache_usage_perc", "gpu_cache_usage_perc"),
        replicas=max(1, len(_replicas(named.get(tokens, []), ()))),
    )


def _gauge(named: Mapping[str, list[MetricSample]], *names: str) -> float | None:
    """The sum of the first gauge that is there; None when it is no number."""
    value = _total(next((named[name] for name in names if name in named), None))
    return value if value is not None and 0 <= value < math.inf else None


def _fullest(named: Mapping[str, list[MetricSample]], *names: str) -> float | None:
    """The largest share of the first gauge that is there; None when that is none."""
    shares = [sample.value for name in names for sample in named.get(name, ()) if 0 <= sample.value <= 1]
    return max(shares, default=None)


def _total(samples: list[MetricSample] | None) -> float | None:
    return _sum(samples) if samples else None


def _sum(samples: Iterable[MetricSample], selector: str = "", *, stages: bool = False) -> float:
    """Over the replicas; the values of a replica's ranks are told apart by `selector` besides their ranks."""
    total = 0.0
    for of_replica in _replicas(samples, (selector,)).values():
        by_stage: dict[tuple[str, int], list[MetricSample]] = defaultdict(list)
        for sample in of_replica:
            by_stage[sample.labels.get(selector, ""), _rank(sample, "pp_rank")].append(sample)
        first = min(stage for _, stage in by_stage)
        for (_, stage), ranks in by_stage.items():
            if stages or stage == first:
                total += min(ranks, key=lambda each: (_rank(each, "tp_rank"), _rank(each, "moe_ep_rank"))).value
    return total


def _replicas(
    samples: Iterable[MetricSample], selectors: tuple[str, ...]
) -> dict[tuple[tuple[str, str], ...], list[MetricSample]]:
    """The samples by all labels that do not number ranks of one pass or select a value."""
    found: dict[tuple[tuple[str, str], ...], list[MetricSample]] = defaultdict(list)
    for sample in samples:
        labels = {name: value for name, value in sample.labels.items() if name not in (*_SAME_PASS, *selectors)}
        found[tuple(sorted(labels.items()))].append(sample)
    return found


def _rank(sample: MetricSample, label: str) -> int:
    text = sample.labels.get(label, "")
    return int(text) if text.isdecimal() else 0
