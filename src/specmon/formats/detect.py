"""Whose log a stream is, by its content.

Each engine has one pattern, which finds the first line that only this engine writes. uvicorn's lines, tracebacks
and those of NCCL are no proof: several engines have them. A third party's dialect may bring a pattern of its own
as `signature`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, runtime_checkable

from specmon.formats import Dialect
from specmon.formats.llamacpp import LlamaCppDialect
from specmon.formats.sglang import SglangDialect
from specmon.formats.sglang.lifecycle import FAMILIAR, STARTS
from specmon.formats.trtllm import TrtLlmDialect
from specmon.formats.vllm import VllmDialect

_RECORD = rb"(?:\{[^\n]{0,512}?\"(?:message|msg)\" ?: ?\"(?:\[[^\]\n]{0,64}\] )?)?"
_FRONT = rb"[^\[\n\"'{]{0,200}?"  # what a logger or a terminal may have put before a record

_SGLANG = (
    rb"\n(?:" + _RECORD + _FRONT + rb"(?:\[?20\d\d-[^\]\n]{6,96}\] )?"
    rb"(?:(?:Decode|Prefill) batch(?: \[\d{1,15}\])?[.,] ?#|server_args=(?:[A-Z]\w{0,63}\(|\{)"
    rb"|The server is fired up and ready)"
    rb"|[^\n\"'{]{0,200}?\[20\d\d-[^\]\n]{6,96}\] (?:(?:Decode|Prefill) batch(?: \[\d{1,15}\])?[.,] ?#"
    rb"|server_args=(?:[A-Z]\w{0,63}\(|\{)|The server is fired up and ready)"
    rb"|" + _FRONT + rb"\[20\d\d-[^\]\n]{6,24}(?: [A-Z_]{2,12}\d{1,6}){1,8}\] "
    rb"|" + _FRONT + rb"\[20\d\d-[^\]\n]{6,96}\] (?:" + STARTS + rb"|" + FAMILIAR + rb")"
    rb"|[^\n]{0,160}?(?:\bsglang[./](?:srt|launch)|\bsglang::|\bimport sglang|launch_server\.py: error))"
)
_VLLM_LEVEL = rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d "
_VLLM = (
    rb"\n(?:[^\n\"'{]{0,96}?\((?:API[Ss]erver|ApiServer|EngineCore|VLLM_DP_Coordinator|VllmWorker)[\w.-]{0,32} pid=\d"
    rb"|" + _RECORD + rb"[^\n\"'{]{0,96}?" + _VLLM_LEVEL + rb"[^\n]{1,160}?\] (?:\(?Engine \d{1,4}|\d{1,4} Engines "
    rb"|Avg prompt throughput: |Speculative metrics: |SpecDecoding metrics: |SpecDecodeWorker |Iteration\(\d"
    rb"|v?LLM (?:API )?(?:server|engine)|vLLM |Initializing an? |non-default args|args: Namespace|Loading drafter)"
    rb"|[^\n\"'{]{0,96}?(?:Engine \d{3}: )?Avg prompt throughput: "
    rb"|[^\n\"'{]{0,96}?SpecDecoding metrics: "
    rb"|\{[^\n]{0,512}?\"name\" ?: ?\"vllm\."
    rb"|(?:usage: )?vllm(?: serve)?(?: \[|: error: ))"
)
_LLAMA = (
    rb"\n(?:\[\d{1,5}\] )?(?:\d{1,9}\.\d\d\.\d{3}\.\d{3} )?(?:[IWED] )?(?:"
    rb"(?:slot|srv|que|res) +[\w~]{1,40}: "
    rb"|main: (?:server is listening|loading model|HTTP server|model loaded|starting)"
    rb"|llama_\w{1,64}: |common_\w{1,64}: |ggml_\w{1,64}: |load_backend: |system_info: n_threads"
    rb"|build: \d{1,9} \(|draft acceptance|prompt eval time +=|\s{0,12}eval time +=|generation eval time +="
    rb"|statistics +\S{1,32}: #calls|print_timings|error while handling argument|init: (?:using|listening)"
    rb"|\{\"(?:type\":\"log\"|tid\":|function\":)"
    rb"|(?:INFO|ERR|WARN) \[ {1,40}[\w:~]{1,64}\] )"
)
_TRTLLM = (
    rb"\n[^\n\"'{]{0,64}?(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\]|\[TensorRT-LLM\]|\[TRT-LLM\]"
    rb"|iter = \d{1,15}, global_rank = )"
)

# uvicorn's answers as SGLang has them written: all that is left of its log when stderr went elsewhere.
_SGLANG_ANSWER = re.compile(
    rb"\n\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?\] INFO: {5}[^ \n\"']{1,64} - \"POST /(?:generate|v1/)"
)

# Lines of which one is enough to say that another engine has taken over a log whose engine was known: statistics
# and launches with the engine's own prefix. Prose about another engine, or a path with its name, is none.
_CHANGES = {
    "sglang": rb"\n[^\[\n\"'{]{0,64}?\[20\d\d-[^\]\n]{6,96}\] (?:(?:Decode|Prefill) batch(?: \[\d{1,15}\])?[.,] ?#"
    rb"|server_args=(?:[A-Z]\w{0,63}\(|\{))",
    "vllm": rb"\n(?:\([A-Z][\w.-]{2,40} pid=\d{1,10}\) )?(?:"
    + _VLLM_LEVEL
    + rb"[^\n]{1,160}?\] (?:(?:Engine \d{1,4}: )?Avg prompt throughput: |\d{1,4} Engines |vLLM API server version"
    rb"|SpecDecoding metrics: |Speculative metrics: |Initializing a V?\d? ?LLM engine|non-default args: ))",
    "llama.cpp": rb"\n(?:\[\d{1,5}\] )?(?:\d{1,9}\.\d\d\.\d{3}\.\d{3} [IWED] )?"
    rb"(?:slot (?:launch_slot_|print_timing): id "
    rb"|srv +load_model: loading model|llama_model_loader: loaded meta data|main: server is listening)",
    "tensorrt-llm": rb"\n\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\]",
}

# What the usual lines of an engine begin with: none of them needs to be asked whether it is another engine's.
_USUAL = {
    "sglang": rb"\[20",
    "vllm": rb"\((?:API|Engine|Worker)|INFO [01]",
    "llama.cpp": rb"\d{1,9}\.\d\d\.\d|slot|srv",
    "tensorrt-llm": rb"\[\d\d/",
}
SIGNATURES = {"sglang": _SGLANG, "vllm": _VLLM, "llama.cpp": _LLAMA, "tensorrt-llm": _TRTLLM}


@runtime_checkable
class Signed(Protocol):
    """A dialect that brings the pattern by which its logs are known: one line, with the line feed before it."""

    @property
    def signature(self) -> bytes:
        """The source of a regular expression over bytes, beginning with a line feed and without groups."""
        ...


@lru_cache(maxsize=1)
def built_in_dialects() -> tuple[Dialect, ...]:
    """The dialects that come with the program. The first one reads what is nobody's: NCCL lines, tracebacks."""
    return SglangDialect(), VllmDialect(), LlamaCppDialect(), TrtLlmDialect()


