"""`specmon config`: what is set, where it comes from, and whether the settings file is right."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from specmon.errors import ConfigError, SpecmonError
from specmon.settings.command import FileDefaults, setting_keys
from specmon.settings.file import SettingsFile, read_settings
from specmon.settings.names import SECRETS, SESSION_OPTIONS, VARIABLES, settings_path
from specmon.visible import visible

_HIDDEN = "(set, not shown)"
_OTHERS_MAY_READ = 0o077


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it counts now."""

    key: str
    value: Any  # as TOML has it, None when it is not set
    source: Literal["default", "file", "environment", "flag"]
    place: str = ""  # file and line, the variable, the option

    @property
    def shown(self) -> str:
        """The value for a reader; a secret is only said to be there."""
        if self.value is None or self.value == ():
            return "-"
        if self.key in SECRETS:
            return _HIDDEN
        text = self.value if isinstance(self.value, str) else json.dumps(self.value, default=str, ensure_ascii=False)
        return visible(text)

    @property
    def origin(self) -> str:
        """Where it comes from, in a word or two."""
        return self.place or self.source


def show(*, words: Sequence[str], form: str) -> int:
    """Print every setting with its origin; with a command line, what that command would get."""
    settings = list(settings_of(words) if words else settings_now(read_settings(), os.environ))
    if form == "json":
        click.echo(json.dumps(_document(settings), indent=2, ensure_ascii=False))
        return 0
    wide = [max(len(text) for text in column) for column in zip(*((s.key, s.shown) for s in settings), strict=True)]
    for setting in settings:
        click.echo(f"{setting.key:<{wide[0]}}  {setting.shown:<{min(wide[1], 40)}}  {visible(setting.origin)}")
    return 0


def check() -> int:
    """Say whether the settings file is right; ConfigError with the first fault."""
    place = settings_path()
    file = read_settings(place)
    if file is None:
        click.echo(f"{place}: there is no settings file, and none is needed.")
        return 0
    for key, variable in VARIABLES.items():
        _from_environment(key, variable, os.environ)
    for fault in _faults(file):
        raise ConfigError(fault)
    for note in _notes(file):
        click.echo(f"specmon: {visible(note)}", err=True)
    number = sum(1 for setting in settings_now(file, {}) if setting.source == "file")
    click.echo(f"{place}: right, {number} setting{'s' if number != 1 else ''}.")
    return 0


def keys() -> int:
    """Print the actions that have a key, with the keys they have now."""
    from specmon.ui.keys import checked_keys, key_actions

    file = read_settings()
    own, faults = checked_keys(file.settings.keys if file is not None else {})
    rows = [(each.id, own.get(each.id, each.keys), each.text) for each in key_actions()]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, used, text in rows:
        click.echo(f"{name:<{wide[0]}}  {used:<{wide[1]}}  {text}")
    for fault in faults:
        click.echo(f"specmon: {visible(fault)}", err=True)
    return 2 if faults else 0


def settings_now(file: SettingsFile | None, environ: Mapping[str, str]) -> Iterator[Setting]:
    """Every setting without a command line, then the tables that only a file has."""
    for key, variable in VARIABLES.items():
        if (value := _from_environment(key, variable, environ)) is not None:
            yield Setting(key, value, "environment", f"${variable}")
        else:
            yield _in_file(file, tuple(key.split("."))) or Setting(key, _default(key), "default")
    if file is None:
        return
    settings = file.settings
    for name, host in settings.hosts.items():
        for key in host.model_fields_set:
            yield _in_file(file, ("hosts", name, key)) or Setting(key, None, "default")
    for name in settings.keys:
        yield Setting(f"keys.{name}", settings.keys[name], "file", file.place_of(("keys", name)))
    for name, session in settings.sessions.items():
        for key in sorted(session.model_fields_set, key=lambda key: (key != "hosts", key)):
            yield _in_file(file, ("sessions", name, key)) or Setting(key, None, "default")


def settings_of(words: Sequence[str]) -> Iterator[Setting]:
    """What a command line would get, and where each value comes from. Usage errors are the command's own."""
    root = click.get_current_context().find_root()
    program = root.command
    command = program.commands.get(words[0]) if isinstance(program, click.Group) else None
    if command is None or not setting_keys(command):
        known = sorted(name for name, each in getattr(program, "commands", {}).items() if setting_keys(each))
        raise ConfigError(f"{words[0]}: no command with settings is called so. Known: {', '.join(known)}.")
    with command.make_context(words[0], list(words[1:]), parent=root) as ctx:
        defaults = ctx.default_map
        assert isinstance(defaults, FileDefaults)
        if "hosts" in ctx.params:
            yield Setting("hosts", ctx.params["hosts"], "flag", "the command line")
        own = SESSION_OPTIONS if defaults.session is not None else {}
        for parameter, key in (setting_keys(command) | own).items():
            if parameter in ctx.params:
                yield _of_parameter(ctx, command, parameter, key, defaults)


