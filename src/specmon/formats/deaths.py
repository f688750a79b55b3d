"""What others write into a log when a server's process dies: PyTorch's watchdog, Python, the C++ runtime, the shell.

>>> [rank0]:[E405 10:06:00.1 ProcessGroupNCCL.cpp:616] [PG ID 2 PG GUID 3 Rank 0] Watchdog caught collective operation …
>>> Fatal Python error: Aborted
>>> terminate called after throwing an instance of 'c10::DistBackendError'
>>> ./serve.sh: line 12:  4242 Killed                  python -m sglang.launch_server …
>>> Segmentation fault (core dumped)
"""

from __future__ import annotations

import re

from specmon.events import Crashed

# One of these is in every line that `read_death` reads.
NEEDLES = (
    b"collective operation timeout",
    b"Fatal Python error: ",
    b"terminate called after",
    b"Killed",
    b"Aborted",
    b"Segmentation fault",
    b"Bus error",
)
# Finds their lines in a block behind a line feed, and those of a supervisor: nothing of the server comes after them.
SCAN = re.compile(
    rb"\n(?:(?:\[rank\d{1,6}\]:)?\[E\d|Fatal Python error: |terminate called after|Killed|Aborted|Segmentation fault"
    rb"|Bus error|exited with code \d|[\w./-]{1,200}: line \d|[\w@.-]{1,200}\.service: )"
)
_DEATH = re.compile(
    rb"(?:\[rank\d{1,6}\]:)?\[E[^\n]{1,200}?\] (?P<watchdog>Watchdog caught collective operation timeout[^\n]{0,200})"
    rb"|(?P<python>Fatal Python error: [^\n]{1,200})"
    rb"|(?P<runtime>terminate called after throwing [^\n]{1,200})"
    rb"|(?:[\w./-]{1,200}: line \d{1,6}: {1,8}\d{1,10} )?(?P<shell>(?:Killed|Aborted|Segmentation fault|Bus error))"
    rb"(?: {1,4}\(core dumped\))?(?: {4}[^\n]{0,2000})?[ \r]{0,4}$"
)


def read_death(line: bytes, offset: int) -> Crashed | None:
    """The crash that a line tells of, or None. Several such lines may tell of one crash."""
    if (match := _DEATH.match(line)) is None:
        return None
    return Crashed(offset, cause="death", detail=match[match.lastgroup or 0].decode("utf-8", "replace").strip())
