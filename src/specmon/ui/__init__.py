"""The Textual screen. It draws what the monitor says and computes no statistics."""

from __future__ import annotations

from specmon.ui.app import SpecmonApp

__all__ = ["SpecmonApp"]