def _of_parameter(
    ctx: click.Context, command: click.Command, parameter: str, key: str, defaults: FileDefaults
) -> Setting:
    value, source = ctx.params[parameter], ctx.get_parameter_source(parameter)
    found = defaults.found(parameter)
    if source == click.core.ParameterSource.COMMANDLINE:
        option = next(each for each in command.params if each.name == parameter)
        return Setting(key, value, "flag", max(option.opts, key=len))
    if source == click.core.ParameterSource.ENVIRONMENT:
        return Setting(key, value, "environment", f"${VARIABLES[key]}")
    if found is not None and defaults.file is not None:
        return Setting(key, value, "file", defaults.file.place_of(found.keys))
    return Setting(key, value, "default")


def _in_file(file: SettingsFile | None, keys: tuple[str, ...]) -> Setting | None:
    value: Any = None if file is None else file.settings
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
    if file is None or value is None:
        return None
    return Setting(".".join(keys), value, "file", file.place_of(keys))


def _from_environment(key: str, variable: str, environ: Mapping[str, str]) -> Any:
    """The value of a variable as its option reads it, None when it is not set. ConfigError when it cannot be meant."""
    if not environ.get(variable):
        return None
    option = _options()[key]
    try:
        value = option.value_from_envvar(click.Context(click.Command("config")))
        return option.type_cast_value(click.Context(click.Command("config")), value)
    except click.BadParameter as error:
        raise ConfigError(f"${variable}: {error.message.rstrip('.')}. Set it anew, or unset it.") from error


def _default(key: str) -> Any:
    default = _options()[key].default
    return default if isinstance(default, bool | int | float | str) else None  # click marks the others as unset


def _options() -> dict[str, click.Option]:
    """An option for each key, of whatever command has it."""
    program = click.get_current_context().find_root().command
    assert isinstance(program, click.Group)
    return {
        key: option
        for command in program.commands.values()
        for name, key in setting_keys(command).items()
        for option in command.params
        if option.name == name and isinstance(option, click.Option)
    }


def _faults(file: SettingsFile) -> Iterator[str]:
    """What is right by itself and wrong together with the rest of the machine."""
    from specmon.commands.handover import chosen_webhook
    from specmon.monitor.asking import asked_load
    from specmon.sources.address import parse_host
    from specmon.ui.keys import checked_keys
    from specmon.ui.themes import load_themes

    settings = file.settings
    for fault in checked_keys(settings.keys)[1]:
        yield f"settings {file.place_of(('keys',))}: {fault}"
    themes = {theme.name for theme in load_themes().themes}
    groups = [((), settings), *((("sessions", name), each) for name, each in settings.sessions.items())]
    for keys, group in groups:
        if group.theme is not None and group.theme not in themes:
            known = ", ".join(sorted(themes))
            yield f"settings {file.place_of((*keys, 'theme'))}: no theme is called {group.theme}. Known: {known}."
        try:
            asked_load(group.running)
        except ConfigError as error:
            yield f"settings {file.place_of((*keys, 'running'))}: {error}"
    for name, session in settings.sessions.items():
        for host in session.hosts:
            try:
                if host != "local:":
                    parse_host(host)
            except SpecmonError as error:
                yield f"settings {file.place_of(('sessions', name, 'hosts'))}: {error}"
    try:
        chosen_webhook(settings.notify.webhook)
    except ConfigError as error:
        yield f"settings {file.place_of(('notify', 'webhook'))}: {error}"


def _notes(file: SettingsFile) -> Iterator[str]:
    """What works, and may not be meant."""
    from specmon.commands.reference import reference_folders
    from specmon.references.store import find

    if file.settings.notify.webhook is not None and Path(file.path).stat().st_mode & _OTHERS_MAY_READ:
        yield f"{file.path}: others may read it, and a webhook's address is a secret. `chmod 600` keeps it yours."
    for keys, group in [((), file.settings), *((("sessions", n), s) for n, s in file.settings.sessions.items())]:
        if group.reference is None:
            continue
        try:
            missing = not find(group.reference, reference_folders()).is_file()
        except ConfigError:
            missing = True
        if missing:
            yield f"{file.place_of((*keys, 'reference'))}: reference {group.reference} is not found from this folder."


def _document(settings: Sequence[Setting]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "file": str(settings_path()),
        "settings": [
            {
                "key": setting.key,
                "value": None if setting.key in SECRETS else _plain(setting.value),
                "is_set": setting.value not in (None, ()),
                "source": setting.source,
                "place": setting.place or None,
            }
            for setting in settings
        ],
    }


def _plain(value: Any) -> Any:
    return (
        [str(each) for each in value] if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
    )
