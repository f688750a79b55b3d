"""Whether two servers may be compared at all, and what else stands between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from specmon.analysis.figures import LevelFigures
from specmon.events import Json

_FATAL = (
    ("model_path", "the models"),
    ("tp_size", "tensor parallelism"),
    ("dp_size", "data parallelism"),
    ("pp_size", "pipeline parallelism"),
    ("quantization", "the quantisation"),
    ("kv_cache_dtype", "the KV cache types"),
)
_CONTEXT_BAND = 2.0


def fatal_differences(baseline: Mapping[str, Json], speculative: Mapping[str, Json]) -> tuple[str, ...]:
    """Why a comparison would mean nothing, from flags that both launch lines name."""
    found = []
    for name, words in _FATAL:
        if name not in baseline or name not in speculative:
            continue
        left, right = baseline[name], speculative[name]
        if left != right and not (name == "model_path" and _same_tail(left, right)):
            found.append(f"{words} differ ({left} against {right})")
    return tuple(found)


def qualifications(
    baseline_flags: Mapping[str, Json],
    speculative_flags: Mapping[str, Json],
    baseline: LevelFigures | None,
    speculative: LevelFigures | None,
) -> tuple[str, ...]:
    """What stands beside a verdict without forbidding it."""
    found = []
    left, right = baseline_flags.get("model_path"), speculative_flags.get("model_path")
    if left != right and None not in (left, right) and _same_tail(left, right):
        found.append(f"the models have the same name in two places ({left} and {right})")
    overlap = [flags.get("disable_overlap_schedule") for flags in (baseline_flags, speculative_flags)]
    if None not in overlap and overlap[0] != overlap[1]:
        found.append("only one of the two schedules with overlap")
    if baseline is None or speculative is None:
        return tuple(found)
    graphs = {baseline.cuda_graph, speculative.cuda_graph}
    if len(graphs - {"unknown"}) > 1:
        found.append(f"CUDA graphs: {baseline.cuda_graph} on the baseline, {speculative.cuda_graph} on the other")
    if _is_apart(baseline.context_tokens, speculative.context_tokens):
        found.append(
            f"the contexts differ more than twofold ({baseline.context_tokens:.0f} and "
            f"{speculative.context_tokens:.0f} tokens a request)"
        )
    if (baseline.queue or 0) > 0 or (speculative.queue or 0) > 0:
        found.append(f"requests wait in the queue ({baseline.queue or 0:.0f} and {speculative.queue or 0:.0f})")
    return tuple(found)


def is_same_load(baseline: LevelFigures, speculative: LevelFigures) -> bool:
    """The same B is given; context within a factor of two, and queues alike."""
    waiting = [(level.queue or 0) > 0 for level in (baseline, speculative)]
    return not _is_apart(baseline.context_tokens, speculative.context_tokens) and waiting[0] == waiting[1]


def _is_apart(left: float | None, right: float | None) -> bool:
    if not left or not right:
        return False
    return max(left, right) > _CONTEXT_BAND * min(left, right)


def _same_tail(left: Json, right: Json) -> bool:
    return isinstance(left, str) and isinstance(right, str) and PurePosixPath(left).name == PurePosixPath(right).name
