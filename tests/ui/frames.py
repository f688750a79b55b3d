"""Reading what the screen shows, as text."""

from __future__ import annotations

from specmon.ui.app import SpecmonApp


def frame(app: SpecmonApp) -> list[str]:
    """The rows of the screen."""
    # Textual has no public way to the composed rows but an SVG, which would have to be taken apart again.
    return [strip.text for strip in app.screen._compositor.render_strips()]


def text(app: SpecmonApp) -> str:
    """The whole screen."""
    return "\n".join(frame(app))
