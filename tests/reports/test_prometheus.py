"""The page for Prometheus: every figure once, in base units, and none where nobody knows it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from specmon.monitor.fleet import fleet_row
from specmon.monitor.snapshot import PageGauges, Snapshot
from specmon.references.difference import Difference
from specmon.references.model import Reference, ReferenceLevel
from specmon.reports.prometheus import prometheus_text
from tests.monitor.lines import START, decodes, launch, session_of
from tests.ui import pictures

CONTRIB = Path(__file__).resolve().parents[2] / "contrib"
BASE = launch(0) + decodes(1, 30, 80.0)
SPEC = launch(0, port=30001, speculative_algorithm="EAGLE3", speculative_num_steps=3) + decodes(1, 30, 120.0, accept=2)
B, S = "gpu01:30000", "gpu01:30001"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def picture_of(*, reference: Reference | None = None, **logs: str) -> Snapshot:
    session = session_of(**logs)
    session.hold_against(reference)
    return session.snapshot(START)


def story() -> Snapshot:
    """The diverged baseline of the pictures, as a session of two servers hands it out."""
    picture = pictures.diverged()
    views = [view for view in (picture.baseline, picture.speculative) if view is not None]
    return replace(picture, fleet=tuple(fleet_row(view, picture.trust, view.role) for view in views))


def families(picture: Snapshot) -> dict[str, Metric]:
    body, content_type = prometheus_text(picture, "")
    assert content_type.startswith("text/plain; version=0.0.4")
    return {family.name: family for family in parse_text(body.decode())}


def value(page: dict[str, Metric], name: str, **labels: str) -> float | None:
    """The one sample with these labels."""
    found = [sample.value for sample in page[name].samples if sample.labels == labels] if name in page else []
    assert len(found) < 2
    return found[0] if found else None


def test_both_servers_and_their_comparison_have_their_figures_in_base_units() -> None:
    page = families(picture_of(b=BASE, s=SPEC))
    assert value(page, "specmon_decode_tokens_per_second", server=B) == pytest.approx(80.0)
    assert value(page, "specmon_decode_tokens_per_second", server=S) == pytest.approx(120.0)
    assert value(page, "specmon_cycle_seconds", server=S) == pytest.approx(2 / 120.0, rel=0.001)
    assert value(page, "specmon_accept_length_tokens", server=S) == 2.0
    assert value(page, "specmon_accept_length_tokens", server=B) is None  # its 1 is no measurement
    assert value(page, "specmon_speedup_ratio") == pytest.approx(1.5)
    assert value(page, "specmon_break_even_accept_length_tokens") == pytest.approx(4 / 3, rel=0.001)
    assert value(page, "specmon_verdict", verdict="faster") == 1.0
    assert value(page, "specmon_verdict", verdict="slower") == 0.0
    assert value(page, "specmon_left_out_samples", server=B, rule="first_after_start") == 1.0


def test_a_baseline_stands_against_its_reference() -> None:
    reference = Reference(name="tuned", levels=(ReferenceLevel(running=1, tok_s=100.0),))
    page = families(picture_of(reference=reference, b=BASE))
    assert value(page, "specmon_baseline_deviation_ratio", server=B) == pytest.approx(-0.2)
    assert value(page, "specmon_baseline_state", server=B, state="diverged") == 1.0
    assert value(page, "specmon_baseline_state", server=B, state="matches") == 0.0
    assert value(page, "specmon_reference_tokens_per_second", reference="tuned") == 100.0


def test_what_nobody_knows_has_no_sample() -> None:
    page = families(picture_of(b=launch(0)))
    assert value(page, "specmon_decode_tokens_per_second", server=B) is None
    assert value(page, "specmon_clean_samples", server=B) == 0.0
    assert "specmon_speedup_ratio" not in page
    assert "specmon_baseline_state" not in page or not page["specmon_baseline_state"].samples


def test_two_baselines_have_their_figures_and_no_comparison() -> None:
    page = families(picture_of(b=BASE, b2=BASE.replace("30000", "30002"), s=SPEC))
    assert value(page, "specmon_decode_tokens_per_second", server="gpu01:30002") == pytest.approx(80.0)
    assert "specmon_speedup_ratio" not in page
    assert "specmon_verdict" not in page


def test_every_figure_has_one_help_a_name_of_ours_and_no_sample_twice() -> None:
    body, content_type = prometheus_text(story(), OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text")
    named = re.findall(r"^# HELP (\S+) \S", body.decode(), re.MULTILINE)
    assert len(named) == len(set(named)) > 40
    assert all(name.startswith("specmon_") for name in named)
    # This parser refuses what the format forbids: a family in two places, a sample twice, a unit that is no suffix.
    samples = [
        sample
        for family in parse_openmetrics(body.decode())  # type: ignore[no-untyped-call]  # the library's own
        for sample in family.samples
    ]
    keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", ['a"b\\c', "two\nlines 1", "\x1b]0;x\x07", "caf\udce9", "{}"])
def test_names_of_servers_cannot_break_the_page(name: str) -> None:
    picture = story()
    assert picture.baseline is not None
    page = families(replace(picture, baseline=replace(picture.baseline, name=name, page=PageGauges(kv_usage=0.5))))
    assert [sample.value for sample in page["specmon_kv_cache_usage_ratio"].samples] == [0.5]
    assert len(page["specmon_samples"].samples) == 2


def test_values_of_the_environment_are_not_served() -> None:
    picture = story()
    causes = (*picture.trust.causes, Difference("env", "HF_HOME", "/secret-before", "/secret-now", "unknown"))
    body, _ = prometheus_text(replace(picture, trust=replace(picture.trust, causes=causes)), "")
    assert 'name="HF_HOME"' in body.decode()
    assert "secret" not in body.decode()


def test_alerts_and_dashboard_ask_for_figures_that_exist() -> None:
    page = families(story())
    dashboard = json.loads((CONTRIB / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += re.findall(r"^\s+expr: (.*)$", (CONTRIB / "specmon.rules.yml").read_text(), re.MULTILINE)
    assert len(asked) > 20
    names = {name for expression in asked for name in re.findall(r"specmon_\w+", expression)}
    assert {name for name in names if name not in page} == set()
