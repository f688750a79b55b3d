"""What the parts of a JSON document have in common.

The document is only written, by code that a type checker has read. So its parts are plain records: to import pydantic
and build its schemas would take as long as all the rest of a report's start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Any, ClassVar, dataclass_transform

from specmon.events import Json


class _Key:
    """What a key has besides its type."""

    def __init__(self, printed_as: str | None, default_factory: Callable[[], object] | None) -> None:
        self.printed_as = printed_as
        self.default_factory = default_factory


def key(*, printed_as: str | None = None, default_factory: Callable[[], object] | None = None) -> Any:
    """A key that is printed under another name, as Python keeps that word for itself, or made when it is missing."""
    return _Key(printed_as, default_factory)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class Part:
    """A piece of the document: nothing but its own keys, in their order, with a default or given."""

    _types: ClassVar[dict[str, str]] = {}  # by key, as they are written

    def __init_subclass__(cls) -> None:
        own = {name: str(kind) for name, kind in get_annotations(cls).items()}
        cls._types = {**cls._types, **own}

    def __init__(self, **values: object) -> None:
        for name in self._types:
            if name in values:
                self.__dict__[name] = values.pop(name)
                continue
            default = getattr(type(self), name)  # AttributeError: the key must be given
            is_made = isinstance(default, _Key) and default.default_factory is not None
            self.__dict__[name] = default.default_factory() if is_made else default
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def as_json(self) -> dict[str, Json]:
        """The keys as they are printed, with what JSON can hold."""
        document: dict[str, Json] = {}
        for name, kind in self._types.items():
            own = getattr(type(self), name, None)
            printed = own.printed_as if isinstance(own, _Key) and own.printed_as else name
            document[printed] = _plain(self.__dict__[name], is_float="float" in kind)
        return document


def _plain(value: object, *, is_float: bool) -> Json:
    if isinstance(value, Part):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(name): _plain(each, is_float=is_float) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, is_float=is_float) for each in value]
    if is_float and isinstance(value, int):
        return float(value)  # 1.0 and not 1: a reader may tell the two apart
    assert value is None or isinstance(value, str | int | float)
    return value
