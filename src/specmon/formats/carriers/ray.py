"""Ray, which gathers the output of its actors: `(SGLangEngine pid=43033, ip=10.0.0.1) `.

vLLM names its own processes in the same way; those are vLLM's and stay.
"""

from __future__ import annotations

import re

from specmon.formats.carriers.envelope import Envelope, Label

_OWN = rb"(?:API[Ss]erver|ApiServer|EngineCore|MainProcess|VllmWorker|Worker(?:_|[ -]|\d)|VLLM_DP_Coordinator)"
START = rb"\((?!" + _OWN + rb")[A-Za-z_][\w.:<> -]{0,127}? ?pid=\d{1,10}[,)]"
_PREFIX = re.compile(
    rb"\((?!" + _OWN + rb")([A-Za-z_][\w.:<> -]{0,127}?) ?pid=(\d{1,10})(?:, ip=([\d.:a-fA-F]{1,45}))?"
    rb"\)(?: \[repeated \d{1,9}x across cluster\])?(?: |(?=\n)|\Z)"
)


def unwrap(line: Envelope) -> bool:
    """Take the actor's name off."""
    if (match := _PREFIX.match(line.text)) is None:
        return False
    line.text = line.text[match.end() :]
    line.process = int(match[2])
    name, process = match[1].decode("utf-8", "replace"), match[2].decode()
    full = f"{name} pid={process}"
    if match[3]:
        full += f" ip={match[3].decode()}"
    line.name(Label(("ray",), (name, f"{name} pid={process}", full), full))
    return True
