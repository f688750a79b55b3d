"""Short messages of the screen: one row on the key bar, so that none of them lies over a log or a figure."""

from __future__ import annotations

from textual.app import App
from textual.notifications import SeverityLevel


class ToastApp(App[None]):
    """Tells things in one row."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Title and message on one row, as the title would take a row of its own."""
        text = f"{title}: {message}" if title else message
        super().notify(text, severity=severity, timeout=timeout, markup=markup)
