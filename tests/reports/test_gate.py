"""The forms in which a gate answers: what a log says can neither break nor command them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.monitor.gate import Answer, exit_code_of
from specmon.reports.gate import gate_github, gate_junit, gate_text

ANSWERS = (
    Answer("slower", "ok", "1.21× (95 % 1.19 to 1.22)"),
    Answer("diverged", "failed", "62.9 tok/s: slower", "/logs/a,b:c%.log"),
    Answer("kv_full", "undecided", "no server\r\n::error::injected"),
)


@pytest.mark.parametrize(
    ("states", "is_input_wrong", "code"),
    [
        ((), False, 0),
        (("ok", "ok"), False, 0),
        (("ok", "undecided"), False, 3),
        (("undecided", "failed"), False, 1),
        (("failed",), True, 2),
        (("ok",), True, 2),
    ],
)
def test_wrong_input_goes_before_failure_before_no_answer(
    states: tuple[str, ...], is_input_wrong: bool, code: int
) -> None:
    answers = [Answer("slower", state, "") for state in states]
    assert exit_code_of(answers, is_input_wrong=is_input_wrong) == code


def test_text_has_a_line_a_question_and_the_verdict_last() -> None:
    lines = gate_text(ANSWERS, 1).splitlines()
    assert lines == [
        "ok           slower    1.21× (95 % 1.19 to 1.22)",
        "FAILED       diverged  62.9 tok/s: slower",
        "cannot tell  kv_full   no server^M^J::error::injected",
        "check: failed (exit 1): diverged; without an answer: kv_full",
    ]


def test_github_commands_are_escaped() -> None:
    lines = gate_github(ANSWERS, 1).split("\n")
    assert lines[0] == ("::error file=/logs/a%2Cb%3Ac%25.log,title=specmon check%3A diverged::62.9 tok/s: slower")
    assert lines[1].startswith("::warning title=specmon check%3A kv_full::no server")
    assert lines[2].startswith("::error title=specmon check::check: failed (exit 1)")
    assert len(lines) == 3  # nothing of the evidence begins a command of its own
    assert gate_github(ANSWERS[:1], 0).startswith("::notice title=specmon check::check: passed (exit 0): slower")


@given(st.text(), st.text())
def test_no_evidence_ends_a_github_command(evidence: str, source: str) -> None:
    out = gate_github([Answer("crash", "failed", evidence, source)], 1)
    assert len(out.split("\n")) == 2
    assert "\r" not in out
    found = re.match(r"::error file=([^,:]*),title=([^,:]*)::", out)
    assert found is not None


@given(st.text(st.characters(exclude_categories=())))
def test_junit_is_valid_xml_whatever_the_evidence(evidence: str) -> None:
    out = gate_junit([Answer("crash", "failed", evidence), Answer("slower", "ok", evidence)], 1, [evidence])
    root = ElementTree.fromstring(out.encode())
    (suite,) = root
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [case.get("name") for case in suite.iter("testcase")] == ["crash", "slower", "input"]


def test_junit_has_a_case_a_question() -> None:
    root = ElementTree.fromstring(gate_junit(ANSWERS, 1))
    cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert cases == {"slower": ["system-out"], "diverged": ["failure"], "kv_full": ["error"]}


def test_name_of_a_log_cannot_steer_the_terminal_that_shows_an_annotation() -> None:
    answers = (Answer("crash", "failed", "it crashed", "/logs/\x1b]0;x\x07.log"),)
    assert "\x1b" not in gate_github(answers, 1, ("\x1b]0;x\x07.log: no such file",))
