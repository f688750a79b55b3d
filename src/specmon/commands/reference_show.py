"""`specmon reference list` and `show`: what is recorded, and where."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from specmon.commands.reference import loaded, reference_folders, tell
from specmon.errors import ConfigError
from specmon.references.model import Reference
from specmon.references.store import load, read_text, stored
from specmon.reports.reference import reference_json, reference_table, reference_text
from specmon.secrets import hide_in_text
from specmon.visible import visible


def list_references(*, form: Literal["text", "json"]) -> int:
    """Print every reference of the folders; 2 when one of the files cannot be read."""
    folders = reference_folders()
    found: list[tuple[Path, Reference]] = []
    status = 0
    now = datetime.now(UTC)
    for path in stored(folders):
        try:
            found.append((path, _harmless(load(path, now=now))))
        except ConfigError as error:
            tell(str(error))
            status = 2
    if form == "json":
        documents = [{"name": path.stem, **reference_json(reference, path)} for path, reference in found]
        click.echo(json.dumps({"schema_version": 1, "references": documents}, ensure_ascii=False, indent=2))
    elif found:
        for line in reference_table(found):
            click.echo(visible(line))
    elif not status:
        places = " or ".join(str(folder) for folder in folders)
        click.echo(visible(f"There is no reference in {places}. `specmon reference record NAME LOG` makes one."))
    return status


def show_reference(*, name: str, form: Literal["text", "json", "toml"]) -> int:
    """Print one reference."""
    path, reference = loaded(name)
    reference = _harmless(reference)
    if form == "toml":
        click.echo(read_text(path), nl=False)
    elif form == "json":
        document = {"schema_version": 1, **reference_json(reference, path)}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        for line in reference_text(reference, path):
            click.echo(visible(line))
    return 0


def _harmless(reference: Reference) -> Reference:
    """What specmon writes holds no secret; a note that somebody wrote into the file may hold one."""
    return reference.model_copy(update={"note": hide_in_text(reference.note)})
