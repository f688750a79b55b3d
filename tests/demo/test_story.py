"""The bundled capture is the story, to the byte and to the figure."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from specmon.captures.reader import open_capture
from specmon.references.diff import compare
from specmon.references.store import load
from specmon.resources import bundled

STORY = bundled("fixtures") / "story"
FIVE_STEPS = bundled("fixtures") / "story-5-steps"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = Path(__file__).with_name("make_story.py")
    spec = importlib.util.spec_from_file_location("make_story", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["make_story"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def test_committed_captures_are_what_the_script_writes(maker: ModuleType) -> None:
    for folder, files in ((STORY, maker.story()), (FIVE_STEPS, maker.five_steps())):
        for name, content in files.items():
            assert (folder / name).read_text(encoding="utf-8") == content, name


def test_restart_loses_exactly_the_six_variables_that_were_set_by_hand(maker: ModuleType) -> None:
    reference = load(STORY / "references" / "nccl-tuned.toml")
    base = open_capture(STORY).logs[0]
    before, after = (life.fingerprint for life in base.lives)
    assert compare(reference.fingerprint, before) == ()
    lost = compare(reference.fingerprint, after)
    assert [difference.name for difference in lost] == list(maker.NCCL_BY_HAND)
    assert {(difference.now, difference.weight) for difference in lost} == {(None, "matters")}


def test_story_takes_about_90_seconds() -> None:
    capture = open_capture(STORY)
    assert 85 <= capture.ends_at - capture.starts_at <= 95


@pytest.mark.parametrize("folder", [STORY, FIVE_STEPS])
def test_arrivals_end_with_the_log(folder: Path) -> None:
    for log in open_capture(folder).logs:
        assert log.arrivals.offsets[-1] == log.path.stat().st_size
