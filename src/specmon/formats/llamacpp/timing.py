"""The figures of a request: its timing lines, its draft line, the drafters' counters, its progress.

    prompt eval time =     309.11 ms /    20 tokens (   15.46 ms per token,    64.70 tokens per second)
           eval time =    2365.62 ms /   256 tokens (    9.24 ms per token,   108.22 tokens per second)
    generation eval time =     500.00 ms /   100 runs   (    5.00 ms per token,   200.00 tokens per second)
          total time =    2674.73 ms /   276 tokens
    draft acceptance rate = 0.81944 (  118 accepted /   144 generated)
    draft acceptance = 0.64479 (  167 accepted /   259 generated), mean acceptance length =  2.92, acceptance rate per …
    draft acceptance = 0.46218 (   55 accepted /   119 generated), mean len =  2.38
         acc per pos = (0.337, 0.202, 0.183, 0.183)
    n_gen =    100, tg =  18.67 t/s, tg_3s =  18.85 t/s
    statistics     draft-eagle3: #calls(b,g,a) =    1     87     87, …, dur(b,g,a) = 0.005, 335.322, 0.117 ms

The decode figure is `eval time`: `prompt eval` is the prompt, `total` both. The printed mean length is per
drafting cycle; steps without a draft are not in it, so it is not the accept length of a request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from specmon.events import MISSING

_MS = rb"(\d{1,12}(?:\.\d{1,6})?)"
_RATE = rb"(\d{1,12}(?:\.\d{1,6})?|-?inf|-?nan)"

_PROMPT = re.compile(rb"\s{0,16}prompt eval time {1,8}= {1,12}" + _MS + rb" ms / {1,12}(\d{1,9}) tokens\b")
_EVAL = re.compile(
    rb"\s{0,16}(?:generation )?eval time {1,8}= {1,12}" + _MS + rb" ms / {1,12}(\d{1,9}) (?:tokens|runs) {1,8}"
    rb"\( {0,12}" + _RATE + rb" ms per token, {1,12}" + _RATE + rb" tokens per second\)"
)
_ANY_EVAL = re.compile(rb"\s{0,16}(?:(prompt )|(?:generation )?)eval time {1,8}=")
_REST = re.compile(rb"\s{0,16}(?:total time|graphs reused) {1,8}=")
_DRAFT = re.compile(
    rb"\s{0,16}draft acceptance(?: rate)? = {0,8}"
    + _RATE
    + rb" \( {0,12}(\d{1,9}) accepted / {0,12}(\d{1,9}) generated\)"
)
_POSITIONS = re.compile(rb"(?:acceptance rate per position|acc per pos) = \(([\d., ]{1,1024})\)")
_PROGRESS = re.compile(
    rb"\s{0,16}n_(?:gen|decoded) = {0,12}(\d{1,9}), tg = {0,12}" + _MS + rb" t/s(?:, tg_3s = {0,12}" + _MS + rb" t/s)?"
)
_STATISTICS = re.compile(
    rb"(?:spec [\w ]{1,16}: )?statistics {1,24}([\w.-]{1,64}) {0,8}: "
    rb"#calls\(b,g,a\) = {1,12}(\d{1,12}) {1,12}(\d{1,12}) {1,12}(\d{1,12}),[^\n]{0,4096}? dur\(b,g,a\) = {0,8}"
    + _MS
    + rb", {0,8}"
    + _MS
    + rb", {0,8}"
    + _MS
    + rb" ms"
)
# The offline tools (llama-speculative and its kin) close with
#     decoded  128 tokens in    1.234 seconds, speed:  103.728 t/s
#     n_accept  = 100
_DECODED = re.compile(
    rb"decoded {1,12}(\d{1,9}) tokens in {1,12}" + _MS + rb" seconds, speed: {1,12}" + _RATE + rb" t/s"
)
_COUNTED = re.compile(rb"n_(drafted|accept) {1,4}= (\d{1,9})$")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`eval time`: the decode timing of a whole request."""

    seconds: float
    tokens: int
    tok_s: float  # as printed: (n - 1) / time in new builds, n / time in old ones


@dataclass(frozen=True, slots=True)
class Drafts:
    """The draft line of a request."""

    accepted: int
    proposed: int
    by_position: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Counters:
    """A `statistics` line: one drafter since the start."""

    drafter: str
    requests: int
    draft_calls: int
    accept_calls: int
    draft_ms: float


def read_prompt(body: bytes) -> int | None:
    """Prompt tokens that were computed (cached ones are not in it)."""
    match = _PROMPT.match(body)
    return int(match[2]) if match else None


def read_evaluation(body: bytes) -> Evaluation | None:
    """The decode timing of a request."""
    if (match := _EVAL.match(body)) is None:
        return None
    return Evaluation(float(match[1]) / 1000, int(match[2]), _number(match[4]))


def is_timing(body: bytes) -> bool:
    """It begins like a timing line of prompt or decoding, whether or not its figures are all there."""
    return _ANY_EVAL.match(body) is not None


def is_rest(body: bytes) -> bool:
    """A line of a request's record that has no figure of use."""
    return _REST.match(body) is not None


def read_drafts(body: bytes) -> Drafts | None:
    """The draft line of a request."""
    if (match := _DRAFT.match(body)) is None:
        return None
    return Drafts(int(match[2]), int(match[3]), read_positions(body))


def read_positions(body: bytes) -> tuple[float, ...]:
    """Share of the drafts in which each position was accepted; empty without such a list."""
    match = _POSITIONS.search(body)
    rates = tuple(_number(part.strip()) for part in match[1].split(b",")) if match else ()
    return rates if all(0 <= rate <= 1 for rate in rates) else ()


def read_progress(body: bytes) -> tuple[int, float] | None:
    """Tokens so far and the newest speed of a request that goes on."""
    match = _PROGRESS.match(body)
    return (int(match[1]), float(match[3] or match[2])) if match else None


def read_counters(body: bytes) -> Counters | None:
    """A drafter's counters."""
    if (match := _STATISTICS.match(body)) is None:
        return None
    drafter = match[1].decode("ascii", "replace")
    return Counters(drafter, int(match[2]), int(match[3]), int(match[4]), float(match[6]))


def read_decoded(body: bytes) -> Evaluation | None:
    """The closing line of an offline tool."""
    if (match := _DECODED.match(body)) is None:
        return None
    return Evaluation(float(match[2]), int(match[1]), _number(match[3]))


def read_count(body: bytes) -> tuple[bytes, int] | None:
    """`n_drafted` or `n_accept` behind it."""
    match = _COUNTED.match(body)
    return (match[1], int(match[2])) if match else None


def _number(text: bytes) -> float:
    """NaN also for the infinity that a division by no time gives."""
    try:
        value = float(text)
    except ValueError:
        return MISSING
    return value if abs(value) < float("inf") else MISSING
