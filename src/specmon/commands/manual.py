"""`specmon man`: the manual page, made of the same words as `--help`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from specmon.settings.command import setting_keys
from specmon.settings.names import VARIABLES

_EXIT = (
    ("0", "all is well"),
    ("1", "a check failed: drift, slower, a crash found"),
    ("2", "wrong usage, or input that cannot be read"),
    ("3", "it cannot be told: too few samples, or not comparable"),
    ("130", "interrupted"),
)
_FILES = (
    ("$XDG_CONFIG_HOME/specmon/config.toml", "settings; `specmon config path` tells where it is"),
    ("$XDG_CONFIG_HOME/specmon/themes, formats", "your own themes and formats of logs"),
    ("./references, $XDG_DATA_HOME/specmon/references", "recorded baselines"),
    ("~/.ssh/config, ~/.ssh/known_hosts", "how hosts are reached; XDG_CONFIG_HOME is ~/.config unless set"),
)
_CODE = re.compile(r"`([^`\n]+)`")


def print_manual(*, program: click.Group) -> int:
    """Print the page in the language of man(1)."""
    click.echo(manual(program), nl=False)
    return 0


def manual(program: click.Group) -> str:
    """The whole page. Version and date are left out, so that it changes only when the commands do."""
    root = click.Context(program, info_name="specmon", **program.context_settings)
    summary, *paragraphs = _paragraphs(program)
    lines = [
        '.\\" Made by `specmon man` from the commands themselves; do not edit.',
        '.TH SPECMON 1 "" specmon "User Commands"',
        ".SH NAME",
        "specmon \\- speculative decoding of LLM servers, compared with a baseline that is checked",
        ".SH SYNOPSIS",
        ".B specmon",
        ".I COMMAND",
        "[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
        ".SH DESCRIPTION",
        _text(summary),
    ]
    for paragraph in paragraphs:
        lines += [".PP", _text(paragraph)]
    lines.append(".SH COMMANDS")
    for command, ctx in _commands(program, root):
        lines += _section(command, ctx)
    lines += [".SH EXIT STATUS", *_list(_EXIT)]
    lines += [".SH ENVIRONMENT", *_list(_variables(program))]
    lines += [".SH FILES", *_list(_FILES)]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, parent: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name, command in sorted(group.commands.items()):
        ctx = click.Context(command, info_name=name, parent=parent)
        yield command, ctx
        if isinstance(command, click.Group):
            yield from _commands(command, ctx)


def _section(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f".SS {_text(ctx.command_path)}"
    if not isinstance(command, click.Group):
        yield f".B {_text(ctx.command_path)}"
        yield _text(" ".join(command.collect_usage_pieces(ctx)))
    for number, paragraph in enumerate(_paragraphs(command)):
        if number or not isinstance(command, click.Group):
            yield ".PP"
        yield _text(paragraph)
    for parameter in command.params:
        record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield ".TP"
            yield f"\\fB{_text(record[0])}\\fR"
            yield _text(record[1])
    if command.epilog:
        what, _, example = command.epilog.partition(": ")
        yield ".PP"
        yield f"{_text(what)}:"
        yield ".PP"
        yield ".EX"
        yield f"    {_text(example)}"
        yield ".EE"


def _paragraphs(command: click.Command) -> list[str]:
    """The help text, a paragraph a string, each on one line."""
    text = (command.help or "").split("\f")[0]
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _variables(program: click.Group) -> Iterator[tuple[str, str]]:
    """The variables of the settings, each by the option that it stands for."""
    options = {
        key: max(parameter.opts, key=len)
        for command in program.commands.values()
        for name, key in setting_keys(command).items()
        for parameter in command.params
        if parameter.name == name
    }
    for key, variable in VARIABLES.items():
        yield variable, f"as {options[key]}; the key `{key}` of the settings"
    yield "SPECMON_METRICS_AUTHORIZATION", "the Authorization header for the metrics pages of the first host"
    yield "NO_COLOR", "no colours"


def _list(rows: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, text in rows:
        yield ".TP"
        yield f"\\fB{_text(name)}\\fR"
        yield _text(text)


def _text(text: str) -> str:
    """Words that roff takes as they are: no escape, no request, a minus that can be copied."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    )
    text = _CODE.sub(r"\\fB\1\\fR", text)
    return f"\\&{text}" if text.startswith((".", "'")) else text
