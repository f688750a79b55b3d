"""The answers of a gate for people, CI systems and programs: text, JSON, GitHub annotations, JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from specmon.monitor.gate import Answer
from specmon.monitor.session import Session
from specmon.reports.contract import CheckedDocument, GateModel
from specmon.reports.document import document_of
from specmon.visible import visible

_WORDS = {"ok": "ok", "failed": "FAILED", "undecided": "cannot tell"}
# What XML 1.0 forbids even as a character reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_text(answers: Sequence[Answer], exit_code: int, faults: Sequence[str] = ()) -> str:
    """A line a question with its evidence, and the verdict last."""
    width = max((len(answer.word) for answer in answers), default=0)
    lines = [f"{_WORDS[answer.state]:<11}  {answer.word:<{width}}  {visible(answer.evidence)}" for answer in answers]
    return "\n".join([*lines, visible(verdict_line(answers, exit_code, faults))])


def verdict_line(answers: Sequence[Answer], exit_code: int, faults: Sequence[str] = ()) -> str:
    """The whole in one sentence."""
    failed = [answer.word for answer in answers if answer.state == "failed"]
    undecided = [answer.word for answer in answers if answer.state == "undecided"]
    if exit_code == 2:
        return f"check: wrong input (exit 2): {' '.join(faults)}"
    if exit_code == 1:
        rest = f"; without an answer: {', '.join(undecided)}" if undecided else ""
        return f"check: failed (exit 1): {', '.join(failed)}{rest}"
    if exit_code == 3:
        return f"check: cannot tell (exit 3): {', '.join(undecided)}"
    return f"check: passed (exit 0): {', '.join(answer.word for answer in answers)}"


def gate_json(session: Session, answers: Sequence[Answer], exit_code: int) -> str:
    """The document of `summary` with the gate's answer."""
    document = CheckedDocument(
        **dict(document_of(session)),
        check=GateModel(
            exit_code=exit_code,
            failed=[answer.word for answer in answers if answer.state == "failed"],
            undecided=[answer.word for answer in answers if answer.state == "undecided"],
        ),
    )
    return json.dumps(document.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=2, allow_nan=False)


def gate_github(answers: Sequence[Answer], exit_code: int, faults: Sequence[str] = ()) -> str:
    """Workflow commands: an error for each failed question, a warning for each without an answer, then the verdict."""
    levels = {"failed": "error", "undecided": "warning"}
    lines = [_command("error", visible(fault), "specmon check") for fault in faults]
    lines += [
        _command(levels[answer.state], visible(answer.evidence), f"specmon check: {answer.word}", answer.source)
        for answer in answers
        if answer.state in levels
    ]
    level = "notice" if exit_code == 0 else "error"
    return "\n".join([*lines, _command(level, visible(verdict_line(answers, exit_code, faults)), "specmon check")])


def _command(level: str, message: str, title: str, file: str | None = None) -> str:
    """One command. Which line of the log it is about is not told: an answer rests on many."""
    place = f"file={_property(visible(file))}," if file is not None else ""
    return f"::{level} {place}title={_property(title)}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def gate_junit(answers: Sequence[Answer], exit_code: int, faults: Sequence[str] = ()) -> str:
    """One test case a question; a question without an answer is an error, as the exit status is not 0."""
    from xml.etree import ElementTree  # for this format alone

    failed = sum(answer.state == "failed" for answer in answers)
    errors = sum(answer.state == "undecided" for answer in answers) + bool(faults)
    counts = {"tests": str(len(answers) + bool(faults)), "failures": str(failed), "errors": str(errors)}
    root = ElementTree.Element("testsuites", {"name": "specmon check", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "specmon check", **counts, "skipped": "0"})
    for answer in answers:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "specmon.check", "name": answer.word})
        evidence = _xml(answer.evidence)
        if answer.state == "ok":
            ElementTree.SubElement(case, "system-out").text = evidence
            continue
        kind = "failure" if answer.state == "failed" else "error"
        ElementTree.SubElement(case, kind, {"type": answer.state, "message": evidence}).text = evidence
    if faults:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "specmon.check", "name": "input"})
        text = _xml("\n".join(faults))
        ElementTree.SubElement(case, "error", {"type": "input", "message": text}).text = text
    out = ElementTree.SubElement(suite, "system-out")
    out.text = _xml(verdict_line(answers, exit_code, faults))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)
