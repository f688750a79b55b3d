"""Reaching many hosts at once: what is there soon is shown, and what is not may come later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from specmon.errors import SourceLost, SourceRefused, SpecmonError
from specmon.feeds.live import Channel, LiveFeed
from specmon.sources.events import Refused, Waiting
from specmon.sources.follow import backoff_s

PATIENCE_S = 2.0  # once one host has answered, so long the others may still take before the screen is up
_POLL_S = 0.1

Answer = TypeVar("Answer")


async def soon(
    asked: Sequence[Awaitable[Answer]],
    *,
    patience_s: float = PATIENCE_S,
    is_asking: Callable[[], bool] = lambda: False,
) -> list[Answer | SpecmonError | None]:
    """What each has answered when all have, or a while after the first that did: an answer, a fault, or None so far.

    The first fault is raised when nobody answers at all. While `is_asking`, the user is asked something and is waited
    for. Who has not answered by then is not asked any more.
    """
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        until = None
        while pending := {task for task in tasks if not task.done()}:
            await asyncio.wait(pending, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
            has_answer = any(task.done() and _fault_of(task) is None for task in tasks)
            if not has_answer or is_asking():
                continue
            until = time.monotonic() + patience_s if until is None else until
            if time.monotonic() >= until:
                break
        answers = [(_fault_of(task) or task.result()) if task.done() else None for task in tasks]
        faults = [answer for answer in answers if isinstance(answer, SpecmonError)]
        if len(faults) == len(tasks) and faults:
            raise faults[0]
        return answers
    finally:
        for task in tasks:
            task.cancel()


def _fault_of(task: asyncio.Future[Answer]) -> SpecmonError | None:
    """What is expected to fail; a bug is raised."""
    error = task.exception()
    if error is not None and not isinstance(error, SpecmonError):
        raise error
    return error


async def join_later(
    feed: LiveFeed,
    key: str,
    find: Callable[[], Awaitable[Sequence[Channel]]],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Ask for the servers of a host again and again until there are some, and follow them.

    Until then the row of `key` says why there is nothing. A host that refuses for good is left.
    """
    attempt = 0
    while True:
        try:
            channels = await find()
            break
        except SourceRefused as refusal:
            feed.take(key, Refused(time.time(), str(refusal)))
            return
        except SourceLost as loss:
            attempt += 1
            delay_s = backoff_s(attempt)
            feed.take(key, Waiting(time.time(), attempt, delay_s, str(loss)))
            await sleep(delay_s)
    for channel in channels:
        feed.join(channel)
