"""What the rules said of each sample of a run, as far back as anybody may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specmon.analysis.rules import Rule

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Verdicts:
    """A byte a sample, in line order. Those that are forgotten are still counted."""

    __slots__ = ("_first", "_rules")

    def __init__(self) -> None:
        self._first = 0  # the oldest that is held
        self._rules = bytearray()

    def __len__(self) -> int:
        return self._first + len(self._rules)

    def __iter__(self) -> Iterator[int]:
        """Those that are held."""
        return iter(self._rules)

    def of(self, index: int) -> Rule | None:
        """What was said of a sample; None when that is no longer held, or not known yet."""
        return Rule(self._rules[index - self._first]) if self._first <= index < len(self) else None

    def numbers(self, indexes: npt.NDArray[np.integer], known: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """What is said of many samples, as numbers of `Rule`; of those that are not held, what was `known` of them."""
        import numpy as np

        places = indexes.astype(np.int64) - self._first
        is_held = (places >= 0) & (places < len(self._rules))
        found = known.copy()
        found[is_held] = np.frombuffer(self._rules, np.uint8)[places[is_held]]
        return found

    def change(self, index: int, rule: Rule) -> None:
        """Another verdict after the fact, of a sample that is held or was forgotten."""
        if index >= self._first:
            self._rules[index - self._first] = rule

    def append(self, rule: Rule) -> None:
        """The verdict on the next sample."""
        self._rules.append(rule)

    def extend(self, rules: bytes) -> None:
        """Those on many."""
        self._rules += rules

    def forget(self, first: int) -> None:
        """Hold none before this one any more."""
        if first > self._first:
            del self._rules[: first - self._first]
            self._first = first

    def clear(self) -> None:
        """There is no sample."""
        self._first = 0
        self._rules.clear()
