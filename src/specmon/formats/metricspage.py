"""Reads metrics pages (the Prometheus text format) and files that hold many of them, one look after the other.

Such a file is the pages as they came, each behind a line `# scrape 1796057715.206` with the time of the look in
seconds since 1970. A file without such a line is one page whose time nobody knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from specmon.scrape import MetricSample, PageRefused, Refusal, Scrape

LARGEST_PAGE = 8 << 20  # bytes; pages of SGLang and vLLM have 50 to 60 kB, with many models some hundred
LONGEST_LINE = 1 << 16  # bytes that a reader hands over as one line at most

_SCRAPE = re.compile(rb"# scrape (\d{1,11}(?:\.\d+)?)\s*")
_NAME = re.compile(rb"(?:sglang|vllm|llamacpp):([a-z_]+)[ {\t]")
_OWN = re.compile(rb"(?:sglang|vllm|llamacpp):[a-z0-9_]+(?<!_bucket)[ {\t]")
# The rest of a page (histograms above all) is not parsed: it is fifty times as much.
_USED = {
    name.encode()
    for name in (
        *("forward_execution_seconds_total", "cuda_graph_passes_total", "realtime_tokens_total", "num_running_reqs"),
        *("generation_tokens_total", "spec_verify_calls_total", "num_requests_running"),
        *("num_queue_reqs", "token_usage", "num_requests_waiting", "kv_cache_usage_perc", "gpu_cache_usage_perc"),
        "requests_deferred",
        *(
            "spec_decode_num_drafts_total",
            "spec_decode_num_draft_tokens_total",
            "spec_decode_num_accepted_tokens_total",
        ),
        *("spec_decode_num_accepted_tokens_per_pos_total", "tokens_predicted_total", "requests_processing"),
    )
}


def read_series(lines: Iterable[bytes]) -> Iterator[Scrape | PageRefused]:
    """Each page of a file, given as its lines with their ends; a page that gives nothing comes as its refusal."""
    page = _Page(None)
    for line in lines:
        if (mark := _SCRAPE.fullmatch(line)) is not None:
            if page.size:
                yield page.result()
            page = _Page(float(mark[1]))
        else:
            page.add(line)
    if page.size or page.at is not None:
        yield page.result()


def kept_lines(page: bytes) -> bytes:
    """What is worth keeping of a page: the engine's own figures, less histograms, which are fifty times as much."""
    return b"".join(line for line in page.splitlines(keepends=True) if _OWN.match(line) is not None)


class _Page:
    """A page that is being read."""

    def __init__(self, at: float | None) -> None:
        self.at = at
        self.size = 0
        self._used: list[bytes] = []
        self._refusal: Refusal | None = None
        self._last = b"\n"
        self._has_begun = False  # something else than blank lines was seen

    def add(self, line: bytes) -> None:
        """Take a line, or a piece of one that is too long for any metric."""
        self.size += len(line)
        self._last = line
        if self._refusal is not None:
            return
        if not self._has_begun and (text := line.lstrip(b"\xef\xbb\xbf \t\r\n")):
            self._has_begun = True
            if text.startswith(b"<"):
                self._refusal = "html"
                return
        if self.size > LARGEST_PAGE:
            self._refusal = "large"
        elif (name := _NAME.match(line)) is not None and name[1] in _USED:
            self._used.append(line)

    def result(self) -> Scrape | PageRefused:
        """What the page comes to."""
        if self._refusal is not None:
            return PageRefused(self.at, self._refusal)
        if not self._last.endswith(b"\n"):
            return PageRefused(self.at, "cut")  # 1234 may be the beginning of 1234567
        if not self._used:
            return PageRefused(self.at, "none")
        from prometheus_client.parser import text_string_to_metric_families

        kept: list[MetricSample] = []
        refused = 0
        try:
            for family in text_string_to_metric_families(b"".join(self._used).decode()):
                for sample in family.samples:
                    if sample.name.endswith("_total") and not 0 <= sample.value < math.inf:
                        refused += 1
                    else:
                        kept.append(MetricSample(sample.name, sample.labels, float(sample.value)))
        except (ValueError, IndexError, KeyError):  # what the parser raises for lines that are no metrics
            return PageRefused(self.at, "text")
        return Scrape(self.at, tuple(kept), refused)
