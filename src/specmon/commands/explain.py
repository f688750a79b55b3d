"""`specmon formats explain`: what specmon makes of a log, line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import click

from specmon.commands.dialects import found_dialects
from specmon.commands.loop import run_whole
from specmon.commands.places import Hosts, SshOptions, expanded, local_folder, open_source
from specmon.errors import ConfigError
from specmon.formats.explaining import FAMILIAR, KIND_WORDS, OTHER, UNPARSED, ExplainedLine, Explainer
from specmon.secrets import hide_in_text
from specmon.sources.address import parse_source
from specmon.sources.events import Chunk, Refused
from specmon.sources.framing import LineFramer
from specmon.sources.utf16 import Utf16Reader
from specmon.visible import visible

_LONGEST = 160  # characters of a line that are shown


@dataclass(slots=True)
class _Account:
    """Counts, and the first lines of each kind."""

    limit: int  # 0: all lines
    total: int = 0
    has_text: bool = False
    kinds: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    carriers: Counter[str] = field(default_factory=Counter)
    shown: list[ExplainedLine] = field(default_factory=list)

    def add(self, lines: Iterable[ExplainedLine]) -> None:
        for line in lines:
            self.total += 1
            self.has_text = self.has_text or bool(line.text.strip())
            self.kinds[line.kind] += 1
            if line.kinds and line.engine is not None:
                self.engines[line.engine] += 1
            self.carriers.update(dict.fromkeys(line.carriers, 1))
            if not self.limit or self.kinds[line.kind] <= self.limit:
                self.shown.append(line)


def explain(
    *,
    log: str,
    limit: int,
    form: Literal["text", "json"],
    format_files: tuple[Path, ...],
    ssh: SshOptions,
) -> int:
    """Print the first lines of each kind and how many there are; 0 also when nothing was recognised."""
    found = found_dialects(format_files)
    for one in found:
        if one.fault:
            click.echo(f"specmon: {visible(one.fault)}", err=True)
    account = _Account(limit)
    run_whole(_read(log, ssh, Explainer(one.dialect for one in found if one.dialect is not None), account))
    account.shown.sort(key=lambda line: line.number)
    if form == "json":
        click.echo(json.dumps(_document(log, account), indent=2, ensure_ascii=False))
    else:
        _print(log, account)
    return 0


async def _read(log: str, ssh: SshOptions, explainer: Explainer, account: _Account) -> None:
    framer, utf16 = LineFramer(), Utf16Reader()
    async for chunk in _chunks(log, ssh):
        if (framed := framer.feed(*utf16.feed(chunk.data, chunk.offset))) is not None:
            account.add(explainer.feed(framed.data, framed.offset))
    if (framed := framer.finish()) is not None:
        account.add(explainer.feed(framed.data, framed.offset))
    account.add(explainer.finish())


async def _chunks(log: str, ssh: SshOptions) -> AsyncIterator[Chunk]:
    addresses = list(expanded(parse_source(log)))
    if len(addresses) != 1 or local_folder(addresses[0]) is not None:
        raise ConfigError(f"{log}: explain reads one log. Name a file, HOST:PATH or - for stdin.")
    async with Hosts(ssh) as hosts:
        async for event in open_source(addresses[0], hosts, follow=False).events():
            if isinstance(event, Chunk):
                yield event
            elif isinstance(event, Refused):
                raise ConfigError(event.reason)


def _print(log: str, account: _Account) -> None:
    if not account.has_text:
        state = f"holds nothing but {account.total} blank lines" if account.total else "is empty"
        click.echo(visible(f"{log} {state}. Check the path, and that the server's output goes there (`> LOG 2>&1`)."))
        return
    width = max((len(line.kind) for line in account.shown), default=4)
    for line in account.shown:
        carried = f" [{', '.join(line.carriers)}]" if line.carriers else ""
        stream = f" <{line.stream}>" if line.stream else ""
        read = "  ".join(f"{name}={value}" for name, value in line.read.items())
        owner = f" {line.engine}" if line.engine and line.kinds else ""
        click.echo(visible(f"{line.number:>7}  {line.kind:<{width}}{owner}{stream}{carried}  {read}".rstrip()))
        if not line.read:
            click.echo(f"         {_text(line)}")
    click.echo("")
    engines = ", ".join(f"{engine} ({count})" for engine, count in account.engines.most_common()) or "no engine's"
    click.echo(visible(f"{log}: {account.total} lines; recognised as {engines}"))
    if account.carriers:
        click.echo("carriers: " + ", ".join(f"{name} ({count})" for name, count in account.carriers.most_common()))
    for kind, count in sorted(account.kinds.items(), key=lambda pair: (pair[0] in KIND_WORDS, -pair[1])):
        words = f"  ({KIND_WORDS[kind]})" if kind in KIND_WORDS else ""
        click.echo(f"{count:>9}  {kind}{words}")


def _document(log: str, account: _Account) -> dict[str, object]:
    return {
        "schema_version": 1,
        "source": log,
        "lines": {
            "total": account.total,
            "by_kind": dict(account.kinds.most_common()),
            "familiar": account.kinds[FAMILIAR],
            "unparsed": account.kinds[UNPARSED],
            "other": account.kinds[OTHER],
        },
        "engines": dict(account.engines.most_common()),
        "carriers": dict(account.carriers.most_common()),
        "shown": [
            {
                "line": line.number,
                "offset": line.offset,
                "kind": line.kind,
                "engine": line.engine if line.kinds else None,
                "stream": line.stream or None,
                "carriers": list(line.carriers),
                "fields": line.read,
                "text": _text(line),
            }
            for line in account.shown
        ],
    }


def _text(line: ExplainedLine) -> str:
    text = hide_in_text(visible(line.text.decode("utf-8", "replace")))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
