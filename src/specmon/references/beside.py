"""The references that lie in the folders where one was looked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from specmon.errors import ConfigError
from specmon.references.model import Reference
from specmon.references.store import load, stored

_MOST = 200  # files of one folder that are read; more than that is no folder of references


def recorded_in(folders: Iterable[Path]) -> tuple[Reference, ...]:
    """Every readable reference of some folders, by file name; of two with one name the first folder's.

    A file that is no reference is passed over: nobody asked for it.
    """
    found: dict[str, Reference] = {}
    for folder in folders:
        try:
            paths = list(islice(stored((folder,)), _MOST))
        except ConfigError:
            continue
        for path in paths:
            try:
                reference = load(path)
            except ConfigError:
                continue
            found.setdefault(reference.name, reference)
    return tuple(found.values())
