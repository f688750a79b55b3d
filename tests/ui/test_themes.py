"""Themes: the bundled ones are complete and readable, a bad one is reported and skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from specmon.resources import bundled
from specmon.ui.app import SpecmonApp
from specmon.ui.themes import DEFAULT_VARIABLES, load_themes

from .feeds import StillFeed
from .frames import text
from .pictures import diverged

_GOOD = 'name = "mine"\n[colors]\nprimary = "#336699"\n'


def test_bundled_themes_are_all_good() -> None:
    loaded = load_themes([bundled("themes")])
    assert loaded.faults == ()
    assert [theme.name for theme in loaded.themes] == ["specmon-dark", "specmon-high-contrast", "specmon-light"]
    assert all(set(theme.variables) == set(DEFAULT_VARIABLES) for theme in loaded.themes)


@pytest.mark.parametrize(("name", "least"), [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)])
def test_text_has_enough_contrast(name: str, least: float) -> None:
    theme = next(each for each in load_themes([bundled("themes")]).themes if each.name == f"specmon-{name}")
    grounds = [
        theme.background,
        theme.surface,
        *(theme.variables[f"band-{s}"] for s in ("ok", "info", "warning", "alert")),
    ]
    words = ["quiet", "good", "caution", "alert", "brand", "series-baseline", "series-speculative"]
    for ground in grounds[:2]:
        assert ground is not None
        for word in words:
            assert _contrast(theme.variables[word], ground) >= least, (word, ground)
    for severity, word in (("ok", "good"), ("info", "quiet"), ("warning", "caution"), ("alert", "alert")):
        assert _contrast(theme.variables[word], theme.variables[f"band-{severity}"]) >= least, severity


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = (channel / 255 for channel in Color.parse(colour).rgb)
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_GOOD + 'error = "reddish"\n', "no colour"),
        (_GOOD + "[variables]\nblink = '#fff'\n", "unknown variable blink"),
        (_GOOD + "[extras]\na = 1\n", "extras"),
        ("name = \n", "bad.toml"),
        ('name = "Bad Name"\n[colors]\nprimary = "#fff"\n', "name"),
    ],
)
def test_a_bad_theme_is_named_and_skipped(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "bad.toml").write_text(content, encoding="utf-8")
    (tmp_path / "good.toml").write_text(_GOOD, encoding="utf-8")
    loaded = load_themes([tmp_path])
    assert [theme.name for theme in loaded.themes] == ["mine"]
    assert len(loaded.faults) == 1
    assert loaded.faults[0].startswith("bad.toml")
    assert said in loaded.faults[0]


async def test_bad_themes_make_one_notification_and_no_harm(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(_GOOD + 'error = "[/x]"\n', encoding="utf-8")
    app = SpecmonApp(StillFeed(diverged()), theme="gone", theme_folders=[bundled("themes"), tmp_path])
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        assert len(app._notifications) == 1
        message = next(iter(app._notifications)).message
        assert "one.toml" in message
        assert "two.toml" in message
        assert "gone" in message
        assert app.theme == "specmon-dark"
        assert "BASELINE NOT TRUSTED" in text(app)


async def test_without_any_theme_file_the_screen_still_works(tmp_path: Path) -> None:
    app = SpecmonApp(StillFeed(diverged()), theme_folders=[tmp_path])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("t")
        assert "BASELINE NOT TRUSTED" in text(app)


async def test_the_users_theme_is_one_of_the_round(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(_GOOD, encoding="utf-8")
    app = SpecmonApp(StillFeed(diverged()), theme_folders=[bundled("themes"), tmp_path])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        seen = [app.theme]
        for _ in range(4):
            await pilot.press("t")
            seen.append(app.theme)
        assert seen == ["specmon-dark", "specmon-high-contrast", "specmon-light", "mine", "specmon-dark"]
