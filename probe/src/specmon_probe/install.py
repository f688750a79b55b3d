"""Putting the hooks in place, in one of two ways, and only into modules that SGLang itself imports."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from types import FrameType, ModuleType

from specmon_probe.hooks import Around, Probe
from specmon_probe.layouts import OPTIONAL, SCHEDULER, TARGET, VERIFY, WORKERS, Layout
from specmon_probe.switch import is_switched_off
from specmon_probe.watch import when_imported

logger = logging.getLogger("specmon_probe")

# Launchers, detokenizers and controllers load the plugins too; only this module runs a scheduler.
_SCHEDULERS = frozenset({SCHEDULER.module})

Apply = Callable[[Layout, str, type, Around], None]  # layout, method, its class, hook

probe: Probe | None = None  # of this process, once it is installed


def register_plugin() -> None:
    """Install through SGLang's hook registry (0.5.11 and later)."""
    if not is_switched_off() and _caller() in _SCHEDULERS:
        install(_through_registry)


def install(apply: Apply | None = None) -> None:
    """Hook every module that is loaded, and every other one as soon as SGLang imports it. Never raises."""
    global probe
    if probe is not None:
        return
    try:
        probe = Probe()
        hook_into(probe, apply or _by_hand)
    except Exception as error:
        logger.warning("specmon-probe steps aside: %s. The server is not affected; no phase lines follow.", error)


def hook_into(target: Probe, apply: Apply) -> None:
    """Hook the methods of all layouts to a probe."""
    by_module: dict[str, list[Layout]] = {}
    for layout in (SCHEDULER, TARGET, *WORKERS):
        by_module.setdefault(layout.module, []).append(layout)

    def arrived(module: ModuleType) -> None:
        for layout in by_module[module.__name__]:
            owner = getattr(module, layout.owner, None)
            if owner is None:
                if layout in (SCHEDULER, TARGET):
                    target.step_aside(f"this SGLang has no {layout.owner} in {layout.module}")
                continue  # a worker of other versions
            for method, hook in _hooks_of(layout, owner, target).items():
                # An inherited one is hooked where it is defined; twice would be counted twice.
                if method in vars(owner):
                    apply(layout, method, owner, hook)

    when_imported(dict.fromkeys(by_module, arrived))


def _hooks_of(layout: Layout, owner: type, target: Probe) -> dict[str, Around]:
    """The hooks of one class; what it should have and has not is said in one line."""
    entries = [method for method in layout.entries if hasattr(owner, method)]
    missing = [] if entries or not layout.entries else [" or ".join(layout.entries)]
    missing += [method for method, _ in layout.phases if method not in OPTIONAL and not hasattr(owner, method)]
    if layout in (SCHEDULER, TARGET):
        if missing:
            target.step_aside(f"{layout.owner} of this SGLang has no {missing[0]}")
        entry = target.processed() if layout is SCHEDULER else target.target()
    else:
        if missing:
            logger.warning(
                "specmon-probe: %s of this SGLang has no %s, so phase lines tell less.",
                layout.owner,
                ", ".join(missing),
            )
        has_own = any(phase == VERIFY and hasattr(owner, method) for method, phase in layout.phases)
        entry = target.entry(own_verify=has_own)
    return {**dict.fromkeys(entries, entry), **{method: target.phase(phase) for method, phase in layout.phases}}


def _through_registry(layout: Layout, method: str, owner: type, hook: Around) -> None:
    from sglang.srt.plugins.hook_registry import (  # type: ignore[import-not-found]  # SGLang's, where this runs
        HookRegistry,
        HookSource,
        HookType,
    )

    # Named here, because most modules arrive after SGLang has forgotten whose plugin it called.
    source = HookSource(plugin_name="specmon-probe", dist_name="specmon-probe")
    HookRegistry.register(layout.path(method), hook, HookType.AROUND, source=source)
    HookRegistry.apply_hooks()  # what is applied already is passed over


def _by_hand(layout: Layout, method: str, owner: type, hook: Around) -> None:
    found = vars(owner)[method]
    original = found.__func__ if isinstance(found, staticmethod) else found

    @functools.wraps(original)
    def hooked(*args: object, **kwargs: object) -> object:
        return hook(original, *args, **kwargs)

    setattr(owner, method, staticmethod(hooked) if isinstance(found, staticmethod) else hooked)


def _caller() -> str:
    """The module that had the plugins loaded: the first on the stack that is neither SGLang's framework nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if not name.startswith(("specmon_probe", "sglang.srt.plugins")):
            return name
        frame = frame.f_back
    return ""
