"""The statistics lines: figures found by their names, because nearly every release moved or added some.

Sample lines stand in `tests/data/vllm/lines.txt`, each with what it comes to. The layouts of [0.10.2] and
later have patterns of their own (`ENGINE`, `DRAFT`, `STEP`) for the parser's quick pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from specmon.events import MISSING

_COUNT = rb"(\d{1,12}+)"
_FIGURE = rb"(\d{1,12}+\.\d{1,4}+)"

HEADER = rb"(?:Engine (\d{1,6}+): |\d{1,6}+ Engines Aggregated: )?"
ENGINE = (
    rb"Engine (\d{1,6}+): Avg prompt throughput: " + _FIGURE + rb" tokens/s, Avg generation throughput: " + _FIGURE
    + rb" tokens/s, Running: " + _COUNT + rb" reqs, Waiting: " + _COUNT
    + rb" reqs(?:, [A-Z]{2,8}+ KV cache usage: " + _FIGURE
    + rb"%)?(?:, [A-Z][A-Za-z ]{4,40}?: [\d.]{1,8}+%){0,4}+(?=\n)"
)  # fmt: skip
DRAFT = (
    rb"SpecDecoding metrics: Mean acceptance length: " + _FIGURE + rb", Accepted throughput: [\d.]{1,16}+ tokens/s, "
    rb"Drafted throughput: [\d.]{1,16}+ tokens/s, Accepted: " + _COUNT + rb" tokens, Drafted: " + _COUNT
    + rb" tokens, Per-position acceptance rate: (\d\.\d{1,6}+(?:, \d\.\d{1,6}+){0,63}), "
    rb"Avg Draft acceptance rate: [\d.]{1,8}+%(?=\n)"
)  # fmt: skip
STEP = (
    rb"(?:Engine (\d{1,6}+): )?Iteration\(\d{1,15}+\)( \(dummy\))?: " + _COUNT
    + rb" context requests, \d{1,12}+ context tokens, " + _COUNT
    + rb" generation requests, \d{1,12}+ generation tokens, iteration elapsed time: " + _FIGURE
    + rb" ms(?=[,\n]|\Z)"
)  # fmt: skip

# Where a statistics body begins. A running count without a throughput is the first V1 alpha's line.
BODY = (
    HEADER + rb"(?:Avg prompt throughput: |Avg generation throughput: |Running: \d{1,12} reqs"
    rb"|(?:SpecDecoding|Speculative) metrics: |Iteration\(\d|SpecDecodeWorker stage times: )"
)  # fmt: skip

_HEADER = re.compile(HEADER)
_STEP = re.compile(STEP)
# A value counts only when something ends it: a figure cut by the end of the bytes at hand is half a figure.
_NUMBER = re.compile(rb"(nan|\d{1,15}(?:\.\d{1,12})?)(?=[%\s,.]|\Z)")
_STAGES = re.compile(
    rb"SpecDecodeWorker stage times: average_time_per_proposal_tok_ms=(nan|" + _FIGURE[1:-1] + rb") "
    rb"scoring_time_ms=(nan|" + _FIGURE[1:-1] + rb") verification_time_ms=(nan|" + _FIGURE[1:-1] + rb")(?!\d)"
)
_POSITIONS = re.compile(rb"Per-position acceptance rate: ([^A-Za-z:]{0,16}(?:nan)?[\d., na\[\]]{0,1024})")
_SHARE = re.compile(rb"nan|\d(?:\.\d{1,6})?")
_LONGEST_LINE = 4096


@dataclass(slots=True)
class EngineFigures:
    """What an engine line says for one tick. NaN: printed as nan, or not at all (see `has_throughput`)."""

    rank: str = ""  # "Engine 002" as logged
    running: int | None = None  # at the end of the tick, not its mean
    tok_s: float = MISSING
    prompt_tok_s: float = MISSING
    queue: float = MISSING
    usage: float = MISSING  # 0..1
    preemptions: int = 0
    has_throughput: bool = False
    is_cumulative: bool = False  # V0: the window is the time since the line before
    is_clipped: bool = False

    @property
    def is_idle(self) -> bool:
        """The last line before vLLM falls silent."""
        return self.running == 0 and self.tok_s == 0


@dataclass(slots=True)
class DraftFigures:
    """What a draft line says. `emitted` and `steps` come with V0's counters, which run since the start."""

    accepted: float = MISSING
    proposed: float = MISSING
    length: float = MISSING  # as printed: without the bonus token in 0.8
    by_position: tuple[float, ...] = ()
    emitted: float = MISSING
    steps: int | None = None  # k, of V0's line
    rank: str = ""  # only the lines of some forks have an engine number of their own

    @property
    def is_cumulative(self) -> bool:
        """V0 with counters since the start."""
        return self.steps is not None


@dataclass(slots=True)
class StepFigures:
    """One iteration. Its generation tokens are scheduled ones, k + 1 a request, so nothing follows from them."""

    rank: str
    prefills: int
    running: int
    step_ms: float
    is_dummy: bool


