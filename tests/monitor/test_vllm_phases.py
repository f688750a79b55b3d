"""Phases that vLLM's own lines tell, and whether they agree with its throughput."""

from __future__ import annotations

import pytest

from specmon.formats.vllm import VllmDialect
from specmon.monitor.notices import notices_of
from specmon.monitor.server import ServerMonitor
from specmon.monitor.session import Session

from .lines import feed

_PLACE = "(EngineCore pid=7) INFO 12-23 21:{:02}:{:02} [core.py:349] "


def _server(text: str) -> ServerMonitor:
    session = Session()
    session.add("1", "/logs/vllm.log")
    feed(session, "1", text)
    session.finish()
    return session.servers[0]


def _ticks(tok_s: float, step_ms: float, *, prompt: float = 0.0, running: int = 1, ticks: int = 12) -> str:
    """Engine lines every ten seconds with some iteration lines between them."""
    lines = []
    for tick in range(ticks):
        minute, second = divmod(10 * tick, 60)
        lines += [
            _PLACE.format(minute, second)
            + f"Engine 000: Iteration({tick * 20 + step}): 0 context requests, 0 context tokens, {running} generation "
            f"requests, {running} generation tokens, iteration elapsed time: {step_ms:.2f} ms, CPU KV cache usage: 0.1%"
            for step in range(20)
        ]
        lines.append(
            f"(APIServer pid=3) INFO 12-23 21:{minute:02}:{second:02} [loggers.py:123] Engine 000: Avg prompt "
            f"throughput: {prompt:.1f} tokens/s, Avg generation throughput: {tok_s:.1f} tokens/s, "
            f"Running: {running} reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit rate: 0.0%"
        )
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("step_ms", "parts"),
    [
        (10.0, None),
        (9.2, None),
        (8.8, ("8.8 ms", "10.0 ms a cycle", "scheduling, output handling and the prompts")),
        (11.2, ("11.2 ms", "10.0 ms a cycle", "at the end of its window")),
    ],
)
def test_iteration_lines_that_disagree_with_the_engine_lines_are_told(
    step_ms: float, parts: tuple[str, ...] | None
) -> None:
    texts = [
        notice.text
        for notice in notices_of(_server(_ticks(100.0, step_ms)), is_finished=True)
        if notice.kind == "phases_disagree"
    ]
    assert len(texts) == (parts is not None)
    assert all(part in texts[0] for part in parts or ())


def test_prompts_in_the_windows_are_named_as_the_reason() -> None:
    notices = notices_of(_server(_ticks(100.0, 8.8, prompt=40.0)), is_finished=True)
    (text,) = [notice.text for notice in notices if "8.8 ms" in notice.text]
    assert "10.0 ms a cycle" in text
    assert "hold prompts too" in text
    assert "phases_disagree" not in {notice.kind for notice in notices}


_CONFIG = (
    "INFO 08-02 04:33:00 llm_engine.py:174] Initializing an LLM engine (v0.6.3) with config: model='/m', "
    "speculative_config=SpeculativeConfig(draft_model='/d', num_spec_tokens=5), tensor_parallel_size=1\n"
)
_ENGINE = (
    "INFO 08-02 04:33:{:02} metrics.py:295] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 100.0 "
    "tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 0.8%, CPU KV cache usage: 0.0%.\n"
)
_DRAFT = (
    "INFO 08-02 04:33:{:02} metrics.py:311] Speculative metrics: Draft acceptance rate: 0.500, "
    "System efficiency: 0.400, Number of speculative tokens: 4, Number of accepted tokens: {}, "
    "Number of draft tokens: {}, Number of emitted tokens: {}.\n"
)
_STAGES = (
    "INFO 08-02 04:33:{:02} spec_decode_worker.py:790] SpecDecodeWorker stage times: "
    "average_time_per_proposal_tok_ms={:.2f} scoring_time_ms={:.2f} verification_time_ms=1.00\n"
)


def test_stages_of_the_v0_worker_are_phases() -> None:
    log = "".join(
        _ENGINE.format(second)
        + _STAGES.format(second, 1.5 + second / 100, 12.0)
        + _DRAFT.format(second, n, 2 * n, 2 * n)
        for second, n in ((5, 100), (10, 200), (15, 300), (20, 400))
    )
    server = _server(log)
    assert server.life is not None
    phases = server.life.phases
    assert phases is not None
    # The first line comes before any that tells k = 4: the other three have drafts.
    assert (phases.source, phases.cycles) == ("log", 4)
    assert dict(phases.ms) == pytest.approx({"verify": 13.0, "draft": 4 * 1.65})
    # The lines between an engine line and its draft line do not part them.
    assert server.life.statistics.figures().accept_len == pytest.approx(4.0)  # 200 tokens in 200 / 4 rounds, each tick


def test_steps_of_the_launch_count_from_the_first_stages_on() -> None:
    life = _server(_CONFIG + _STAGES.format(5, 2.0, 12.0)).life
    assert life is not None
    assert life.phases is not None
    assert dict(life.phases.ms) == {"verify": 13.0, "draft": 10.0}
    assert life.speculation != "off"


@pytest.mark.parametrize("cut", ["verification_time_ms=1.00", "=1.00", ".00"])
def test_stages_that_are_cut_say_nothing(cut: str) -> None:
    line = _STAGES.format(5, 2.0, 12.0)
    block = VllmDialect().open().feed(line.partition(cut)[0].encode(), 0)
    assert block.events == ()
