"""One condition that is not the same on two sides, and how much it is known to weigh."""

from __future__ import annotations

from dataclasses import dataclass

_VALUE_WIDTH = 60  # characters of a value that a line of text shows


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition that differs between two fingerprints or servers."""

    kind: str  # "env", "flag", "version", "gpu", "graph"
    name: str
    before: str | None  # the reference's (or the baseline's) value, None when it is not set
    now: str | None
    weight: str  # "matters", "unknown", "expected", "noise"
    reason: str = ""  # why it weighs that much, when that is known
    origin: str = ""  # the files that set it, where no process's environment does: "now from /etc/nccl.conf"
    began_with: bool = False  # it changed when the server left its reference

    def shortened(self) -> tuple[str | None, str | None]:
        """Both values for a line of text; of long ones that begin alike, the part where they differ."""
        before, now = self.before, self.now
        if before is not None and now is not None and max(len(before), len(now)) > _VALUE_WIDTH:
            alike = next((at for at, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), 0)
            if alike > _VALUE_WIDTH // 3:
                before, now = (f"…{text[alike - _VALUE_WIDTH // 6 :]}" for text in (before, now))
        return _short(before), _short(now)


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= _VALUE_WIDTH else f"{value[:_VALUE_WIDTH]}…"
