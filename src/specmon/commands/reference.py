"""Which reference a command line asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specmon.errors import ConfigError

if TYPE_CHECKING:
    from specmon.references.model import Reference


def reference_folders() -> tuple[Path, ...]:
    """Where a reference is looked up by name: ./references when there is one, then the user's data folder."""
    here = Path("references")
    import platformdirs

    own = platformdirs.user_data_path("specmon") / "references"
    return (here, own) if here.is_dir() else (own,)


def chosen_reference(name: str | None, short: str | None) -> Reference | None:
    """The reference of --reference or --reference-tok-s, None when neither is given."""
    if name is None and short is None:
        return None
    from specmon.references.store import find, load, parse_short

    if name is not None and short is not None:
        raise ConfigError("--reference and --reference-tok-s name two references: give one of them.")
    if short is not None:
        return parse_short(short)
    if name is not None:
        return load(find(name, reference_folders()), warn=lambda text: click.echo(f"specmon: {text}", err=True))
    return None


def other_references(name: str | None) -> Callable[[], tuple[Reference, ...]]:
    """The references recorded beside the one of --reference: those of its folder, or of all where names are looked up.

    They are read when they are asked for, once.
    """

    @cache
    def read() -> tuple[Reference, ...]:
        from specmon.references.beside import recorded_in
        from specmon.references.store import is_path

        if name is not None and is_path(name):
            return recorded_in((Path(name).expanduser().parent,))
        return recorded_in(reference_folders())

    return read
