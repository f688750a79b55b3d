"""Whether two servers may be compared at all, and what else stands between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from specmon.analysis.figures import LevelFigures
from specmon.events import Json

# The names of SGLang and vLLM for the same thing; both servers are of one engine.
_MODEL = ("model_path", "model")
_TP, _DP, _PP = (
    ("tp_size", "tensor_parallel_size"),
    ("dp_size", "data_parallel_size"),
    ("pp_size", "pipeline_parallel_size"),
)
_SIZES = (_TP, _DP, _PP)
_FATAL = (
    (_MODEL, "the models differ"),
    (_TP, "tensor parallelism differs"),
    (_DP, "data parallelism differs"),
    (_PP, "pipeline parallelism differs"),
    (("quantization",), "the quantisation differs"),
    (("kv_cache_dtype",), "the KV cache types differ"),
)
# A graph or overlapped scheduling that only one of them has, where the lines do not tell.
_MODES = (
    ("disable_overlap_schedule", "only one of the two schedules with overlap"),
    ("async_scheduling", "only one of the two schedules with overlap"),
    ("enforce_eager", "only one of the two may use CUDA graphs (enforce_eager)"),
)
_CONTEXT_BAND = 2.0


def fatal_differences(
    baseline: Mapping[str, Json], speculative: Mapping[str, Json], *, are_whole: bool = False
) -> tuple[str, ...]:
    """Why a comparison would mean nothing, from flags that both launch lines name.

    `are_whole`: no part of a launch line is missing, so a size that it does not name is 1 (vLLM lists only arguments
    that are not the default).
    """
    found = []
    for names, words in _FATAL:
        if are_whole and names in _SIZES:
            sizes = [next((flags[each] for each in names if flags.get(each)), 1) for flags in (baseline, speculative)]
            if sizes[0] != sizes[1]:
                found.append(f"{words} ({sizes[0]} against {sizes[1]})")
            continue
        name = next((name for name in names if name in baseline and name in speculative), None)
        if name is None:
            continue
        left, right = baseline[name], speculative[name]
        if left != right and not (names is _MODEL and _same_tail(left, right)):
            found.append(f"{words} ({left} against {right})")
    return tuple(found)


def graph_mismatch(baseline: LevelFigures, speculative: LevelFigures) -> tuple[str, ...]:
    """A server without captured graphs decodes many times slower: no ratio to one with graphs means anything."""
    names = {"true": "with", "false": "without"}
    words = [names.get(level.cuda_graph) for level in (baseline, speculative)]
    if None in words or words[0] == words[1]:
        return ()
    return (f"the baseline ran {words[0]} CUDA graphs, the speculative server {words[1]}",)


def qualifications(
    baseline_flags: Mapping[str, Json],
    speculative_flags: Mapping[str, Json],
    baseline: LevelFigures | None,
    speculative: LevelFigures | None,
) -> tuple[str, ...]:
    """What stands beside a verdict without forbidding it."""
    found = []
    left, right = (
        next((flags[name] for name in _MODEL if name in flags), None) for flags in (baseline_flags, speculative_flags)
    )
    if left != right and None not in (left, right) and _same_tail(left, right):
        found.append(f"the models have the same name in two places ({left} and {right})")
    for name, words in _MODES:
        modes = [flags.get(name) for flags in (baseline_flags, speculative_flags)]
        if None not in modes and modes[0] != modes[1]:
            found.append(words)
    if baseline is None or speculative is None:
        return tuple(found)
    graphs = {baseline.cuda_graph, speculative.cuda_graph}
    if len(graphs - {"unknown"}) > 1 and not graph_mismatch(baseline, speculative):
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
