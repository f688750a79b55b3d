"""Which reference a command line asks for, and where references are kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specmon.errors import ConfigError
from specmon.visible import visible

if TYPE_CHECKING:
    from specmon.references.model import Reference

HERE = Path("references")


def reference_folders() -> tuple[Path, ...]:
    """Where a reference is looked up by name: ./references when there is one, then the user's data folder."""
    import platformdirs

    own = platformdirs.user_data_path("specmon") / "references"
    return (HERE, own) if HERE.is_dir() else (own,)


def reference_places(name: str | None) -> tuple[Path, ...]:
    """The folders whose references can be chosen: that of --reference FILE, then those where names are looked up."""
    from specmon.references.store import is_path

    folders = reference_folders()
    if name is None or not is_path(name):
        return folders
    own = Path(name).expanduser().parent
    return (own, *(folder for folder in folders if folder.absolute() != own.absolute()))


def folder_to_write(out: Path | None) -> Path:
    """Where a reference is written: --out, else the first of the folders. ConfigError without a home folder."""
    folder = reference_folders()[0] if out is None else out.expanduser()
    if out is None and folder is not HERE and not folder.is_absolute():
        raise ConfigError("references: no home folder is known here. Name a folder with --out, or make ./references.")
    return folder


def chosen_reference(name: str | None, short: str | None) -> Reference | None:
    """The reference of --reference or --reference-tok-s, None when neither is given."""
    if name is None and short is None:
        return None
    from specmon.references.store import parse_short

    if name is not None and short is not None:
        raise ConfigError("--reference and --reference-tok-s name two references: give one of them.")
    if short is not None:
        return parse_short(short)
    return None if name is None else loaded(name)[1]


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


def loaded(name: str) -> tuple[Path, Reference]:
    """A reference by its name or path, and its file."""
    from specmon.references.store import find, load

    path = find(name, reference_folders())
    return path, load(path, warn=tell, now=datetime.now(UTC))


def tell(text: str) -> None:
    """A sentence beside the result."""
    click.echo(f"specmon: {visible(text)}", err=True)
