"""Hands a session on: the verdict as text, the whole as files, a change of the verdict to people elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from specmon import __version__
from specmon.errors import ConfigError, SpecmonError
from specmon.monitor.announcing import Announcement
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Snapshot
from specmon.reports.bundle import bundle_of
from specmon.reports.times import stamp
from specmon.reports.verdict import verdict_markdown

WEBHOOK_VARIABLE = "SPECMON_WEBHOOK"
_TIME_LIMIT_S = 10.0


class SessionHandover:
    """What the screen hands on of one session; `session` is asked anew, as a replay that goes back begins another."""

    def __init__(self, session: Callable[[], Session], folder: Path) -> None:
        self._session = session
        self._folder = folder

    def verdict(self, snapshot: Snapshot) -> str:
        """The verdict of this picture as Markdown."""
        return verdict_markdown(snapshot)

    async def to_clipboard(self, text: str) -> bool:
        """Give a text to the tmux around us, which also hands it to its terminal; False when there is none."""
        if not os.environ.get("TMUX"):
            return False
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_TIME_LIMIT_S):
                process = await asyncio.create_subprocess_exec(
                    *("tmux", "load-buffer", "-w", "-"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                )
                await process.communicate(text.encode("utf-8"))
                return process.returncode == 0
        return False

    async def export(self, snapshot: Snapshot, screen_svg: str) -> Path:
        """Write report, document, tables and pictures into a new folder. Raises SpecmonError when that fails."""
        files = bundle_of(self._session(), snapshot) | {"screen.svg": screen_svg}
        name = f"specmon-{time.strftime('%Y%m%d-%H%M%S')}"
        return await asyncio.to_thread(write_folder, self._folder, name, files)


def write_folder(parent: Path, name: str, files: dict[str, str]) -> Path:
    """Make a folder that was not there and put the files into it, for the user alone, as logs may hold secrets."""
    for number in range(1, 1000):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            reason = error.strerror or error
            raise SpecmonError(f"{folder}: {reason}. Start specmon in a folder that you may write to.") from error
        try:
            for file, text in files.items():
                (folder / file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise SpecmonError(f"{folder}: {error.strerror or error}; what is there is not whole.") from error
        return folder
    raise SpecmonError(f"{parent / name} and 999 more are there already.")


class Notify:
    """Tells people elsewhere when the verdict has changed: by a notification of the desktop, by a webhook."""

    def __init__(
        self,
        *,
        on_desktop: bool = False,
        webhook: str | None = None,
        clock: Callable[[], float] = time.time,
        failed: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.on_desktop = on_desktop
        self._webhook = webhook
        self._clock = clock
        self._posts: set[asyncio.Task[None]] = set()
        self.failed = failed  # told once in a sentence when the webhook does not answer
        self._has_failed = False

    def tell(self, announcement: Announcement, snapshot: Snapshot) -> None:
        """The verdict has changed; the webhook is told in the background."""
        if self._webhook is not None:
            task = asyncio.create_task(self._post(self._webhook, message_of(announcement, snapshot, self._clock())))
            self._posts.add(task)
            task.add_done_callback(self._posts.discard)

    async def finish(self) -> None:
        """Wait for what is being told, a few seconds at most."""
        if self._posts:
            await asyncio.wait(set(self._posts), timeout=_TIME_LIMIT_S)

    async def _post(self, url: str, message: dict[str, object]) -> None:
        try:
            await asyncio.to_thread(post, url, message)
        except OSError as error:
            if not self._has_failed:  # a dead webhook must not fill the event list
                self._has_failed = True
                self.failed(f"the webhook was not told: {_fault(error)}")


def message_of(announcement: Announcement, snapshot: Snapshot, at: float) -> dict[str, object]:
    """What a webhook gets: `text` is what chat programs show, the rest is for scripts."""
    comparison, trust = snapshot.comparison, snapshot.trust
    against = comparison.against_reference if comparison is not None else None
    return {
        "text": f"specmon: {announcement.word}: {announcement.text}",
        "schema_version": 1,
        "specmon_version": __version__,
        "at": stamp(at, 0),
        "severity": announcement.severity.value,
        "before": announcement.before,
        "word": announcement.word,
        "sentence": announcement.sentence,
        "why": announcement.why,
        "speedup": comparison.speedup if comparison is not None else None,
        "speedup_against_reference": against.speedup if against is not None else None,
        "reference": trust.reference,
        "deviation": trust.deviation,
        "causes": [cause.name for cause in trust.causes],
        "servers": [view.name for view in (snapshot.baseline, snapshot.speculative) if view is not None],
    }


def post(url: str, message: dict[str, object]) -> None:
    """Send a message as JSON. Raises OSError when it does not arrive."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8")
    headers = {"Content-Type": "application/json", "User-Agent": f"specmon/{__version__}"}
    request = urllib.request.Request(url, body, headers, method="POST")
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=_TIME_LIMIT_S):
        pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What was meant for one address goes to no other."""

    def redirect_request(self, *_: object) -> None:
        return None


def chosen_webhook(given: str | None) -> str | None:
    """The address from the command line or the environment. Raises ConfigError when it is none.

    It is never shown: whoever knows it may write there.
    """
    url = given or os.environ.get(WEBHOOK_VARIABLE) or None
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or True)
    except ValueError:
        is_address = False
    if not is_address or any(ord(char) <= 32 for char in url):
        raise ConfigError("the webhook is no address: give a whole one, as https://example.com/hook.")
    return url


def _fault(error: OSError) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answers with status {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)
