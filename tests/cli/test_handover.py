"""What leaves the program: a folder of files, and a message to a webhook that really listens."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from specmon.commands.handover import Notify, chosen_webhook, write_folder
from specmon.errors import ConfigError, SpecmonError
from specmon.monitor.announcing import Announcement
from specmon.monitor.snapshot import Severity
from tests.ui import pictures

CHANGE = Announcement(Severity.ALERT, "SPECULATIVE WINS", "BASELINE NOT TRUSTED", "62.9 tok/s", "NCCL_PROTO missing")


class Listener:
    """A web server that keeps what was posted to it."""

    def __init__(self, status: int) -> None:
        self.bodies: list[dict[str, object]] = []
        self.paths: list[str] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                listener.paths.append(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.bodies.append(json.loads(body))
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook?key=SECRET"


@contextmanager
def listening(status: int = 200) -> Iterator[Listener]:
    listener = Listener(status)
    thread = threading.Thread(target=listener.server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield listener
    finally:
        listener.server.shutdown()
        thread.join()
        listener.server.server_close()


async def told(url: str, times: int = 1) -> list[str]:
    faults: list[str] = []
    notify = Notify(webhook=url, clock=lambda: 1_772_124_103.0, failed=faults.append)
    for _ in range(times):
        notify.tell(CHANGE, pictures.diverged())
    await notify.finish()
    return faults


def test_webhook_gets_the_change_with_its_figures() -> None:
    with listening() as listener:
        assert asyncio.run(told(listener.url)) == []
    (body,) = listener.bodies
    assert body["text"] == "specmon: BASELINE NOT TRUSTED: 62.9 tok/s · NCCL_PROTO missing"
    assert body["before"] == "SPECULATIVE WINS"
    assert body["at"] == "2026-02-26T16:41:43+00:00"
    assert body["deviation"] == pytest.approx(-0.292, abs=0.01)
    assert "NCCL_PROTO" in str(body["causes"])


@pytest.mark.parametrize("status", [404, 500])
def test_webhook_that_refuses_is_told_once_and_its_address_never(status: int) -> None:
    with listening(status) as listener:
        faults = asyncio.run(told(listener.url, times=3))
    assert faults == [f"the webhook was not told: it answers with status {status}"]


def test_message_follows_no_redirect() -> None:
    with listening(307) as listener:
        faults = asyncio.run(told(listener.url))
    assert faults == ["the webhook was not told: it answers with status 307"]
    assert listener.paths == ["/hook?key=SECRET"]


def test_nobody_listening_is_a_sentence() -> None:
    with listening() as listener:
        url = listener.url
    assert asyncio.run(told(url)) == ["the webhook was not told: Connection refused"]


@pytest.mark.parametrize("url", ["h.test/hook", "ftp://h.test/x", "https:///x", "http://[::1", "http://a b/c"])
def test_wrong_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen_webhook(url)
    assert url not in str(caught.value)


def test_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECMON_WEBHOOK", "https://example.com/a")
    assert chosen_webhook(None) == "https://example.com/a"
    assert chosen_webhook("https://example.com/b") == "https://example.com/b"


def test_each_export_has_a_folder_of_its_own_for_the_user_alone(tmp_path: Path) -> None:
    first = write_folder(tmp_path, "specmon-1", {"report.md": "a"})
    second = write_folder(tmp_path, "specmon-1", {"report.md": "b"})
    assert first != second
    assert (first / "report.md").read_text() == "a"
    assert stat.S_IMODE(first.stat().st_mode) == 0o700


def test_folder_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecmonError, match="Not a directory"):
        write_folder(tmp_path / "file", "specmon-1", {})
