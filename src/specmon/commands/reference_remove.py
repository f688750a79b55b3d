"""`specmon reference remove`."""

from __future__ import annotations

import sys

import click

from specmon.commands.reference import reference_folders
from specmon.errors import ConfigError
from specmon.references.files import remove
from specmon.references.store import find, is_path, require_name
from specmon.visible import visible


def remove_reference(*, name: str, is_agreed: bool) -> int:
    """Delete the file of a name; only files in the reference folders."""
    if is_path(name):
        raise ConfigError(
            f"reference {name!r}: only a NAME in the reference folders is removed. Delete the file yourself."
        )
    path = find(require_name(name), reference_folders())
    if not is_agreed:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            raise ConfigError(f"reference {path}: nobody can be asked here. Add --yes to remove it.")
        if not click.confirm(visible(f"Remove {path}?"), err=True):
            click.echo("Nothing was removed.")
            return 0
    remove(path)
    click.echo(visible(f"{path} is removed."))
    return 0
