"""kubectl logs --prefix, which names pod and container.

>>> [pod/sglang-spec-6d5f/server] 2026-06-24T17:38:02.436246479Z [2026-06-24 17:38:02] Decode batch, …
"""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope, Label

START = rb"\[pod/[a-z0-9]"
_PREFIX = re.compile(rb"\[pod/([\w.-]{1,253}+)(?:/([\w.-]{1,253}+))?\](?: |(?=\n)|\Z)")


def unwrap(line: Envelope) -> bool:
    """Take the pod's name off."""
    if (match := _PREFIX.match(line.text)) is None:
        return False
    line.text = line.text[match.end() :]
    line.name(pod_label(match[1].decode("utf-8", "replace"), (match[2] or b"").decode("utf-8", "replace")))
    return True


def pod_label(pod: str, container: str) -> Label:
    """The label of a container of a pod."""
    return Label(("pod", pod, container), (pod, f"{pod}/{container}") if container else (pod,))
