"""How each engine writes the figures that specmon reads, in the engine's own words."""

from __future__ import annotations

_SGLANG = {
    "decode": "`gen throughput (token/s)` of its `Decode batch` lines, with `accept len` and `#running-req`",
    "accept": "`accept len`",
    "cycle": "not printed: it follows from `gen throughput (token/s)`, `accept len` and `#running-req` of a line",
    "running": "`#running-req`",
    "context": "`#token` over `#running-req`",
    "queue": "`#queue-req`",
    "spread": "`gen throughput (token/s)`",
    "last": "`gen throughput (token/s)`",
}
_VLLM = {
    "decode": "`Avg generation throughput`, with `Running: N reqs` and the counts of `SpecDecoding metrics`",
    "accept": "`Accepted: N tokens` and `Mean acceptance length` of its `SpecDecoding metrics` lines",
    "cycle": "not printed: it follows from `Avg generation throughput`, the accept length and `Running: N reqs`",
    "running": "`Running: N reqs`",
    "queue": "`Waiting: N reqs`",
    "positions": "`Per-position acceptance rate`",
    "spread": "`Avg generation throughput`",
    "last": "`Avg generation throughput`",
}
_LLAMA = {
    "decode": "`eval time = … ms / … tokens` of each request, at the number of its busy slots",
    "accept": "`draft acceptance rate = … ( … accepted / … generated)`, over all cycles of the request",
    "cycle": "`eval time` over tokens less accepted drafts",
    "running": "slots between `launch_slot_` and `release`",
    "spread": "`tokens per second` of `eval time`",
    "last": "`tokens per second` of `eval time`",
}
_TRTLLM = {
    "decode": "the device step time of an iteration, with `num_scheduled_requests`",
    "cycle": "`prev_device_step_time` of the row after, else `host_step_time`",
    "running": "`num_scheduled_requests`",
}
_WORDS = {"sglang": _SGLANG, "vllm": _VLLM, "llama.cpp": _LLAMA, "tensorrt-llm": _TRTLLM}
_SAME = {"delivered": "decode", "rate": "accept"}  # made from the same fields


def own_word(engine: str | None, figure: str) -> str:
    """The field of the log behind a figure; "" where nobody knows the engine, or no line tells it."""
    if engine is None:
        return ""
    if engine.startswith("custom:"):
        return f"as the custom format {engine.removeprefix('custom:')} names it"
    words = _WORDS.get(engine, _SGLANG if engine.startswith("sglang") else {})
    return words.get(figure) or words.get(_SAME.get(figure, ""), "")
