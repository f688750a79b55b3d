"""Themes: the bundled ones are complete and readable, a bad one is reported and skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import dist
from pathlib import Path

import pytest
from rich.color import ColorType
from textual.color import Color
from textual.pilot import Pilot

from specmon.resources import bundled
from specmon.ui.app import SpecmonApp
from specmon.ui.themes import DEFAULT_VARIABLES, load_themes

from .feeds import StillFeed
from .frames import frame, text
from .pictures import diverged

_GOOD = 'name = "mine"\n[colors]\nprimary = "#336699"\n'


def test_bundled_themes_are_all_good() -> None:
    loaded = load_themes([bundled("themes")])
    assert loaded.faults == ()
    assert [theme.name for theme in loaded.themes] == [
        *("specmon-dark", "specmon-high-contrast", "specmon-light", "specmon-terminal")
    ]
    assert all(set(theme.variables) >= set(DEFAULT_VARIABLES) for theme in loaded.themes)


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


async def test_a_message_lies_on_the_key_bar_alone_and_names_the_theme() -> None:
    app = SpecmonApp(StillFeed(diverged()))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        before = frame(app)
        await pilot.press("t", "t")
        await until(pilot, lambda: "theme specmon-light" in frame(app)[-1])
        assert frame(app)[:-1] == before[:-1]


async def test_the_users_theme_is_one_of_the_round(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(_GOOD, encoding="utf-8")
    app = SpecmonApp(StillFeed(diverged()), theme_folders=[bundled("themes"), tmp_path])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        seen = [app.theme]
        for _ in range(5):
            await pilot.press("t")
            seen.append(app.theme)
        assert seen == [
            *("specmon-dark", "specmon-high-contrast", "specmon-light", "specmon-terminal"),
            *("mine", "specmon-dark"),
        ]


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        await pilot.pause(0.05)
    raise AssertionError("it never came to that")


async def test_saved_theme_is_drawn_at_once_and_a_broken_one_leaves_the_last_good(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(_GOOD, encoding="utf-8")
    app = SpecmonApp(StillFeed(diverged()), theme="mine", theme_folders=[bundled("themes"), tmp_path])
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        file.write_text(_GOOD + 'background = "#102030"\n', encoding="utf-8")
        await until(pilot, lambda: app.screen.styles.background == Color.parse("#102030"))
        file.write_text(_GOOD + 'background = "reddish"\n', encoding="utf-8")
        await until(pilot, lambda: len(app._notifications) == 1)
        assert app.theme == "mine"
        assert app.screen.styles.background == Color.parse("#102030")
        file.write_text(_GOOD + 'background = "#405060"\n', encoding="utf-8")
        await until(pilot, lambda: app.screen.styles.background == Color.parse("#405060"))
        (tmp_path / "another.toml").write_text(_GOOD.replace("mine", "another"), encoding="utf-8")
        await until(pilot, lambda: app.get_theme("another") is not None)


async def test_terminal_theme_uses_the_terminals_own_colours_only() -> None:
    app = SpecmonApp(StillFeed(diverged()), theme="specmon-terminal", theme_folders=[bundled("themes")])
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.pause()
        colours = [
            colour
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style is not None
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        ]
        assert colours
        assert {colour.type for colour in colours} <= {ColorType.DEFAULT, ColorType.STANDARD}


# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# severity 1.0, on linear RGB.
_VISIONS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def _linear(colour: str) -> tuple[float, ...]:
    parts = (channel / 255 for channel in Color.parse(colour).rgb)
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)


def _lab(linear: Sequence[float]) -> tuple[float, float, float]:
    """CIE 1976 L*a*b* of linear sRGB under D65."""
    r, g, b = (min(1.0, max(0.0, part)) for part in linear)
    xyz = (
        (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
    )
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("name", ["dark", "light", "high-contrast"])
@pytest.mark.parametrize("vision", [None, *_VISIONS])
def test_the_two_sides_are_told_apart_by_every_eye(name: str, vision: str | None) -> None:
    theme = next(each for each in load_themes([bundled("themes")]).themes if each.name == f"specmon-{name}")

    def seen(colour: str) -> tuple[float, float, float]:
        linear = _linear(colour)
        matrix = _VISIONS.get(vision or "")
        return _lab(
            linear if matrix is None else [sum(m * c for m, c in zip(row, linear, strict=True)) for row in matrix]
        )

    pairs = [("series-baseline", "series-speculative"), ("series-baseline-area", "series-speculative-area")]
    for one, other in pairs:
        apart = dist(seen(theme.variables[one]), seen(theme.variables[other]))
        assert apart >= (30 if "area" not in one else 12), (one, other, apart)
    # An alert beside what is well: also told by sign and word, so a smaller distance will do.
    assert dist(seen(theme.variables["alert"]), seen(theme.variables["good"])) >= 15
