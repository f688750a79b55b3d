"""A capture keeps the looks at a server's metrics page, and every command that reads it takes them along."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from specmon.commands.metrics import pages_of
from specmon.scrape import Scrape
from tests.cli.conftest import Specmon
from tests.cli.hosts import baseline_log
from tests.cli.test_capture import wait_until
from tests.cli.test_connect import running

HEADER = "Bearer sk-5f0e8b7c6d5a4f3e2d1c"
BOTH = Path(__file__).parents[1] / "data" / "metrics" / "sglang-0.5.16-baseline-both.log"
SERIES = BOTH.with_suffix(".metrics")


class _Counting(ThreadingHTTPServer):
    """Serves a page whose counters grow with each look, to those who have the key."""

    daemon_threads = True
    looks = 0


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Counting)
        if self.path != "/metrics" or self.headers.get("Authorization") != HEADER:
            self.send_error(401 if self.path == "/metrics" else 404)
            return
        self.server.looks += 1
        passes = self.server.looks * 250
        body = (
            "# HELP sglang:num_running_reqs requests\n"
            f'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",tp_rank="0"}} {passes}\n'
            f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {passes}\n'
            f'sglang:e2e_request_latency_seconds_bucket{{le="0.1"}} {passes}\n'
            'sglang:num_running_reqs{tp_rank="0"} 1\n'
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Html(_Page):
    def do_GET(self) -> None:
        body = b"<!DOCTYPE html><html><body>A proxy's word</body></html>\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(page: type[_Page] = _Page) -> Iterator[int]:
    with _Counting(("127.0.0.1", 0), page) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def test_captured_looks_are_read_again_and_the_key_is_in_no_file(
    specmon: Specmon, environment: dict[str, str], tmp_path: Path
) -> None:
    log, out = tmp_path / "base.log", tmp_path / "kept"
    kept = out / "base.metrics.zst"
    with serving() as port:
        log.write_text(baseline_log().replace("port=30017", f"port={port}"))
        keyed = {**environment, "SPECMON_METRICS_AUTHORIZATION": HEADER}
        with running(("capture", str(log), "--out", str(out)), keyed, tmp_path) as process:
            wait_until(lambda: kept.exists() and len(list(pages_of([kept]))) >= 2, 60)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
    assert "Traceback" not in err
    pages = list(pages_of([kept]))
    assert all(isinstance(page, Scrape) and page.at is not None for page in pages)
    run = json.loads(specmon("summary", str(out), "--format", "json").out)["servers"][0]["runs"][-1]
    assert run["counters"]["tokens"] == 250 * (len(pages) - 1)
    assert specmon("replay", str(out), "--plain", "--speed", "max", "--interval", "0.1").status == 0
    told = b"".join(path.read_bytes() for path in out.iterdir()) + err.encode()
    assert b"sk-5f0e" not in told
    assert not any(name.startswith(".") for name in map(str, out.iterdir()))


def test_wanted_key_is_told_while_a_log_is_captured(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    with serving() as port:
        log.write_text(baseline_log().replace("port=30017", f"port={port}"))
        with running(("capture", str(log), "--out", "kept"), environment, tmp_path) as process:
            assert process.stderr is not None
            told = next(line for line in iter(process.stderr.readline, "") if "/metrics" in line)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
    assert "wants an API key (put the header value, as `Bearer KEY`, into a variable NAME and give" in told
    assert "--metrics-header-env localhost=NAME" in told


@pytest.mark.parametrize(
    ("page", "said"), [(_Page, "wants an API key (put the header value"), (_Html, "not used: HTML. The address is")]
)
def test_page_that_gives_nothing_is_told_once_beside_plain_lines(
    environment: dict[str, str], tmp_path: Path, page: type[_Page], said: str
) -> None:
    log = tmp_path / "base.log"
    with serving(page) as port:
        log.write_text(baseline_log().replace("port=30017", f"port={port}"))
        follow = ("connect", "local:", "--baseline", str(log), "--plain", "--interval", "0.2")
        with running(follow, environment, tmp_path) as process:
            assert process.stderr is not None
            assert process.stdout is not None
            seen = [next(line for line in iter(process.stderr.readline, "") if said in line)]
            for _ in range(12):  # some more sets of lines
                assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=20)
    told = [line for line in (*seen, *rest.splitlines()) if said in line]
    assert len(told) == 1
    assert told[0].startswith(f"specmon: 127.0.0.1:{port}: ")


@pytest.mark.parametrize("form", ["named", "beside", "packed", "capture"])
def test_check_compare_and_reference_record_take_metrics_too(specmon: Specmon, tmp_path: Path, form: str) -> None:
    """With the metrics of another, slower server beside it, no log is fit to be a reference."""
    log = tmp_path / "base.log"
    shutil.copy(BOTH, log)
    series = SERIES.read_text()
    given: tuple[str, ...] = ()
    source = str(log)
    if form == "named":
        (tmp_path / "looks.txt").write_text(series)
        given = ("--metrics", f"{log}={tmp_path / 'looks.txt'}")
    elif form == "beside":
        (tmp_path / "base.metrics").write_text(series)
    elif form == "packed":
        import gzip

        (tmp_path / "base.metrics.gz").write_bytes(gzip.compress(series.encode()))
    else:
        folder = tmp_path / "run"
        folder.mkdir()
        (folder / "manifest.toml").write_text('schema = 1\nstarts_at = 2026-11-30T21:42:00Z\n[[server]]\nname = "b"\n')
        shutil.copy(BOTH, folder / "b.log")
        (folder / "b.metrics").write_text(series)
        source = str(folder)
    spec = str(BOTH.with_name("sglang-0.5.16-standalone-both.log"))
    checked = json.loads(specmon("check", source, spec, *given, "--format", "json", "--fail-on", "crash").out)
    counted = {server["role"]: server["runs"][-1]["counters"] for server in checked["servers"]}
    assert counted["baseline"]["tokens"] == 41844
    method = next(each for each in checked["comparison"]["checklist"] if each["id"] == "method")
    assert "token counter" in method["evidence"]
    compared = specmon("compare", spec, "--baseline", source, *given)
    assert compared.status in (0, 3), compared.err
    if not given:
        assert specmon("reference", "record", "good", source, "--out", str(tmp_path / "refs")).status == 0


def test_reference_is_refused_when_the_servers_own_counter_says_otherwise(specmon: Specmon, tmp_path: Path) -> None:
    log = tmp_path / "base.log"
    shutil.copy(BOTH, log)
    halved = [
        f"{line.rsplit(' ', 1)[0]} {float(line.rsplit(' ', 1)[1]) / 2}"
        if line.startswith(("sglang:realtime_tokens_total", "sglang:cuda_graph_passes_total"))
        else line
        for line in SERIES.read_text().splitlines()
    ]
    (tmp_path / "base.metrics").write_text("\n".join(halved) + "\n")
    done = specmon("reference", "record", "wrong", str(log), "--out", str(tmp_path / "refs"))
    assert done.status == 3
    assert "the server's token counter gives" in done.err + done.out
    assert not (tmp_path / "refs" / "wrong.toml").exists()
