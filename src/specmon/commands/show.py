"""A running feed on a screen, or as plain lines where there is none."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specmon.commands.asking import UserPrompt
from specmon.monitor.announcing import Announcer
from specmon.monitor.feed import Feed
from specmon.references.effects import known_effects
from specmon.reports.plain import phase_notices, plain_lines
from specmon.settings.names import settings_path
from specmon.visible import visible

if TYPE_CHECKING:
    from specmon.commands.desk import HeldFeed
    from specmon.commands.handover import Notify


_HANGUP_LOOK_MS = 1000
_HANGUP_GRACE_S = 3.0  # an orderly end takes less


def has_screen() -> bool:
    """A terminal to draw on. Textual draws on stderr and reads stdin, so all three must be one.

    In a browser (`specmon serve`) the driver stands for it.
    """
    if is_in_browser():
        return True
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def is_in_browser() -> bool:
    """Whether this process draws for a browser, as textual-serve starts it."""
    return "web_driver" in os.environ.get("TEXTUAL_DRIVER", "")


async def show(
    feed: HeldFeed,
    *,
    is_plain: bool,
    interval_s: float,
    theme: str | None,
    is_ascii: bool,
    prompt: UserPrompt | None = None,
    notify: Notify | None = None,
    folders: Sequence[Path] = (),
    is_utc: bool = False,
) -> int:
    """Run a feed until the user quits or, without a screen, until it has ended; the exit code is returned.

    What `prompt` is asked for meanwhile is asked on the screen. `notify` hears of each change of the verdict.
    References are chosen from `folders`; `is_utc` says that log stamps without a zone are UTC.
    """
    known_effects()  # a fault in the user's own file is told on a plain terminal
    if is_plain or not has_screen():
        if notify is not None:
            notify.failed = partial(click.echo, err=True)
        warn = partial(click.echo, err=True)
        await print_lines(feed, interval_s=interval_s, write=click.echo, warn=warn, is_ascii=is_ascii, notify=notify)
        return 0
    from specmon.commands.desk import SessionDesk
    from specmon.commands.handover import SessionHandover
    from specmon.ui.app import SpecmonApp

    app = SpecmonApp(
        feed,
        theme=theme,
        ascii_only=is_ascii or not _can_write_utf8(),
        handover=SessionHandover(lambda: feed.session, Path.cwd()),
        notice=notify,
        desk=SessionDesk(feed, folders, is_utc=is_utc),
        keys=settled_keys(),
    )
    if notify is not None:
        notify.failed = partial(app.notify, title="Webhook", severity="warning", markup=False)
    with (
        ended_with_its_terminal(),
        _ended_by_signals(app.exit),
        nullcontext() if prompt is None else prompt.on_screen(app.ask, app.choose),
    ):
        await app.run_async()
    return app.return_code or 0


def settled_keys() -> Mapping[str, str]:
    """The keys that the user has chosen, by the action's id."""
    if not settings_path().exists():
        return {}
    from specmon.settings.file import read_settings

    file = read_settings()
    return {} if file is None else file.settings.keys


@contextmanager
def _ended_by_signals(leave: Callable[..., object]) -> Iterator[None]:
    """A polite kill or a closed terminal ends the screen as `q` does, so that the terminal is put back in order."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, partial(leave, return_code=128 + number))
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextmanager
def ended_with_its_terminal() -> Iterator[None]:
    """A terminal that is gone ends the program also where the screen cannot.

    Textual 8.2.8 writes in a thread that dies with the terminal; what is drawn after that fills its queue, and then the
    loop stands still for ever. Or the SIGCONT behind the SIGHUP starts the driver once more while the screen ends, and
    the interpreter waits for its threads. A capture is whole up to the last second by then.
    """
    is_left = threading.Event()

    def watch() -> None:
        while not is_left.is_set():
            if _is_hung_up(_HANGUP_LOOK_MS):
                if not is_left.wait(_HANGUP_GRACE_S):
                    os._exit(128 + signal.SIGHUP)
                return

    can_look = not is_in_browser() and hasattr(select, "poll")
    if can_look:
        threading.Thread(target=watch, daemon=True, name="hangup").start()
    try:
        yield
    finally:
        # Without its terminal the rest of the way is watched, too.
        if not (can_look and _is_hung_up(0)):
            is_left.set()


def _is_hung_up(wait_ms: int) -> bool:
    hangup = select.poll()
    hangup.register(sys.stderr.fileno(), 0)  # POLLHUP needs no asking for
    return any(state & (select.POLLHUP | select.POLLERR) for _, state in hangup.poll(wait_ms))


def _can_write_utf8() -> bool:
    return is_in_browser() or is_utf8(sys.stderr.encoding or "", os.environ)


def is_utf8(encoding: str, environ: Mapping[str, str]) -> bool:
    """Whether a terminal takes more than ASCII, by Python's encoding for it and the locale that it was given.

    Python writes UTF-8 also in the locale C, and says so in LC_CTYPE (PEP 538 and 540), whatever the terminal takes.
    Where no locale is set at all, as in most containers, the terminal is one of today.
    """
    if encoding.lower().replace("-", "") != "utf8":
        return False
    names = ["LC_ALL", "LANG"] if environ.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8") else _LOCALES
    return next((environ[name] for name in names if environ.get(name)), "") not in ("C", "POSIX")


_LOCALES = ["LC_ALL", "LC_CTYPE", "LANG"]


async def print_lines(
    feed: Feed,
    *,
    interval_s: float,
    write: Callable[[str], object],
    warn: Callable[[str], object],
    is_ascii: bool = False,
    notify: Notify | None = None,
) -> None:
    """Print a set of lines every interval, and a last one when the feed has ended; `warn` gets each notice once."""
    running = asyncio.ensure_future(feed.run())
    printed, announcer, warned = "", Announcer(), set[tuple[str, str]]()
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=interval_s)
            picture = feed.snapshot()
            announcement = announcer.see(picture.headline, asyncio.get_running_loop().time())
            if announcement is not None and notify is not None:
                notify.tell(announcement, picture)
            for name, notice in phase_notices(picture):
                # The figures before the colon change with every look.
                if (key := (name, notice.partition(": ")[2] or notice)) not in warned:
                    warned.add(key)
                    warn(f"specmon: {visible(f'{name}: {notice}')}")
            text = "\n".join((*plain_lines(picture, is_ascii=is_ascii), ""))
            if text != printed or not running.done():
                write(text)
                sys.stdout.flush()
            printed = text
        running.result()
    finally:
        running.cancel()
        if notify is not None:
            await notify.finish()
