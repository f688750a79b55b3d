"""Two servers on the same GPUs at the same time slow each other, and no log of either says so."""

from __future__ import annotations

from specmon.analysis.figures import LevelFigures
from specmon.analysis.overlap import busy_seconds, shared_seconds
from specmon.monitor.launch import Launch
from specmon.monitor.life import Life

_LEAST_S = 5.0
_LEAST_SHARE = 0.05  # of the shorter time of work
_ENGINES = ("sglang", "vllm")  # whose flags tell how many GPUs they take, and that they take some


def same_gpus(lives: tuple[Life, Life], engines: tuple[str | None, str | None], pair: tuple[LevelFigures, ...]) -> str:
    """What stands beside the verdict where the compared samples of one server fell into the other's work; else ""."""
    if any(life.fingerprint is None for life in lives) or any(engine not in _ENGINES for engine in engines):
        return ""
    left, right = (gpus_of(life) for life in lives)
    shared = len(left & right)
    if not shared or (lives[0].utc_offset_s is None) != (lives[1].utc_offset_s is None):
        return ""
    everything = [life.statistics.moments() for life in lives]
    at_level = [life.statistics.moments(*_range(level)) for life, level in zip(lives, pair, strict=True)]
    shift = (lives[1].utc_offset_s or 0) - (lives[0].utc_offset_s or 0)
    everything[1] = [at - shift for at in everything[1]]
    at_level[1] = [at - shift for at in at_level[1]]
    seconds, whole = max(
        (shared_seconds(mine, theirs), busy_seconds(mine))
        for mine, theirs in ((at_level[0], everything[1]), (at_level[1], everything[0]))
    )
    if seconds < max(_LEAST_S, _LEAST_SHARE * whole):
        return ""
    which = "the same GPU" if shared == 1 else f"the same {shared} GPUs"
    return (
        f"both servers worked on {which} of one host at the same time, for {seconds:,.0f} s: each slows the other. "
        "Measure one after the other, or on GPUs of their own"
    )


def gpus_of(life: Life) -> frozenset[str]:
    """The GPUs (by UUID) that a server uses for certain: the first of those that it sees, as many as its ranks need."""
    conditions = life.conditions
    uuids = (conditions.gpu or {}).get("uuids")
    launch = Launch(conditions.flags or {})
    if not isinstance(uuids, list) or launch.text("device") not in (None, "cuda", "auto"):
        return frozenset()
    ranks = (launch.tp_size or 1) * (launch.pp_size or 1) // max(1, launch.number("nnodes") or 1)
    first, step = launch.number("base_gpu_id") or 0, launch.number("gpu_id_step") or 1
    if first < 0 or step < 1:
        return frozenset()
    taken = uuids[first : first + max(1, ranks) * step : step]
    return frozenset(uuid for uuid in taken if isinstance(uuid, str))


def _range(level: LevelFigures) -> tuple[int, int]:
    return level.running_range or (level.running, level.running)
