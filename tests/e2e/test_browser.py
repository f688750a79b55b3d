"""`specmon serve` in a real Chromium: the page shows the screen, a click reaches it, and foreign pages do not."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from specmon.commands.serve import is_own_page

STORY = Path(__file__).parents[2] / "fixtures" / "story"
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# The terminal in the page paints on a canvas, so what it is given is kept on its way through the WebSocket.
LISTEN = """
window.received = "";
const Original = window.WebSocket;
window.WebSocket = class extends Original {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", async event => {
      const data = event.data;
      window.received += data instanceof Blob ? await data.text()
        : data instanceof ArrayBuffer ? new TextDecoder().decode(data) : data;
    });
    this.addEventListener("close", () => { window.received += "<closed>"; });
  }
};
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of the story's replay on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-m", "specmon", "serve", "--port", str(port), "replay", "--speed", "1", str(STORY)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HOME": str(tmp_path), "LANG": "C", "TERM": "dumb"},
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == f"Open http://127.0.0.1:{port} in a browser. Ctrl+C ends it.\n"
        yield f"http://127.0.0.1:{port}"
        server.terminate()
        assert server.wait(90) == 0
        assert server.stdout.read() == ""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium here (install chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # Root in a container has no sandbox of its own to start, and /dev/shm may be too small.
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.add_argument("--window-size=1300,800")
    options.add_argument(f"--user-data-dir={tmp_path / 'profile'}")
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    found.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LISTEN})
    try:
        yield found
    finally:
        found.quit()


def wait_for(browser: webdriver.Chrome, pattern: str, seconds: float = 90) -> str:
    """All that the terminal was given, once the pattern is in it."""
    end = time.monotonic() + seconds
    received = ""
    while time.monotonic() < end:
        received = str(browser.execute_script("return window.received"))
        if re.search(pattern, received):
            return received
        time.sleep(0.1)
    raise AssertionError(f"{pattern!r} did not come:\n{received[-2000:]!r}")


def test_the_screen_is_in_the_browser_and_a_click_and_a_key_reach_it(
    address: str, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    browser.get(address)
    wait_for(browser, "(?s)BASELINE.*SPECULATIVE.*REPLAY 16:40:0")
    screen = browser.find_element(By.CSS_SELECTOR, ".xterm-screen")
    # The replay bar is the last row but one. The story would need a minute and a half to come where the click goes.
    below_middle = screen.size["height"] // 2 - 27
    ActionChains(browser).move_to_element_with_offset(
        screen, screen.size["width"] * 3 // 10, below_middle
    ).click().perform()
    wait_for(browser, "REPLAY 16:41:", seconds=15)
    picture = tmp_path / "screen.png"
    assert browser.save_screenshot(str(picture))
    assert len(picture.read_bytes()) > 20_000  # an empty page is a few kilobytes
    ActionChains(browser).send_keys("q").perform()
    wait_for(browser, "<closed>")


def test_a_foreign_page_and_a_foreign_name_are_refused(address: str) -> None:
    for path, headers in (("/ws", {"Origin": "http://evil.example"}), ("/", {"Host": "evil.example"})):
        request = urllib.request.Request(address + path, headers=headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=90)
        assert refused.value.code == 403
        refused.value.close()


@pytest.mark.parametrize(
    ("host_header", "origin", "host", "is_own"),
    [
        ("127.0.0.1:8000", None, "127.0.0.1", True),  # opened by hand
        ("localhost:8000", "http://localhost:8000", "127.0.0.1", True),
        ("[::1]:8000", "http://[::1]:8000", "::1", True),
        ("127.0.0.1:8000", "http://evil.example", "127.0.0.1", False),
        ("127.0.0.1:8000", "http://127.0.0.1:9000", "127.0.0.1", False),  # another program of this machine
        ("127.0.0.1:8000", "null", "127.0.0.1", False),  # a sandboxed frame
        ("evil.example:8000", "http://evil.example:8000", "127.0.0.1", False),  # its name was made to point here
        ("gpu01:8000", "http://gpu01:8000", "0.0.0.0", True),
        ("gpu01:8000", "http://evil.example", "0.0.0.0", False),
        ("", None, "127.0.0.1", False),
    ],
)
def test_only_our_own_page_reaches_the_screen(host_header: str, origin: str | None, host: str, is_own: bool) -> None:
    assert is_own_page(host_header, origin, host) is is_own


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["summary", "x.log"], "specmon: `summary` has no screen to serve. Serve one of: connect, replay, demo."),
        (["replay", "--bogus"], "No such option '--bogus'."),
        (["--port", "70000", "demo"], "70000 is not in the range 1<=x<=65535."),
        (["--host", "198.51.100.7", "demo"], "specmon: cannot serve on 198.51.100.7:8000: "),
        ([], "Missing argument 'COMMAND [ARG]...'"),
    ],
)
def test_a_wrong_line_is_told_before_anything_is_served(words: list[str], sentence: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specmon", "serve", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_that_others_reach_is_warned_about() -> None:
    with socket.socket() as free:
        free.bind(("0.0.0.0", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-m", "specmon", "serve", "--host", "0.0.0.0", "--port", str(port), "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        assert server.stdout.readline().startswith(f"Open http://0.0.0.0:{port} ")
        server.terminate()
        assert "there is no login: whoever opens the page can do what you can do" in server.stderr.read()
