"""An event loop for one command, which ends in good order."""

from __future__ import annotations

import asyncio
import asyncio.base_subprocess
import asyncio.subprocess
from collections.abc import Coroutine
from typing import Any, TypeVar

from specmon.sources.machine import ENDING

_Result = TypeVar("_Result")
_LIMIT_S = 10.0  # more than it takes to end a program that does not heed its end
_OF_PROCESSES = frozenset({asyncio.subprocess.__file__, asyncio.base_subprocess.__file__})


def run_whole(main: Coroutine[Any, Any, _Result]) -> _Result:
    """As `asyncio.run`, but a process that is just being started or ended is so before the loop ends.

    `asyncio.run` cancels every task that is left, also those by which asyncio itself starts a process. They forget its
    pipes then (seen with 3.11), and whoever waits for the process waits for ever.
    """
    return asyncio.run(_ended(main))


async def _ended(main: Coroutine[Any, Any, _Result]) -> _Result:
    try:
        return await main
    finally:
        own = asyncio.current_task()
        while rest := {task for task in asyncio.all_tasks() if task is not own}:
            for task in rest:
                if not task.cancelling() and not _ends_by_itself(task):
                    task.cancel()
            done, _ = await asyncio.wait(rest, timeout=_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break


def _ends_by_itself(task: asyncio.Task[Any]) -> bool:
    """Whether a task starts a process, or ends one."""
    code = getattr(task.get_coro(), "cr_code", None)
    return task.get_name() == ENDING or (code is not None and code.co_filename in _OF_PROCESSES)
