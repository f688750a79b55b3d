"""Every figure can be opened: its formula gives what is shown, and what it rests on is told."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.monitor.explaining import Explanation, Formula, explanations_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Snapshot
from specmon.references.model import Reference, ReferenceLevel

from .lines import decode, decodes, feed, launch, prefill

FIXTURES = Path(__file__).parents[2] / "fixtures"
SPECULATIVE = {"speculative_algorithm": "EAGLE3", "speculative_num_steps": 2, "speculative_num_draft_tokens": 3}


def picture_of(base: str, spec: str, reference: float | None = None, running: int = 1) -> Snapshot:
    recorded = None
    if reference is not None:
        recorded = Reference(name="usual", levels=(ReferenceLevel(running=running, tok_s=reference),))
    session = Session(reference=recorded)
    for key, text in (("base", base), ("spec", spec)):
        session.add(key, f"/logs/{key}.log")
        feed(session, key, text)
    session.finish()
    return session.snapshot(2e9)


def story() -> Snapshot:
    folder = FIXTURES / "story-5-steps"
    return picture_of((folder / "base.log").read_text(), (folder / "spec.log").read_text(), 88.8)


STORY = story()


def by_id(picture: Snapshot) -> dict[str, Explanation]:
    found = explanations_of(picture)
    assert len({each.id for each in found}) == len(found)
    return {each.id: each for each in found}


def evaluated(filled: str) -> tuple[float, float]:
    """What the printed arithmetic gives, and how far the rounding of its figures may put that off."""
    return _evaluated(ast.parse(filled.replace("×", "*").replace("−", "-").replace(",", ""), mode="eval").body)


def _evaluated(node: ast.expr) -> tuple[float, float]:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        return node.value, abs(node.value) * 5e-5  # five digits are printed
    assert isinstance(node, ast.BinOp), ast.dump(node)
    (a, off_a), (b, off_b) = _evaluated(node.left), _evaluated(node.right)
    match node.op:
        case ast.Add():
            return a + b, off_a + off_b
        case ast.Sub():
            return a - b, off_a + off_b
        case ast.Mult():
            return a * b, abs(b) * off_a + abs(a) * off_b
        case _:
            assert isinstance(node.op, ast.Div)
            return a / b, off_a / abs(b) + abs(a / b) * off_b / abs(b)


def holds(formula: Formula) -> bool:
    """Whether the printed arithmetic gives the figure."""
    value, off = evaluated(formula.filled)
    return abs(value - formula.value) <= off * 1.01 + 1e-9 * abs(value)


def assert_formulas_hold(picture: Snapshot) -> None:
    for each in explanations_of(picture):
        assert all(map(holds, each.formulas)), each
        assert (each.value is None) == bool(each.none_because) or each.id == "comparison.verdict", each.id


@pytest.mark.parametrize(
    ("figure", "name", "words", "filled"),
    [
        ("comparison.speedup", "speed-up", "R spec / R base", "70.991 / 62.9"),
        ("comparison.speedup_ref", "speed-up against the reference", "R spec / R reference", "70.991 / 88.8"),
        ("comparison.break_even", "break-even accept length", "A* = C / S", "29.897 / 15.898"),
        ("comparison.break_even_ref", "break-even with the reference", "A* = C / S reference", "29.897 / 11.261"),
        ("comparison.headroom", "headroom", "A / A* − 1", "2.1224 / 1.8806 − 1"),
        ("comparison.verify", "verify multiple", "verify / step", "28.704 / 15.7"),
        ("trust.deviation", "deviation", "measured / recorded − 1", "62.9 / 88.8 − 1"),
        ("baseline.cycle", "step time", "C = 1000 · A · B / R", "1000 × 1 × 1 / 62.9"),
        ("speculative.decode", "decode throughput", "R = 1000 · A · B / C", "1000 × 2.1224 × 1 / 29.897"),
        ("speculative.accept", "accept length", "A = tokens / (requests × cycles)", "3,480.8 / 1,640"),
        ("speculative.rate", "acceptance rate", "(A − 1) / (draft tokens − 1)", "(2.1224 − 1) / (6 − 1)"),
        ("speculative.phase.other", "phase other", "cycle − phases", "29.864 − 0.61009 − 28.704 − 0.41007"),
        (
            "speculative.phase.identity",
            "residual against the identity",
            "C by the phases / C by the identity − 1",
            "29.864 / 29.897 − 1",
        ),
    ],
)
def test_figures_of_the_story_are_explained(figure: str, name: str, words: str, filled: str) -> None:
    told = by_id(STORY)[figure]
    assert (told.name, told.formulas[0].words, told.formulas[0].filled) == (name, words, filled)
    assert holds(told.formulas[0])


@settings(max_examples=15, deadline=None)
@given(
    base=st.floats(20, 3000),
    spec=st.floats(20, 3000),
    accept=st.floats(1.0, 3.0),
    running=st.sampled_from([1, 4]),
    recorded=st.floats(20, 3000),
)
def test_every_formula_gives_the_figure_that_is_shown(
    base: float, spec: float, accept: float, running: int, recorded: float
) -> None:
    left = launch(0) + decodes(1, 14, base, running=running) + prefill(900) + decodes(901, 3, base, running=running)
    right = launch(0, port=30001, **SPECULATIVE) + decodes(1, 16, spec, accept=accept, running=running)
    picture = picture_of(left, right, recorded, running)
    assert_formulas_hold(picture)
    told = by_id(picture)
    for side in ("baseline", "speculative"):
        for figure in ("decode", "delivered", "cycle", "samples"):
            assert told[f"{side}.{figure}"].formulas, (side, figure)
    assert picture.comparison is not None
    assert told["comparison.speedup"].value == picture.comparison.speedup
    for figure in ("speedup", "speedup_ref", "delivered", "break_even", "break_even_ref", "headroom", "headroom_ref"):
        assert told[f"comparison.{figure}"].formulas, figure


def test_ranks_add_up_in_the_formula() -> None:
    both = "".join(decode(second, 100.0 + second % 3, tag=f"DP{rank} TP{rank}") for second in range(1, 40)
                   for rank in (0, 1))  # fmt: skip
    told = by_id(picture_of(launch(0, dp_size=2) + both, launch(0, port=30001, **SPECULATIVE)))["baseline.decode"]
    assert told.formulas[0].words.startswith("R = sum over 2 ranks")
    assert holds(told.formulas[0])


def test_samples_and_the_reasons_of_those_left_out_add_up() -> None:
    text = launch(0) + decodes(1, 20, 80.0) + prefill(30) + decodes(31, 5, 80.0) + decodes(300, 5, 80.0)
    told = by_id(picture_of(text, launch(0, port=30001, **SPECULATIVE)))
    used = told["baseline.samples"]
    assert (used.value, used.extra) == (27.0, "3 left out of 30")
    assert [(reason.split(":")[0], count) for reason, count in used.left_out] == [
        ("first after start", 1), ("after prefill", 1), ("after idle", 1),
    ]  # fmt: skip
    assert told["baseline.decode"].used == "27 clean samples of 30 at 1 running"
    assert told["speculative.decode"].none_because


def test_source_is_the_newest_clean_line_and_its_byte() -> None:
    text = launch(0) + decodes(1, 20, 80.0) + prefill(30) + decode(31, 40.0)
    told = by_id(picture_of(text, launch(0, port=30001, **SPECULATIVE)))
    lines = text.splitlines(keepends=True)
    clean, newest = told["baseline.decode"].source, told["baseline.last"].source
    assert clean is not None
    assert newest is not None
    assert (clean.path, clean.position) == ("/logs/base.log", len("".join(lines[:-3])))
    assert newest.position == len("".join(lines[:-1]))
    assert told["baseline.decode"].own_word.startswith("`gen throughput (token/s)`")


def test_accept_length_says_which_samples_it_is_of() -> None:
    clean = by_id(picture_of(launch(0) + decodes(1, 20), launch(0, **SPECULATIVE) + decodes(1, 20, accept=2.0)))
    assert "clean samples only" in clean["speculative.accept"].meaning
    none = by_id(picture_of(launch(0) + decodes(1, 20), launch(0, **SPECULATIVE) + decode(1, accept=2.0)))
    assert "all samples, as none is clean" in none["speculative.accept"].meaning


def test_baseline_that_is_not_trusted_is_in_doubt_beside_every_ratio() -> None:
    told = by_id(STORY)
    assert told["comparison.speedup"].doubts[0].startswith("The baseline is not trusted: 62.9 tok/s")
    assert "apparent" in told["comparison.speedup"].meaning
    assert told["trust.evidence"].formulas
    assert not told["speculative.phase.verify"].left_out


def test_nothing_known_is_no_figure_with_a_reason() -> None:
    found = explanations_of(Snapshot())
    assert {each.id for each in found} >= {"comparison.verdict", "comparison.speedup", "comparison.break_even"}
    assert all(each.value is None and each.none_because for each in found if each.id != "comparison.verdict")


def test_formulas_hold_for_a_band_of_loads() -> None:
    def wandering(tok_s: float, accept: float | None) -> str:
        return "".join(
            decode(1 + step, tok_s * (step // 6 % 3 + 20), accept=accept, running=step // 6 % 3 + 20)
            for step in range(60)
        )

    picture = picture_of(launch(0) + wandering(60, None), launch(0, **SPECULATIVE) + wandering(80, 2.0))
    assert picture.comparison is not None
    assert picture.comparison.running_range is not None or picture.comparison.running == 20
    assert_formulas_hold(picture)
