"""The conditions under which a server runs: launch flags, environment, versions, GPU, host."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

UNSET_FLAGS = "unset_flags"  # how a file lists flags whose value is None, which TOML cannot write


class Fingerprint(BaseModel):
    """What is known of a server's conditions.

    A table that is None was not looked at (no permission, no process), and then nothing follows from a
    name that is not in it. An empty table was looked at and holds nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flags: dict[str, JsonValue] | None = None  # the engine's own names and types
    env: dict[str, str] | None = None  # only names of the allow-list, no secrets
    is_env_partial: bool = False  # the names in `env` were set, and nothing is known of the others
    versions: dict[str, str] | None = None  # engine, torch, nccl, driver
    gpu: dict[str, JsonValue] | None = None  # names, count, power_limit_w, clocks

    @model_validator(mode="before")
    @classmethod
    def _with_unset_flags(cls, content: object) -> object:
        if not isinstance(content, dict) or UNSET_FLAGS not in content:
            return content
        names = content[UNSET_FLAGS]
        flags = content.get("flags", {})
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{UNSET_FLAGS} is a list of names")
        if not isinstance(flags, dict):
            return content
        if both := [name for name in names if name in flags]:
            raise ValueError(f"{both[0]} is in both flags and {UNSET_FLAGS}")
        rest = {key: value for key, value in content.items() if key != UNSET_FLAGS}
        return {**rest, "flags": {**flags, **dict.fromkeys(names)}}

    @classmethod
    def of_process(cls, flags: Mapping[str, JsonValue] | None, env: Mapping[str, str] | None) -> Fingerprint:
        """The conditions that a process list gives: flags and environment, nothing of versions and GPU."""
        return cls(flags=None if flags is None else dict(flags), env=None if env is None else dict(env))

    @property
    def is_empty(self) -> bool:
        """Nothing at all was looked at."""
        return self.flags is None and self.env is None and self.versions is None and self.gpu is None