class Detector:
    """Finds the engines of the dialects that it knows."""

    def __init__(self, dialects: Iterable[Dialect] = ()) -> None:
        self.dialects: Sequence[Dialect] = tuple(dialects) or built_in_dialects()
        self._signs: list[tuple[Dialect, re.Pattern[bytes]]] = []
        self._takeovers: list[tuple[Dialect, bytes]] = []  # patterns that are hardly ever needed by themselves
        for dialect in self.dialects:
            own = dialect.signature if isinstance(dialect, Signed) else None
            if sign := own or SIGNATURES.get(dialect.engine):
                self._signs.append((dialect, re.compile(sign)))
                self._takeovers.append((dialect, own or _CHANGES[dialect.engine]))
        self._others: dict[str, re.Pattern[bytes] | None] = {}

    def first(self, text: bytes) -> tuple[int, Dialect] | None:
        """The first line of `text` (which begins with a line feed) that proves an engine, and that engine's dialect.

        The position is that of the line feed before the line.
        """
        found: tuple[int, Dialect] | None = None
        for dialect, pattern in self._signs:
            end = len(text) if found is None else text.find(b"\n", found[0] + 1) + 1 or len(text)
            match = pattern.search(text, 0, end)
            if match is not None and (found is None or match.start() < found[0]):
                found = match.start(), dialect
        return found

    def guess(self, text: bytes) -> Dialect | None:
        """Whose a log is likely to be in which no line proves an engine; `text` begins with a line feed."""
        if _SGLANG_ANSWER.search(text) is None:
            return None
        return next((dialect for dialect in self.dialects if dialect.engine == "sglang"), None)

    def change(self, text: bytes, engine: str) -> tuple[int, Dialect] | None:
        """The first line in a log of `engine` that proves another one."""
        if engine not in self._others:
            guard = b"(?!" + _USUAL[engine] + b")" if engine in _USUAL else b""
            others = [sign.removeprefix(rb"\n") for dialect, sign in self._takeovers if dialect.engine != engine]
            joined = rb"\n" + guard + b"(?:" + b"|".join(others) + b")"
            self._others[engine] = re.compile(joined) if others else None
        pattern = self._others[engine]
        if pattern is None or (match := pattern.search(text)) is None:
            return None
        for dialect, sign in self._takeovers:
            if dialect.engine != engine and re.compile(sign).match(text, match.start()):
                return match.start(), dialect
        return None
