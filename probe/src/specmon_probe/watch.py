"""Calling something right after a module was imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Arrived = Callable[[ModuleType], None]


class _Watcher:
    """A meta-path finder that finds nothing itself: it lets the others find, and looks on."""

    def __init__(self) -> None:
        self._wanted: dict[str, list[Arrived]] = {}

    def want(self, name: str, arrived: Arrived) -> None:
        """One more function for a module that is not loaded yet."""
        self._wanted.setdefault(name, []).append(arrived)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # The first line is all that any other module costs.
        if fullname not in self._wanted:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        """The loader stays the genuine one, for those who ask the module for it; only this execution is followed.

        A spec may be asked for without an import, so the module stays wanted until it has been executed.
        """
        loader = spec.loader
        try:
            execute = loader.exec_module  # type: ignore[union-attr]  # a loader without it is refused below

            def exec_module(module: ModuleType) -> None:
                del loader.exec_module  # type: ignore[union-attr]
                execute(module)
                for arrived in self._wanted.pop(spec.name, ()):
                    _call(arrived, module)
                if not self._wanted:
                    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

            loader.exec_module = exec_module  # type: ignore[method-assign,union-attr]
        except AttributeError as error:
            _tell(spec.name, error)


def _call(arrived: Arrived, module: ModuleType) -> None:
    try:
        arrived(module)
    except Exception as error:  # whatever is wrong here, the import went well
        _tell(module.__name__, error)


def _tell(module: str, error: Exception) -> None:
    import logging  # not before it is needed: this module is loaded in processes that are none of SGLang's

    logging.getLogger("specmon_probe").warning(
        "specmon-probe cannot hook %s (%s: %s); the server is not affected.", module, type(error).__name__, error
    )


# The only one of a process: two of them would ask each other for a module that both follow, without end.
_watcher = _Watcher()


def when_imported(wanted: Mapping[str, Arrived]) -> None:
    """Call each function with its module: now if it is loaded, else when something imports it. Never imports."""
    for name, arrived in wanted.items():
        module = sys.modules.get(name)
        if module is None:
            _watcher.want(name, arrived)
        else:
            _call(arrived, module)
