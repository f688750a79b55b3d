"""What the words of a command line can be: hosts, sessions, logs near and far, references, themes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

Item: TypeAlias = CompletionItem[str]
Completer: TypeAlias = Callable[[click.Context, str], list[Item]]

_MOST_FILES = 300
_MOST_INCLUDES = 50
_SCREENS = ("connect", "replay", "demo")
_HOST_LINE = re.compile(r"\s*host(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_INCLUDE_LINE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_FAR = re.compile(r"(?P<host>(?:[^\s:/@]+@)?(?:\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]=]+)):(?P<path>.*)", re.DOTALL)
_SCHEMES = ("docker", "compose", "journal", "kube", "slurm", "tmux", "cmd", "local")


def completer_of(command: click.Command, parameter: click.Parameter) -> Completer | None:
    """What completes a parameter, None when click knows by itself."""
    by_name: dict[str, Completer] = {
        "hosts": complete_hosts,
        "sources": complete_places if command.name == "capture" else complete_sources,
        "baseline": complete_sources,
        "speculative": complete_sources,
        "log": complete_sources,
        "reference": complete_references,
        "theme": complete_themes,
        "jump": lambda ctx, text: _starting(text, ssh_hosts(ctx)),
        "clients": _after_server,
        "metrics": _after_server,
        "words": complete_commands,
        "before": complete_references,
        "now": lambda ctx, text: [*complete_references(ctx, text), *complete_sources(ctx, text)],
    }
    if command.name in ("show", "remove", "record", "add") and parameter.name == "name":
        return complete_references
    return by_name.get(parameter.name or "")


def complete_hosts(ctx: click.Context, text: str) -> list[Item]:
    """Hosts of the SSH configuration, this machine, and named sessions."""
    login, _, name = text.rpartition("@")
    if login:
        return [CompletionItem(f"{login}@{host}") for host in ssh_hosts(ctx) if host.startswith(name)]
    return _starting(text, [*ssh_hosts(ctx), "local:", *(f"@{session}" for session in _sessions())])


def complete_sources(ctx: click.Context, text: str) -> list[Item]:
    """Logs of this machine, `HOST:`, and behind it the logs of that host."""
    if (far := _FAR.fullmatch(text)) is not None and not Path(text).exists():
        return [] if far["host"] in _SCHEMES else _far_files(ctx, far["host"], far["path"], f"{far['host']}:")
    hosts = ctx.params.get("hosts") or ()
    if hosts and hosts[0] != "local:" and not hosts[0].startswith("@") and not text.startswith("."):
        # In `connect`, a SOURCE without a host means the first HOST.
        found = _far_files(ctx, hosts[0], text, "") if text.startswith("/") else []
    else:
        found = file_items(text)
    return [*found, *([] if "/" in text else _starting(text, [f"{host}:" for host in ssh_hosts(ctx)]))]


def complete_places(ctx: click.Context, text: str) -> list[Item]:
    """Hosts and sources."""
    return [*complete_sources(ctx, text), *([] if ":" in text else _starting(text, [*ssh_hosts(ctx), "local:"]))]


def complete_references(ctx: click.Context, text: str) -> list[Item]:
    """References that can be named, and files."""
    from specmon.commands.reference import reference_folders

    if "/" in text:
        return file_items(text)
    names = [path.stem for folder in reference_folders() for path in _listed(folder) if path.suffix == ".toml"]
    return _starting(text, sorted(set(names)))


def complete_themes(ctx: click.Context, text: str) -> list[Item]:
    """Bundled themes and the user's own."""
    import tomllib

    import platformdirs

    from specmon.resources import bundled

    names = set()
    for folder in (bundled("themes"), platformdirs.user_config_path("specmon") / "themes"):
        for path in _listed(folder):
            with suppress(OSError, ValueError):
                name = tomllib.loads(path.read_text(encoding="utf-8")).get("name")
                names |= {name} if isinstance(name, str) else set()
    return _starting(text, sorted(names))


def complete_commands(ctx: click.Context, text: str) -> list[Item]:
    """The command that another command takes."""
    return [] if ctx.params.get("words") else _starting(text, _SCREENS)


def file_items(text: str, *, only_folders: bool = False) -> list[Item]:
    """Files and folders of this machine whose names begin so; folders end with a slash."""
    front, slash, start = text.rpartition("/")
    folder = Path(f"{front}{slash}" or ".")
    with suppress(RuntimeError):  # no such user
        folder = folder.expanduser()
    names = []
    for path in _listed(folder):
        if path.name.startswith(start) and (start or not path.name.startswith(".")):
            is_folder = path.is_dir()
            if is_folder or not only_folders:
                names.append(f"{front}{slash}{path.name}{'/' if is_folder else ''}")
    return [CompletionItem(name) for name in sorted(names)[:_MOST_FILES]]


def ssh_hosts(ctx: click.Context) -> list[str]:
    """The hosts that the SSH configuration names, in its order, without patterns."""
    given = _value(ctx, "ssh_config")
    return list(dict.fromkeys(_hosts_in(Path(given) if given else Path("~/.ssh/config").expanduser(), [])))


def _hosts_in(path: Path, seen: list[Path]) -> Iterator[str]:
    if path in seen or len(seen) > _MOST_INCLUDES:
        return
    seen.append(path)
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if (match := _HOST_LINE.match(line)) is not None:
                words = match[1].split("#")[0].replace('"', " ").split()
                yield from (word for word in words if not set(word) & set("*?!"))
            elif (match := _INCLUDE_LINE.match(line)) is not None:
                for word in match[1].replace('"', " ").split():
                    pattern = os.path.expanduser(word)  # noqa: PTH111 (a pattern, not a path)
                    base = Path("/") if pattern.startswith("/") else Path("~/.ssh").expanduser()
                    for each in sorted(base.glob(pattern.lstrip("/"))):
                        yield from _hosts_in(each, seen)


def _sessions() -> list[str]:
    from specmon.errors import ConfigError
    from specmon.settings.names import settings_path

    if not settings_path().exists():
        return []
    from specmon.settings.file import read_settings

    with suppress(ConfigError):
        file = read_settings()
        return [] if file is None else list(file.settings.sessions)
    return []


def _far_files(ctx: click.Context, host: str, path: str, front: str) -> list[Item]:
    if path.isdecimal():
        return []  # a port
    from specmon.commands.far_files import far_files

    names = ("port", "identities", "jump", "ssh_config", "known_hosts")
    found = far_files(host, path, {name: _value(ctx, name) for name in names})
    return [CompletionItem(f"{front}{name}") for name in found[:_MOST_FILES]]


def _value(ctx: click.Context, parameter: str) -> Any:
    """What the command line, the environment or the settings file say of an option."""
    value = ctx.params.get(parameter)
    if value not in (None, ()):
        return value
    from specmon.errors import ConfigError
    from specmon.settings.command import FileDefaults, setting_keys

    with suppress(ConfigError):
        found = FileDefaults(setting_keys(ctx.command)).found(parameter)
        return value if found is None else found.value
    return value


def _after_server(ctx: click.Context, text: str) -> list[Item]:
    """[SERVER=]FILE"""
    server, sign, path = text.rpartition("=")
    return [CompletionItem(f"{server}{sign}{item.value}") for item in file_items(path)]


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _starting(text: str, words: Iterable[str]) -> list[Item]:
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(text)]
