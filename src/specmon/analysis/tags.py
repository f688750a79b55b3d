"""Rank tags: which ranks share the work of one server, and which print the same work twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"([A-Za-z_]+)(\d+)")  # MOE_DP1 is no DP1
_ENGINE = re.compile(r"Engine (\d+)")  # vLLM's name of a data-parallel rank


def numbers_of(tag: str) -> dict[str, int]:
    """ "DP9 TP9" as {"DP": 9, "TP": 9}; empty for a tag without numbers."""
    if engine := _ENGINE.fullmatch(tag):
        return {"DP": int(engine[1])}
    return {name.upper(): int(number) for name, number in _PART.findall(tag)}


def ranks_that_add_up(tags: Iterable[str]) -> tuple[str, ...]:
    """One tag for each data-parallel rank, in their order: those whose figures are summed.

    The tensor-parallel ranks of one scheduler and the stages of one pipeline report the same work, so
    of those one counts: the last stage, which holds the sampled tokens, and there the lowest rank.
    """
    chosen: dict[int, tuple[tuple[int, int, str], str]] = {}
    for tag in tags:
        numbers = numbers_of(tag)
        group = numbers.get("DP", -1)
        weight = (-numbers.get("PP", 0), numbers.get("TP", numbers.get("RANK", 0)), tag)
        if group not in chosen or weight < chosen[group][0]:
            chosen[group] = (weight, tag)
    return tuple(chosen[group][1] for group in sorted(chosen))


def missing_ranks(tags: Iterable[str], *, are_all_wanted: bool = False) -> tuple[str, ...]:
    """Data-parallel ranks that the seen tags imply (they count from 0) but that never reported.

    `are_all_wanted`: every RANK shares the requests (TensorRT-LLM's attention DP), and one is not alone.
    """
    if are_all_wanted:
        numbered = {numbers["RANK"] for numbers in map(numbers_of, tags) if "RANK" in numbers}
        if len(numbered) == 1:
            return (f"other than RANK{min(numbered)}",)
        return tuple(f"RANK{number}" for number in range(max(numbered, default=-1)) if number not in numbered)
    tags = list(tags)
    seen = {numbers["DP"] for numbers in map(numbers_of, tags) if "DP" in numbers}
    if any(_ENGINE.fullmatch(tag) for tag in tags):
        return tuple(f"Engine {number:03}" for number in range(max(seen, default=-1)) if number not in seen)
    return tuple(f"DP{number}" for number in range(max(seen, default=-1)) if number not in seen)
