"""The report for people, and the plain lines."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from specmon.monitor.session import Session
from specmon.monitor.summarise import Input, summarise
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference, ReferenceLevel
from specmon.reports import plain_lines, to_text

from .test_document import _BASE, _SPEC

_TUNED = Reference(
    name="tuned", levels=(ReferenceLevel(running=1, tok_s=140.0),), fingerprint=Fingerprint(env={"NCCL_PROTO": "LL"})
)


def _session(*logs: str, reference: Reference | None = None) -> Session:
    inputs = [
        Input(f"/logs/{number}.log", io.BytesIO(log.encode()), fingerprint=Fingerprint(env={}))
        for number, log in enumerate(logs)
    ]
    return summarise(inputs, reference=reference)


def _text(session: Session, *, is_terminal: bool = False) -> str:
    out = io.StringIO()
    to_text(session, Console(file=out, width=100, force_terminal=is_terminal))
    return out.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_verdict_comes_first_with_its_numbers(is_terminal: bool) -> None:
    text = _text(_session(_BASE, _SPEC), is_terminal=is_terminal)
    first = text.splitlines()[0]
    assert "Speculation decodes faster: 1.50×" in first
    assert "150.0 against 100.0 tok/s" in first
    assert "20 samples, 19 clean; left out: 1 first after start" in text
    assert "--reference-tok-s X@1" in text


def test_baseline_that_is_not_trusted_comes_before_the_verdict() -> None:
    text = _text(_session(_BASE, _SPEC, reference=_TUNED))
    assert text.startswith("Baseline not trusted: 100.0 tok/s, reference tuned 140.0 (−29 %)")
    assert "1.07× against reference tuned" in text
    assert "NCCL_PROTO was LL, is unset" in text
    assert "Restore the conditions of the reference" in text


@pytest.mark.parametrize(
    ("logs", "opening"),
    [
        ((), "No server was given."),
        (("hello\n",), "No data: none of this is the log of an LLM server."),
        ((_BASE,), "Baseline server: decodes 100.0 tok/s at 1 running (19 clean samples)."),
        ((_BASE[: _BASE.index("\n") + 1],), "No speed: none of 1 samples shows steady decoding."),
        ((_BASE, _BASE), "2 baseline servers were given"),
        ((_BASE, _SPEC[:1500]), "Cannot tell at 1 running: 19 and"),
    ],
)
def test_opening_sentence(logs: tuple[str, ...], opening: str) -> None:
    assert _text(_session(*logs)).startswith(opening)


def test_text_of_a_server_is_never_markup() -> None:
    launch = "[2026-02-26 16:39:00] server_args=ServerArgs(model_path='/m/[/x][red]')\n"
    assert "/m/[/x][red]" in _text(_session(launch + _BASE))


def test_plain_lines_of_a_pair() -> None:
    verdict, base, spec = plain_lines(_session(_BASE, _SPEC).snapshot(0.0))
    assert verdict.startswith("✓ SPECULATIVE WINS   1.50×")
    assert base.startswith("base 100.0 tok/s delivered 100.0")
    assert spec.endswith("acc 2.40  1.50×  delivered 1.50×")


def test_plain_lines_of_an_alert() -> None:
    verdict, base, spec = plain_lines(_session(_BASE, _SPEC, reference=_TUNED).snapshot(0.0))
    assert verdict == "✗ BASELINE NOT TRUSTED −29 %   NCCL_PROTO set in the reference, unset now"
    assert "ref 140.0" in base
    assert "1.07× of reference" in spec


def test_plain_lines_without_data_give_the_reason() -> None:
    lines = plain_lines(_session("hello\n").snapshot(0.0))
    assert lines[0] == "~ NO DATA   0.log: no line of an LLM server in this log yet"
    assert lines[1] == "0.log no data: no line of an LLM server in this log yet"
