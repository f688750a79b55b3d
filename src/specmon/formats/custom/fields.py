"""The fields that a custom format may give: the named groups of its patterns, with their units."""

from __future__ import annotations

from dataclasses import dataclass

DECODE, PREFILL, PHASES, LAUNCH = "decode", "prefill", "phases", "launch"
KINDS = {
    DECODE: "a statistics line of decoding: one sample",
    PREFILL: "a batch of prompts was read",
    PHASES: "where the time of a cycle goes; read out of any engine's log",
    LAUNCH: "a server process says with which settings it starts: another run begins",
    "ready": "the server answers requests from here on",
    "idle": "the log itself says that nothing is being served",
    "stop": "somebody asked the server to end: what ends afterwards is no crash",
    "exit": "the process says that it ends",
    "crash": "an exception, a watchdog, a child that died",
    "retraction": "the KV cache was full and requests were put back",
    "flush": "the prefix cache was emptied",
    "environment": "the value of an environment variable",
    "ignore": "lines that must not be read by a later pattern",
}
PHASE_FIELDS = ("draft_ms", "verify_ms", "draft_extend_ms", "decode_ms")
_TIMED = tuple(kind for kind in KINDS if kind != "ignore")


@dataclass(frozen=True, slots=True)
class Field:
    """One figure or word."""

    unit: str
    meaning: str
    kinds: tuple[str, ...]
    is_text: bool = False


FIELDS: dict[str, Field] = {
    "time": Field("as [time] says", "when the line was written", _TIMED, is_text=True),
    "rank": Field("a tag, or a number", "which rank wrote the line: `DP0 TP1`, or `3`", _TIMED, is_text=True),
    "process": Field("pid", "which process wrote the line", _TIMED),
    "tok_s": Field("tokens/s", "R: generated tokens a second, all requests of the rank together", (DECODE,)),
    "tok_s_per_request": Field("tokens/s", "the same for one request; R is this times `running`", (DECODE,)),
    "ms_per_token": Field("ms", "TPOT: one request's time for a token; R is 1000 x `running` / this", (DECODE,)),
    "running": Field("requests", "B: requests in the batch", (DECODE, PREFILL, PHASES)),
    "accept_len": Field("tokens", "A: tokens per request and cycle, the bonus token included", (DECODE, PHASES)),
    "accepted_per_cycle": Field("tokens", "A without the bonus token, so A less 1", (DECODE, PHASES)),
    "accept_rate": Field("0..1", "accepted / proposed drafts as printed: shows that there is speculation", (DECODE,)),
    "drafts": Field("rounds", "draft rounds that the line covers", (DECODE,)),
    "drafted": Field("tokens", "draft tokens that were proposed in them", (DECODE,)),
    "accepted": Field("tokens", "draft tokens that were accepted in them", (DECODE,)),
    "cycles": Field("cycles", "decode cycles that the line covers", (DECODE, PHASES)),
    "cycle_ms": Field("ms", "C: wall time of a cycle, as the server measured it", (DECODE, PHASES)),
    "window_s": Field("s", "time that the line covers", (DECODE,)),
    "tokens": Field("tokens", "tokens that the line covers", (DECODE,)),
    "context_tokens": Field("tokens", "KV tokens of all running requests", (DECODE,)),
    "usage": Field("0..1", "how full the KV cache is", (DECODE, PREFILL)),
    "queue": Field("requests", "requests that wait", (DECODE, PREFILL)),
    "prompt_tok_s": Field("tokens/s", "prompt tokens a second in the same window", (DECODE,)),
    "graph": Field("true/false", "whether the batch ran through a captured graph", (DECODE,), is_text=True),
    "draft_ms": Field("ms", "the draft model's part of a cycle", (DECODE, PHASES)),
    "verify_ms": Field("ms", "the target model's verify forward", (DECODE, PHASES)),
    "draft_extend_ms": Field("ms", "the draft model's catching up after verify", (DECODE, PHASES)),
    "decode_ms": Field("ms", "without speculation: the target model's forward", (DECODE, PHASES)),
    "new_tokens": Field("tokens", "prompt tokens that were computed, cache hits not among them", (PREFILL,)),
    "cached_tokens": Field("tokens", "prompt tokens that were in the cache", (PREFILL,)),
    "version": Field("", "the engine's version", (LAUNCH,), is_text=True),
    "model": Field("", "the target model", (LAUNCH,), is_text=True),
    "draft_model": Field("", "the draft model", (LAUNCH,), is_text=True),
    "algorithm": Field("", "the speculative algorithm; `none` and `off` say that there is none", (LAUNCH,), True),
    "num_steps": Field("tokens", "drafts proposed one after the other", (LAUNCH,)),
    "num_draft_tokens": Field("tokens", "positions that one verify checks, the bonus token's included", (LAUNCH,)),
    "topk": Field("", "branches of the draft tree", (LAUNCH,)),
    "tp_size": Field("ranks", "tensor parallelism", (LAUNCH,)),
    "dp_size": Field("ranks", "data parallelism", (LAUNCH,)),
    "pp_size": Field("ranks", "pipeline parallelism", (LAUNCH,)),
    "requests": Field("requests", "how many were put back", ("retraction",)),
    "detail": Field("", "what the line says, for the event list", ("crash", "exit", "stop", "idle"), is_text=True),
    "exit_code": Field("", "with which status a process ended", ("crash",)),
    "variable": Field("", "the variable's name", ("environment",), is_text=True),
    "value": Field("", "and its value", ("environment",), is_text=True),
}


def allowed_in(kind: str) -> tuple[str, ...]:
    """The fields that a pattern of a kind may have."""
    return tuple(name for name, field in FIELDS.items() if kind in field.kinds)
