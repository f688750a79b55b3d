"""Lines that a llama.cpp server writes once or rarely: launch, ready, end, failure.

0.00.004.794 I srv  llama_server: initializing ...
build: 4719 (f07690c9) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu
0.00.007.506 I cmn  common_param: common_params_print_info: build 8123 (d10a5a4a) with GNU 12.2.0 for Linux x86_64
0.00.013.153 I srv    load_model: loading model '/models/a.gguf'
0.00.085.832 I common_speculative_init_result: loading draft model '/models/b.gguf'
0.00.107.479 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 1024, kv_unified = 'false'
0.00.436.482 I spec common_specu: adding speculative implementation 'draft-simple'
0.00.436.503 I spec common_specu: - n_max=4, n_min=0, p_min=0.000000
0.00.118.116 I srv  llama_server: listening on http://127.0.0.1:8201
main: server is listening on http://127.0.0.1:8080 - starting the main loop
1.23.525.800 I srv    operator(): operator(): cleaning up before exit...
0.00.020.277 E srv    load_model: failed to load model, '/models/nope.gguf'
0.00.020.870 E srv  llama_server: exiting due to model loading error
error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max or …
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from specmon.events import Json

_LONGEST_DETAIL = 300  # characters

# The first build whose server prints acceptance (March 2025); older ones can draft (from November 2024) in silence.
FIRST_WITH_ACCEPTANCE = 4981


class Kind(Enum):
    """What a rare line means."""

    BEGIN = "begin"  # a server starts
    BUILD = "build"  # first line of a start in old builds, a detail of it in new ones
    FACT = "fact"
    READY = "ready"
    IDLE = "idle"
    STOP = "stop"
    EXIT = "exit"
    CRASH = "crash"
    FAMILIAR = "familiar"  # says nothing but that this is llama.cpp


@dataclass(frozen=True, slots=True)
class Fact:
    """What a rare line says."""

    kind: Kind
    detail: str = ""
    flags: dict[str, Json] = field(default_factory=dict)
    build: int | None = None


_SPEC = rb"(?:spec {1,16})?common_specu\w*: "
_BUILD = rb"build (?P<build>\d{1,7}) \((?P<commit>\w{1,40})\) with "
_HOST = rb"(?P<host>\[[0-9A-Fa-f:.]{2,48}\]|[^\s:/]{1,255})"
_SERVER = rb"(?:srv {1,16})?(?:llama_server|main): "
_LOAD = rb"(?:srv {1,16})?load_model: "

_TABLE: tuple[tuple[re.Pattern[bytes], Kind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (_SERVER + rb"initializing(?: \.\.\.|$)", Kind.BEGIN),
        (rb"build: (?P<build>\d{1,7}) \((?P<commit>\w{1,40})\) with ", Kind.BUILD),
        (rb"(?:cmn {1,16})?common_param\w*: (?:common_params_print_info: )?" + _BUILD, Kind.BUILD),
        (_LOAD + rb"loading model '(?P<model>[^\n]{1,4096})'", Kind.FACT),
        (_LOAD + rb"loading draft model '(?P<model_draft>[^\n]{1,4096})'", Kind.FACT),
        (rb"common_speculative_init\w*: loading draft model '(?P<model_draft>[^\n]{1,4096})'", Kind.FACT),
        (
            _LOAD + rb"initializing(?: slots)?, n_slots = (?P<n_slots>\d{1,6})"
            rb"(?:, n_ctx_slot = (?P<n_ctx_slot>\d{1,9}))?"
            rb"(?:, kv_unified = '(?P<kv_unified>\w{1,8})')?(?=\D|$)",
            Kind.FACT,
        ),
        (_SPEC + rb"adding speculative implementation '(?P<spec_type>[\w.-]{1,64})'", Kind.FACT),
        (
            _SPEC + rb"- n_max=(?P<n_max>\d{1,6}), n_min=(?P<n_min>\d{1,6}), p_min=(?P<p_min>[\d.]{1,12})",
            Kind.FACT,
        ),
        (
            _SERVER + rb"(?:server is )?listening on https?://" + _HOST + rb":(?P<port>\d{1,5})(?=\D|$)",
            Kind.READY,
        ),
        (_SERVER + rb"model loaded$", Kind.FAMILIAR),
        (rb"(?:srv {1,16})?update_slots: all slots are idle", Kind.IDLE),
        (rb"(?:srv {1,16})?operator\(\): (?:operator\(\): )?(?P<detail>cleaning up before exit)", Kind.EXIT),
        (rb"(?P<detail>Received second interrupt, terminating immediately)", Kind.STOP),
        (_LOAD + rb"(?P<detail>failed to load (?:draft )?model[^\n]{0,300})", Kind.CRASH),
        (_SERVER + rb"(?P<detail>exiting due to [^\n]{1,300})", Kind.CRASH),
        (rb"(?P<detail>error while handling argument \"[^\n]{1,400})", Kind.CRASH),
        (rb"(?P<detail>error: (?:invalid|unknown) argument: [^\n]{1,300})", Kind.CRASH),
        (rb"(?P<detail>[^\n\"']{0,300}?GGML_ASSERT\([^\n]{1,300}\) failed)", Kind.CRASH),
        (rb"(?P<detail>(?:[\w./-]{1,300}:\d{1,6}: )?(?:CUDA|ROCm|SYCL|Vulkan) error: ?[^\n]{0,300})", Kind.CRASH),
        (rb"(?P<detail>terminate called after throwing [^\n]{1,300})", Kind.CRASH),
        (rb"to show complete usage, run with -h", Kind.FAMILIAR),
    )
)  # fmt: skip
# The form before Sep 2024 names the function, then the message.
_OLD_TABLE: tuple[tuple[re.Pattern[bytes], Kind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (rb"main: build info", Kind.BUILD),
        (rb"main: model loaded", Kind.READY),
        (rb"update_slots: all slots are idle", Kind.IDLE),
    )
)
_NUMBERS = frozenset({"n_slots", "n_ctx_slot", "n_max", "n_min", "port"})
_NOT_FLAGS = frozenset({"detail", "build", "commit"})


def read_fact(body: bytes, *, is_old: bool = False) -> Fact | None:
    """The meaning of a rare line; None for any other."""
    for pattern, kind in _OLD_TABLE if is_old else _TABLE:
        if match := pattern.match(body):
            groups = {name: value.decode("utf-8", "replace") for name, value in match.groupdict().items() if value}
            flags: dict[str, Json] = {}
            for name, text in groups.items():
                if name not in _NOT_FLAGS:
                    flags[name] = int(text) if name in _NUMBERS else _real(text) if name == "p_min" else text
            build = groups.get("build")
            if build is not None:
                flags["build"] = f"{build} ({groups['commit']})"
            return Fact(kind, groups.get("detail", "")[:_LONGEST_DETAIL], flags, int(build) if build else None)
    return None


def _real(text: str) -> Json:
    try:
        return float(text)
    except ValueError:
        return text
