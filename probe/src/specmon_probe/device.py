"""Timing events of the GPU that torch drives: NVIDIA's, and AMD's, which torch calls cuda as well."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from specmon_probe.cycles import Event


class NoDevice(Exception):
    """There is nothing here that could be timed."""


@dataclass(frozen=True)
class Device:
    """The two things that the probe asks of torch."""

    new_event: Callable[[], Event]
    is_capturing: Callable[[], bool]  # a graph is being captured on the current stream: an event would go into it


def torch_device() -> Device:
    """The device of the torch that SGLang has loaded; torch is never imported from here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available():
        raise NoDevice("torch has no CUDA device here")
    new, is_capturing = cuda.Event, cuda.is_current_stream_capturing
    return Device(lambda: new(enable_timing=True), is_capturing)
