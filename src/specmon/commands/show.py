"""A running feed on a screen, or as plain lines where there is none."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

import click

from specmon.monitor.feed import Feed
from specmon.reports.plain import plain_lines


def has_screen() -> bool:
    """A terminal to draw on. Textual draws on stderr and reads stdin, so all three must be one."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


async def show(feed: Feed, *, is_plain: bool, interval_s: float, theme: str | None, is_ascii: bool) -> int:
    """Run a feed until the user quits or, without a screen, until it has ended; the exit code is returned."""
    if is_plain or not has_screen():
        await print_lines(feed, interval_s=interval_s, write=click.echo)
        return 0
    from specmon.ui.app import SpecmonApp

    app = SpecmonApp(feed, theme=theme, ascii_only=is_ascii or not _can_write_utf8())
    await app.run_async()
    return app.return_code or 0


def _can_write_utf8() -> bool:
    return (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"


async def print_lines(feed: Feed, *, interval_s: float, write: Callable[[str], object]) -> None:
    """Print a set of lines every interval, and a last one when the feed has ended."""
    running = asyncio.ensure_future(feed.run())
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=interval_s)
            write("\n".join((*plain_lines(feed.snapshot()), "")))
            sys.stdout.flush()
        running.result()
    finally:
        running.cancel()
