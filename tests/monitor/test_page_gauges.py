"""Queue and cache by a server's metrics page: shown where the log tells none, gone when the page is."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.analysis.counters import reading_of
from specmon.formats.metricspage import read_series
from specmon.monitor.session import Session
from specmon.monitor.snapshot import PageGauges, ServerView
from specmon.scrape import PageRefused, Scrape
from specmon.sources.events import Chunk

DATA = Path(__file__).parents[1] / "data" / "metrics"
LLAMA = Path(__file__).parents[1] / "data" / "llamacpp" / "llamacpp-b11434-cpu-baseline.log"
LAUNCH = (
    b"[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, port=30007, "
    b"speculative_algorithm=None)\n"
)
END = b"[2026-02-26 16:40:09] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...\n"


def scrape(text: str) -> Scrape:
    (page,) = read_series(line.encode() for line in text.splitlines(keepends=True))
    assert isinstance(page, Scrape)
    return page


SGLANG = scrape(
    'sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3.0\nsglang:num_running_reqs{dp_rank="1",tp_rank="0"} 3.0\n'
    'sglang:num_queue_reqs{dp_rank="0",tp_rank="0"} 2.0\nsglang:num_queue_reqs{dp_rank="1",tp_rank="0"} 5.0\n'
    'sglang:token_usage{dp_rank="0",tp_rank="0"} 0.4\nsglang:token_usage{dp_rank="1",tp_rank="0"} 0.9\n'
)


@pytest.mark.parametrize(
    ("page", "queue", "kv_usage"),
    [
        (SGLANG, 7.0, 0.9),
        (scrape((DATA / "vllm-0.32.0-cpu-baseline-json-formatter.metrics-after.txt").read_text()), 0.0, 0.0),
        (scrape((DATA / "llamacpp-b11434-cpu-baseline.metrics-after.txt").read_text()), 0.0, None),
        (scrape("vllm:num_requests_waiting 4.0\nvllm:gpu_cache_usage_perc 0.25\n"), 4.0, 0.25),
        (scrape("vllm:num_requests_waiting NaN\nvllm:kv_cache_usage_perc NaN\n"), None, None),
        (scrape("vllm:num_requests_waiting -1.0\nvllm:kv_cache_usage_perc 55\n"), None, None),
        (scrape("vllm:generation_tokens_total 5\n"), None, None),
    ],
)
def test_gauges_of_every_engine_are_read_or_unknown(page: Scrape, queue: float | None, kv_usage: float | None) -> None:
    reading = reading_of(page)
    assert (reading.queue, reading.kv_usage) == (queue, kv_usage)


def view_of(session: Session) -> ServerView:
    snapshot = session.snapshot(0.0)
    (view,) = [each for each in (snapshot.baseline, snapshot.speculative, *snapshot.others) if each is not None]
    return view


def with_log(text: bytes) -> Session:
    session = Session()
    session.add("1", "a log")
    session.feed("1", Chunk(0.0, 0, text))
    return session


def test_server_without_a_decode_line_shows_what_its_page_says() -> None:
    session = with_log(LAUNCH)
    before = view_of(session)
    session.attach_page("1", SGLANG)
    assert view_of(session).page == PageGauges(running=3, queue=7, kv_usage=0.9)
    assert view_of(session).no_data_reason == (
        f"{before.no_data_reason}; its metrics page: 3 running, 7 waiting, KV cache 90 %"
    )


@pytest.mark.parametrize("page", [None, PageRefused(None, "html"), Scrape(1.0, SGLANG.samples, refused_figures=1)])
def test_gauges_go_with_the_page(page: Scrape | PageRefused | None) -> None:
    session = with_log(LAUNCH)
    session.attach_page("1", SGLANG)
    session.attach_page("1", page)
    assert view_of(session).page is None


def test_server_that_has_ended_has_no_gauges() -> None:
    session = with_log(LAUNCH)
    session.attach_page("1", SGLANG)
    session.feed("1", Chunk(0.0, len(LAUNCH), END))
    assert view_of(session).page is None


def test_queue_of_the_page_does_not_become_the_logs() -> None:
    session = with_log(LLAMA.read_bytes().partition(b"1.23.525.800")[0])
    session.attach_page("1", scrape("llamacpp:requests_processing 1\nllamacpp:requests_deferred 6\n"))
    view = view_of(session)
    assert view.level is not None
    assert view.level.queue is None
    assert view.page is not None
    assert view.page.queue == 6
