"""The JSON document of `summary`, schema version 1. Every key is always there; unknown is null, never 0."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

SCHEMA_VERSION: Literal[1] = 1


class Part(BaseModel):
    """A piece of the document: nothing but its own keys, no NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True, defer_build=True)


class NoticeModel(Part):
    kind: str
    text: str


class LinesModel(Part):
    total: int
    samples: int
    unparsed: int


class LaunchModel(Part):
    engine_version: str | None = None
    model: str | None = None
    tp_size: int | None = None
    dp_size: int | None = None
    pp_size: int | None = None
    speculative_algorithm: str | None = None
    num_steps: int | None = None
    num_draft_tokens: int | None = None
    topk: int | None = None
    draft_model: str | None = None
    decode_log_interval: int | None = None
    flags: dict[str, JsonValue] = Field(default_factory=dict)


class ExcludedModel(Part):
    first_after_start: int = 0
    after_prefill: int = 0
    after_idle: int = 0
    batch_changed: int = 0
    retraction: int = 0
    cycle_outlier: int = 0
    warm_up: int = 0


class ThroughputModel(Part):
    median: float | None = None
    mean: float | None = None
    mad: float | None = None
    ci95: tuple[float, float] | None = None
    p5: float | None = None
    p95: float | None = None


class LevelModel(Part):
    running: int
    samples: int
    clean: int
    tok_s: ThroughputModel
    prefill_share: float | None = None
    acceptance_rate: float | None = None
    accept_by_position: list[float] | None = None
    context_tokens: float | None = None
    queue: float | None = None
    decode_tok_s: float | None = None
    decode_tok_s_ci95: tuple[float, float] | None = None
    delivered_tok_s: float | None = None
    accept_len: float | None = None
    cycle_ms: float | None = None
    cuda_graph: str


class DecodeModel(Part):
    samples: int
    clean: int
    excluded: ExcludedModel
    first_tok_s: float | None = None
    last_tok_s: float | None = None
    delivered_tok_s: float | None = None
    prefill_share: float | None = None
    accept_len: float | None = None
    drafts: int | None = None
    levels: list[LevelModel]


class PrefillModel(Part):
    batches: int
    new_tokens: int


class EventModel(Part):
    kind: str
    at: str | None = None
    rank: str | None = None
    bytes: int | None = None
    detail: str = ""


class PhaseModel(Part):
    cycles: int
    cycle_ms: float | None = None
    ms: dict[str, float]
    residual_ms: float | None = None
    identity_cycle_ms: float | None = None


class PhaseLevelModel(PhaseModel):
    running: int


class PhasesModel(PhaseModel):
    source: Literal["metrics", "probe", "log", "custom"]
    by_running: list[PhaseLevelModel]


class CountersModel(Part):
    """What the server counted on its metrics page between the first look and the last."""

    tokens: int | None = None
    drafts: int | None = None
    accept_len: float | None = None
    proposed: int | None = None
    accepted: int | None = None
    accept_by_position: list[float] | None = None


class RunModel(Part):
    index: int
    state: str
    started_at: str | None = None
    ready_at: str | None = None
    first_sample_at: str | None = None
    last_sample_at: str | None = None
    launch: LaunchModel
    env: dict[str, str]
    speculation: str
    ranks: list[str]
    decode: DecodeModel
    prefill: PrefillModel | None
    phases: PhasesModel | None = None
    counters: CountersModel | None = None
    events: list[EventModel]


class ServerModel(Part):
    name: str
    source: str
    stream: str | None = None
    role: str
    engine: str | None
    lines: LinesModel
    notices: list[NoticeModel]
    runs: list[RunModel]


class SharesModel(Part):
    baseline: float | None = None
    speculative: float | None = None


class CheckModel(Part):
    id: str
    state: str
    evidence: str


class DifferenceModel(Part):
    kind: str
    name: str
    baseline: str | None
    speculative: str | None
    weight: str = Field(serialization_alias="class")


class AgainstModel(Part):
    speedup: float
    delivered_speedup: float | None
    break_even_accept_len: float
    headroom: float
    verdict: str
    sentence: str


class ComparisonModel(Part):
    running: int | None
    running_range: tuple[int, int] | None = None
    baseline: str
    speculative: str
    speedup: float | None
    ci95: tuple[float, float] | None
    delivered_speedup: float | None
    delivered_ci95: tuple[float, float] | None = None
    prefill_share: SharesModel
    accept_len: float | None
    break_even_accept_len: float | None
    headroom: float | None
    verdict: str
    sentence: str
    reasons: list[str]
    attribution: str | None = None
    checklist: list[CheckModel]
    differences: list[DifferenceModel]
    against_reference: AgainstModel | None


class CauseModel(Part):
    kind: str
    name: str
    reference: str | None
    now: str | None
    weight: str = Field(serialization_alias="class")


class ReferenceModel(Part):
    name: str
    server: str | None
    running: int | None
    samples_seen: int
    samples_needed: int
    direction: str | None
    state: str
    deviation: float | None
    since: str | None
    causes: list[CauseModel]
    better_match: str | None = None


class GateModel(Part):
    exit_code: int
    failed: list[str]
    undecided: list[str]


class Document(Part):
    """The whole answer."""

    schema_version: Literal[1] = SCHEMA_VERSION
    specmon_version: str
    notices: list[NoticeModel]
    servers: list[ServerModel]
    comparison: ComparisonModel | None
    reference: ReferenceModel | None


class CheckedDocument(Document):
    """The answer of `check`."""

    check: GateModel
