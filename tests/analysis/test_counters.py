"""Series of several ranks: which are summed, and which repeat each other."""

from __future__ import annotations

import pytest

from specmon.analysis.counters import reading_of, stretches_of
from tests.analysis.pages import scrape, sglang

PASSES = 'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",{}}} {}'
VERIFY = 'sglang:forward_execution_seconds_total{{category="target_verify",{}}} {}'
TOKENS = 'sglang:realtime_tokens_total{{mode="decode",{}}} {}'
RUNNING = "sglang:num_running_reqs{{{}}} {}"


def page(*ranks: str) -> str:
    """The same counts from each rank."""
    forms = ((PASSES, 100), (VERIFY, 0.7), (TOKENS, 320), (RUNNING, 4))
    return "\n".join(form.format(rank, value) for rank in ranks for form, value in forms)


@pytest.mark.parametrize(
    ("ranks", "passes", "seconds", "tokens", "replicas"),
    [
        (['tp_rank="0"'], 100, 0.7, 320, 1),
        # every tensor-parallel rank does every pass
        (['tp_rank="0"', 'tp_rank="1"'], 100, 0.7, 320, 1),
        (['tp_rank="0",moe_ep_rank="0"', 'tp_rank="1",moe_ep_rank="1"'], 100, 0.7, 320, 1),
        # data-parallel ranks serve different requests
        (['dp_rank="0",tp_rank="0"', 'dp_rank="1",tp_rank="4"'], 200, 1.4, 640, 2),
        (['dp_rank="0",tp_rank="0"', 'dp_rank="0",tp_rank="1"', 'dp_rank="1",tp_rank="2"'], 200, 1.4, 640, 2),
        # a pass goes through all pipeline stages
        (['pp_rank="0",tp_rank="0"', 'pp_rank="1",tp_rank="0"'], 100, 1.4, 320, 1),
        (['pp_rank="0",tp_rank="0"', 'pp_rank="1",tp_rank="0"', 'pp_rank="1",tp_rank="1"'], 100, 1.4, 320, 1),
    ],
)
def test_ranks_of_one_pass_count_once_and_replicas_add_up(
    ranks: list[str], passes: float, seconds: float, tokens: float, replicas: int
) -> None:
    reading = reading_of(scrape(page(*ranks)))
    assert (reading.passes, reading.tokens, reading.replicas) == (passes, tokens, replicas)
    assert reading.seconds is not None
    assert reading.seconds["target_verify"] == pytest.approx(seconds)
    assert reading.running == 4  # of one replica


def test_what_a_page_lacks_is_none_and_never_zero() -> None:
    reading = reading_of(scrape("sglang:generation_tokens_total 8"))
    assert (reading.passes, reading.seconds, reading.tokens, reading.rounds, reading.running) == (None,) * 5
    assert reading.answered_tokens == 8


def test_engines_of_vllm_add_up_and_positions_come_in_their_order() -> None:
    reading = reading_of(
        scrape(
            """
            vllm:generation_tokens_total{engine="0"} 100
            vllm:generation_tokens_total{engine="1"} 50
            vllm:spec_decode_num_drafts_total{engine="0"} 40
            vllm:spec_decode_num_accepted_tokens_total{engine="0"} 30
            vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 10
            vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 20
            """
        )
    )
    assert (reading.tokens, reading.rounds, reading.accepted, reading.replicas) == (150, 40, 30, 2)
    assert reading.by_position == (20, 10)


def test_missing_rank_counts_as_a_reset_not_as_a_loss_of_tokens() -> None:
    both = reading_of(scrape(page('dp_rank="0",tp_rank="0"', 'dp_rank="1",tp_rank="0"')))
    one = reading_of(scrape(page('dp_rank="0",tp_rank="0"')))
    assert one.falls_below(both)
    assert not both.falls_below(one)


def test_series_is_cut_where_its_counters_fall_back() -> None:
    pages = [sglang(at, passes=n, tokens=n) for at, n in enumerate((10, 20, 5, 15, 2))]
    assert [len(stretch) for stretch in stretches_of(pages)] == [2, 2, 1]
    assert stretches_of([]) == [[]]
