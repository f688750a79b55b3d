"""What the `.pth` file imports in every process that `multiprocessing` spawns: it waits for SGLang's scheduler.

Until that module is imported nothing but this one is loaded, and in a process that never imports it nothing else
ever is. SGLang spawns its schedulers, so a patch of the launcher alone would be lost.
"""

from __future__ import annotations

import functools
from types import ModuleType

from specmon_probe.switch import is_switched_off
from specmon_probe.watch import when_imported

SCHEDULER = "sglang.srt.managers.scheduler"


def _take_hold(scheduler: ModuleType) -> None:
    """Let the scheduler's process install the hooks when it starts to run, and no other process."""
    from importlib.util import find_spec

    if find_spec("sglang.srt.plugins") is not None:
        return  # from 0.5.11 on SGLang calls the plugin itself, if its user's allow-list has it
    original = scheduler.run_scheduler_process

    @functools.wraps(original)
    def run_scheduler_process(*args: object, **kwargs: object) -> object:
        from specmon_probe.install import install

        install()
        return original(*args, **kwargs)

    scheduler.run_scheduler_process = run_scheduler_process  # type: ignore[attr-defined]  # a module of SGLang


if not is_switched_off():
    when_imported({SCHEDULER: _take_hold})
