"""What one look at a server's metrics page brought: the samples that specmon uses, as the page has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Refusal = Literal["large", "html", "cut", "text", "none", "file"]


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One line of a page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Scrape:
    """The samples of one page. Counters are finite and not negative; others that stood there are only counted."""

    at: float | None  # s since 1970 when the page was fetched; None when nobody wrote it down
    samples: tuple[MetricSample, ...]
    refused_figures: int = 0  # counters that are NaN, infinite or negative


@dataclass(frozen=True, slots=True)
class PageRefused:
    """A page that gives no figures."""

    at: float | None
    reason: Refusal  # "large", "html", "cut": half a page; "text": a line is no metric; "none": no metric of an engine;
    # "file": where it lies cannot be read
