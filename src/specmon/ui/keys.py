"""Which actions have keys, and whether the keys that a user wants for them can be had."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key, format_key, key_to_character

import specmon.ui

_WORD = re.compile(r"[←→]|[^\s←→]+")
_NAMES = {"←": "left", "→": "right", "esc": "escape"}


@dataclass(frozen=True, slots=True)
class KeyAction:
    """An action that can be bound to other keys."""

    id: str
    keys: str  # by name, with commas between them
    text: str
    group: str  # keys of one group must differ; a dialogue and a panel have their own


def key_actions() -> tuple[KeyAction, ...]:
    """Every action of the screens with a key, by its id."""
    for module in pkgutil.walk_packages(specmon.ui.__path__, "specmon.ui."):
        importlib.import_module(module.name)
    found: dict[str, KeyAction] = {}
    for node in sorted(_nodes(DOMNode), key=lambda node: (node.__name__ != "SpecmonApp", node.__name__)):
        for binding in node.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id is not None:
                action = KeyAction(binding.id, binding.key, binding.description, node.__name__)
                found.setdefault(binding.id, action)
    return tuple(found.values())


def _nodes(node: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in node.__subclasses__():
        if each.__module__.startswith("specmon.ui."):
            yield each
        yield from _nodes(each)


def checked_keys(wanted: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What of the user's keys can be had, in Textual's names, and a sentence for each that cannot."""
    actions = {action.id: action for action in key_actions()}
    chosen: dict[str, str] = {}
    faults: list[str] = []
    for name, text in wanted.items():
        if name not in actions:
            faults.append(f"keys: {name!r} is no action. `specmon config keys` lists them.")
        elif (keys := parse_keys(text)) is None:
            faults.append(f"keys: {name}: {text!r} is no key. Write a character, or a name as f5, ctrl+l or home.")
        else:
            chosen[name] = keys
    while (clash := _clash(actions.values(), chosen)) is not None:
        key, owner, other = clash
        loser = other if other in chosen else owner
        del chosen[loser]
        faults.append(
            f"keys: {loser}: {shown_key(key)} belongs to {owner if loser == other else other}, so it is left out. "
            "Give one of them another key."
        )
    return chosen, faults


def set_up_keys(app: App[None], wanted: Mapping[str, str]) -> Mapping[str, str]:
    """Give an app the keys that its user wants; answer those that can be had, and tell of the others."""
    if not wanted:
        return {}
    chosen, faults = checked_keys(wanted)
    app.set_keymap(chosen)
    if faults:
        app.notify("\n".join(faults), title="Keys left out", severity="warning", markup=False)
    return chosen


def parse_keys(text: str) -> str | None:
    """`L`, `ctrl+l` or `L, f5` in Textual's names; None when one of them is no key."""
    words = [text.strip()] if len(text.strip()) == 1 else [word.strip() for word in text.split(",")]
    keys = [_named(word) for word in words]
    return None if None in keys else ",".join(key for key in keys if key is not None)


def shown_key(key: str) -> str:
    """A key as the key bar shows it."""
    return "^" + key.removeprefix("ctrl+") if key.startswith("ctrl+") else format_key(key)


def shown_keys(default: str, own: Mapping[str, str]) -> str:
    """The keys of a row of the help or the key bar, `l  /` or `←→`, with the user's keys where there are some."""
    if not own:
        return default
    owners = {_named(key): action.id for action in reversed(key_actions()) for key in action.keys.split(",")}
    shown: dict[str, None] = {}  # in order, each once
    for word in _WORD.findall(default):
        action = owners.get(_named(_NAMES.get(word, word)))
        keys = own.get(action) if action is not None else None
        shown.update(dict.fromkeys([word] if keys is None else [shown_key(key) for key in keys.split(",")]))
    words = _WORD.findall(default)
    return default if list(shown) == words else " ".join(shown)


def _named(word: str) -> str | None:
    if len(word) == 1:
        return _character_to_key(word) if word.isprintable() and not word.isspace() else None
    *modifiers, last = word.lower().split("+") if not word.endswith("++") else [*word[:-2].split("+"), "plus"]
    if not last or not set(modifiers) <= {"ctrl", "shift", "alt", "super"}:
        return None
    names = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())
    if len(last) == 1 and modifiers:
        last = _character_to_key(last)
    elif (
        last not in names
        and (len(last) == 1 or key_to_character(last) is None)
        and f"{'+'.join((*modifiers, last))}" not in names
    ):
        return None
    return "+".join((*modifiers, last))


def _clash(actions: Iterable[KeyAction], chosen: Mapping[str, str]) -> tuple[str, str, str] | None:
    """A key that two actions have, with both; only the user can have brought that about."""
    owners: dict[tuple[str, str], str] = {}
    for action in actions:
        for key in chosen.get(action.id, action.keys).split(","):
            owner = owners.setdefault((action.group, key.strip()), action.id)
            if owner != action.id:
                return key.strip(), owner, action.id
    return None
