"""srun --label, and mpirun with tags: `0: `, the number of the task."""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope, Label

START = rb" {0,4}\d{1,5}: (?=\S)"
_PREFIX = re.compile(rb" {0,4}(\d{1,5}): ?")


def unwrap(line: Envelope) -> bool:
    """Take the task's number off."""
    if (match := _PREFIX.match(line.text)) is None:
        return False
    task = match[1].decode()
    line.text = line.text[match.end() :]
    line.name(Label(("srun",), (task,), task))
    return True