@dataclass(slots=True)
class StageFigures:
    """Where the time of one step of V0's speculative worker went, in ms [0.5 to 0.9]."""

    draft_token_ms: float  # for each of the k tokens that are proposed
    scoring_ms: float  # the target model's forward pass
    verification_ms: float  # rejection sampling

    def phases(self, steps: int | None) -> dict[str, float]:
        """Times of a cycle in the words of `PhasesTimed`; without k that of the drafts is not known."""
        found = {"draft": self.draft_token_ms * (steps or MISSING), "verify": self.scoring_ms + self.verification_ms}
        return {name: ms for name, ms in found.items() if ms == ms}


def engine_tag(number: bytes | None) -> str:
    """The rank of an engine line, as logged; "" without one (V0, aggregated lines)."""
    return f"Engine {number.decode('ascii')}" if number else ""


def read_engine(body: bytes, *, is_ended: bool = True) -> EngineFigures:
    """Read an engine line of any release; `is_ended` is False for a pending one."""
    header = _HEADER.match(body)
    figures = EngineFigures(rank=engine_tag(header[1] if header else None))
    fields, figures.is_clipped = _fields(body[header.end() if header else 0 :], is_ended=is_ended)
    running = _number(fields.get(b"Running"))
    if running == running:
        figures.running = int(running)
    throughput = fields.get(b"Avg generation throughput")
    figures.has_throughput = throughput is not None and _NUMBER.match(throughput) is not None
    figures.tok_s = _number(throughput)
    figures.prompt_tok_s = _number(fields.get(b"Avg prompt throughput"))
    figures.queue = _number(fields.get(b"Waiting", fields.get(b"Pending")))
    figures.is_cumulative = b"Pending" in fields or b"Swapped" in fields
    preemptions = _number(fields.get(b"Preemptions"))
    figures.preemptions = int(preemptions) if preemptions > 0 else 0
    for name, value in fields.items():
        # The word in front is GPU, or the device [0.32]; V0 names the GPU's before the CPU's.
        if name.endswith(b"KV cache usage"):
            figures.usage = _number(value) / 100
            break
    return figures


def read_draft(body: bytes, *, is_ended: bool = True) -> DraftFigures:
    """Read a draft line of any release and field order."""
    header = _HEADER.match(body)
    figures = DraftFigures(rank=engine_tag(header[1] if header else None))
    text = body[header.end() if header else 0 : _LONGEST_LINE]
    fields, _ = _fields(text[text.find(b": ") + 2 :], is_ended=is_ended)
    if text.startswith(b"Spec") and b"Number of accepted tokens" in fields:
        figures.accepted = _number(fields[b"Number of accepted tokens"])
        # [up to mid 2024] "Number of draft tokens tokens"
        figures.proposed = _number(fields.get(b"Number of draft tokens", fields.get(b"Number of draft tokens tokens")))
        figures.emitted = _number(
            fields.get(b"Number of emitted tokens", fields.get(b"Number of emitted tokens tokens"))
        )
        steps = _number(fields.get(b"Number of speculative tokens"))
        figures.steps = int(steps) if steps > 0 else None
        return figures
    figures.accepted = _number(fields.get(b"Accepted"))
    figures.proposed = _number(fields.get(b"Drafted"))
    figures.length = _number(fields.get(b"Mean acceptance length"))
    if (positions := _POSITIONS.search(text)) is not None and is_ended:
        figures.by_position = read_positions(positions[1])
    return figures


def read_positions(text: bytes) -> tuple[float, ...]:
    """The list of shares, one a draft position: its commas are those of the fields around it."""
    return tuple(MISSING if share == b"nan" else float(share) for share in _SHARE.findall(text))


def read_step(body: bytes) -> StepFigures | None:
    """Read an iteration line; None when it is cut."""
    if (match := _STEP.match(body)) is None:
        return None
    return step_of(match.group(1, 2, 3, 4, 5))


def step_of(caught: tuple[bytes | None, ...]) -> StepFigures:
    """The figures of what `STEP` caught."""
    number, dummy, prefills, running, elapsed = caught
    return StepFigures(
        engine_tag(number), int(prefills or 0), int(running or 0), float(elapsed or "nan"), dummy is not None
    )


def read_stages(body: bytes) -> StageFigures | None:
    """Read a line with the stages of V0's speculative worker; None when it is cut."""
    if (match := _STAGES.match(body)) is None:
        return None
    return StageFigures(*(_number(value) for value in match.groups()))


def _fields(text: bytes, *, is_ended: bool) -> tuple[dict[bytes, bytes], bool]:
    parts = text[:_LONGEST_LINE].split(b", ")
    if not is_ended:
        parts.pop()  # half a value, perhaps
    fields: dict[bytes, bytes] = {}
    is_clipped = False
    for index, part in enumerate(parts):
        name, separator, value = part.partition(b": ")
        if separator:
            fields.setdefault(name.strip(), value.strip())
        else:
            is_clipped = is_clipped or (index == len(parts) - 1 and is_ended and part.strip(b" .\r,")[:1].isalpha())
    return fields, is_clipped


def _number(value: bytes | None) -> float:
    match = _NUMBER.match(value) if value is not None else None
    return float(match[1]) if match else MISSING
