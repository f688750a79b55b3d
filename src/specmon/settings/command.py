"""Commands whose options take what the command line leaves open from the environment and the settings file."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from specmon.errors import ConfigError
from specmon.settings.names import KEYS, SECRETS, SESSION_OPTIONS, settings_path

if TYPE_CHECKING:  # pydantic is slow to import, and most people have no settings file
    from specmon.settings.file import SettingsFile

_FLAG, _VARIABLE, _FILE = (
    click.core.ParameterSource.COMMANDLINE,
    click.core.ParameterSource.ENVIRONMENT,
    click.core.ParameterSource.DEFAULT_MAP,
)
_STRENGTH = (_FLAG, _VARIABLE, _FILE, click.core.ParameterSource.DEFAULT)
_REFERENCES = ("reference", "reference_tok_s")  # two ways to say one thing


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the settings file, and where it stands."""

    value: Any  # whatever its option takes
    keys: tuple[str, ...]


class FileDefaults(MutableMapping[str, Any]):
    """What the settings file says for the options of one command, by parameter. It is read when it is first needed."""

    def __init__(self, keys: dict[str, str], session: str | None = None) -> None:
        self._keys = keys  # parameter: key
        self.session = session
        self._file: SettingsFile | None = None
        self._is_read = False

    @property
    def file(self) -> SettingsFile | None:
        """The settings file, None when there is none."""
        if not self._is_read and (self.session is not None or settings_path().exists()):
            from specmon.settings.file import read_settings

            self._file = read_settings()
        self._is_read = True
        return self._file

    @property
    def session_hosts(self) -> list[str]:
        """The hosts of the named session. ConfigError when there is none of that name."""
        assert self.session is not None
        if self.file is None:
            from specmon.settings.file import no_session

            raise no_session(self.session, settings_path(), [])
        return self.file.session(self.session).hosts

    def found(self, parameter: str) -> Found | None:
        """What the file says of a parameter; a session goes before the rest of the file."""
        key = self._keys.get(parameter)
        if key is None or self.file is None:
            return None
        settings = self.file.settings
        if self.session is not None:
            session = self.file.session(self.session)
            if (value := getattr(session, key, None)) is not None:
                return Found(value, ("sessions", self.session, key))
            if key in _REFERENCES and any(getattr(session, each) is not None for each in _REFERENCES):
                return None  # the session has the other one
        table: object = settings
        keys = tuple(key.split("."))
        for part in keys:
            table = getattr(table, part, None)
        return None if table is None else Found(table, keys)

    def __contains__(self, parameter: object) -> bool:
        return isinstance(parameter, str) and self.found(parameter) is not None

    def __getitem__(self, parameter: str) -> Any:
        if (found := self.found(parameter)) is None:
            raise KeyError(parameter)
        return found.value

    def __iter__(self) -> Iterator[str]:
        return (parameter for parameter in self._keys if parameter in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, parameter: str, value: Any) -> None:
        raise TypeError("the settings file is not written")

    def __delitem__(self, parameter: str) -> None:
        raise TypeError("the settings file is not written")


class SettledCommand(click.Command):
    """A command of specmon: flags go before the environment, the environment before the settings file.

    A word `@NAME` among its hosts stands for the hosts and options of a session.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # completion: nothing may be wrong there
            return super().parse_args(ctx, args)
        takes_hosts = any(parameter.name == "hosts" for parameter in self.params)
        named = _session_words(self, ctx, args) if takes_hosts else []
        if len(named) > 1:
            raise ConfigError(f"{' and '.join(named)}: one session at a time. Name one of them.")
        keys = setting_keys(self) | (SESSION_OPTIONS if takes_hosts else {})
        defaults = FileDefaults(keys, named[0][1:] if named else None)
        ctx.default_map = defaults
        try:
            rest = super().parse_args(ctx, args)
        except click.BadParameter as error:
            raise _told_by_origin(error, defaults) from error
        if named:
            hosts: list[str] = []
            for word in ctx.params["hosts"]:
                hosts.extend(defaults.session_hosts if word in named else [word])
            ctx.params["hosts"] = tuple(hosts)
        _choose_one_reference(ctx)
        return rest

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        ctx.default_map = None  # help is the same for everybody, and a faulty file must not stop it
        super().format_help(ctx, formatter)


class SettledGroup(click.Group):
    """A group of such commands."""

    command_class = SettledCommand
    group_class = type


def setting_keys(command: click.Command) -> dict[str, str]:
    """The settings that a command takes: parameter, and key in the settings file."""
    return {
        parameter.name: KEYS[parameter.envvar]
        for parameter in command.params
        if isinstance(parameter.envvar, str) and parameter.envvar in KEYS
    }


def _session_words(command: click.Command, ctx: click.Context, args: list[str]) -> list[str]:
    if not any(word.startswith("@") for word in args):
        return []
    values, _, _ = command.make_parser(ctx).parse_args(args=list(args))
    hosts = values.get("hosts")
    return list(dict.fromkeys(word for word in hosts if word.startswith("@"))) if isinstance(hosts, tuple) else []


def _choose_one_reference(ctx: click.Context) -> None:
    """The stronger of two references counts; an empty name takes one away that a weaker place gives."""
    name, short = (ctx.params.get(each) for each in _REFERENCES)
    if name is not None and short is not None:
        strength = [_STRENGTH.index(ctx.get_parameter_source(each) or _FLAG) for each in _REFERENCES]
        if strength[0] != strength[1]:
            ctx.params[_REFERENCES[0] if strength[0] > strength[1] else _REFERENCES[1]] = None
    for each in _REFERENCES:
        if ctx.params.get(each) == "":
            ctx.params[each] = None


def _told_by_origin(error: click.BadParameter, defaults: FileDefaults) -> click.UsageError | ConfigError:
    """The error as it is, unless nobody typed the value: then with the variable or the line that has it."""
    parameter, ctx = error.param, error.ctx
    if parameter is None or ctx is None or parameter.name is None:
        return error
    source = ctx.get_parameter_source(parameter.name)
    variable = parameter.envvar if isinstance(parameter.envvar, str) else ""
    message = "it cannot be used" if KEYS.get(variable) in SECRETS else error.message.rstrip(".")
    if source == _VARIABLE:
        return ConfigError(f"${variable}: {message}. Set it anew, or unset it.")
    found = defaults.found(parameter.name)
    if source == _FILE and found is not None and defaults.file is not None:
        place = defaults.file.place_of(found.keys)
        return ConfigError(f"settings {place}: {'.'.join(found.keys)}: {message}. Correct the file.")
    return error
