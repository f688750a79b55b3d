"""docs/phases.md: what it shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specmon.events import PhasesTimed
from specmon.formats.custom import load_format
from specmon.formats.phases import PhaseReader

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / "phases.md", ROOT / "probe" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_the_probe_on_the_page_are_read(page: Path) -> None:
    shown = re.findall(r"^\[.*specmon-phase v1 .*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(shown) == 2
    speculative, baseline = PhaseReader().read("".join(f"{line}\n" for line in shown).encode(), 0)
    assert isinstance(speculative, PhasesTimed)
    assert isinstance(baseline, PhasesTimed)
    assert dict(speculative.ms) == {"draft": 0.61, "verify": 28.7, "draft_extend": 0.41}
    assert dict(baseline.ms) == {"decode": 15.7}


def test_the_custom_format_of_the_page_is_whole() -> None:
    (source,) = re.findall(r"```toml\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), flags=re.DOTALL)
    reader = PhaseReader([load_format(source, "mytimers.toml").reader])
    (event,) = reader.read(b"cycle timers: n=40 bs=1 draft=0.61 verify=28.70 total=29.90 ms\n", 0)
    assert isinstance(event, PhasesTimed)
    assert dict(event.ms) == {"draft": 0.61, "verify": 28.7}
    assert event.cycle_ms == 29.9
