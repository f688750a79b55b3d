"""What one file of a load generator says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientResult:
    """One or several benchmarks of one file, taken together. None: the file does not say."""

    tool: str  # "sglang.bench_serving", "vllm bench serve", "aiperf"
    path: str
    output_tok_s: float  # generated tokens over time, all requests together
    duration_s: float | None = None
    benchmarks: int = 1  # records in the file
    concurrency: int | None = None  # requests at a time, when all records have the same limit
    request_rate: float | None = None  # requests/s that it sent at most; None: as fast as they were answered
    model: str | None = None
    port: int | None = None  # of the server it spoke to
    started_at: float | None = None  # s since 1970 on the client's own wall clock, read as if it were UTC
    ended_at: float | None = None

    @property
    def tells_time(self) -> bool:
        """Whether it is known when the requests ran."""
        return self.started_at is not None and self.ended_at is not None
