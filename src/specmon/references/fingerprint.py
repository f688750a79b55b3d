"""The conditions under which a server runs: launch flags, environment, versions, GPU, host."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue, field_validator, model_validator

from specmon.secrets import drop_secrets

UNSET_FLAGS = "unset_flags"  # how a file lists flags whose value is None, which TOML cannot write


class Fingerprint(BaseModel):
    """What is known of a server's conditions.

    A table that is None was not looked at (no permission, no process), and then nothing follows from a
    name that is not in it. An empty table was looked at and holds nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flags: dict[str, JsonValue] | None = None  # the engine's own names and types
    env: dict[str, str] | None = None  # only names of the allow-list, no secrets
    env_from: dict[str, str] = {}  # by name: the file that sets it, where no process has it (NCCL's nccl.conf)
    env_is_partial: bool = False  # what `env` lacks may be set all the same: not all of it could be read
    versions: dict[str, str] | None = None  # engine, torch, nccl, driver, kernel libraries
    gpu: dict[str, JsonValue] | None = None  # names, count, power_limit_w, clocks
    unread: tuple[str, ...] = ()  # what could not be read and why, a clause each

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

    @field_validator("flags", "env", "env_from")
    @classmethod
    def _without_secrets(cls, table: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        """Whoever wrote the file or the caller: no key gets in."""
        return None if table is None else drop_secrets(table)

    @classmethod
    def of_process(
        cls, flags: Mapping[str, JsonValue] | None, env: Mapping[str, str] | None, *, env_is_partial: bool = False
    ) -> Fingerprint:
        """The conditions that a process list gives: flags and environment, nothing of versions and GPU."""
        return cls(
            flags=None if flags is None else dict(flags),
            env=None if env is None else dict(env),
            env_is_partial=env_is_partial,
        )

    def with_log(
        self, flags: Mapping[str, JsonValue] | None, env: Mapping[str, str], version: str | None
    ) -> Fingerprint:
        """Together with what the log says: the engine's own record has every flag as it was resolved, so it counts
        before the command line; a process counts before what NCCL once logged."""
        told: dict[str, object] = {}
        if flags is not None:
            told["flags"] = {**(self.flags or {}), **flags}
        if env and (self.env is None or self.env_is_partial):
            told["env"] = {**env, **(self.env or {})}
            told["env_is_partial"] = True
        if version is not None and "engine" not in (self.versions or {}):
            told["versions"] = {"engine": version, **(self.versions or {})}
        return self.model_copy(update=told)

    @property
    def unread_sentence(self) -> str:
        """What a reader is told of the gaps; empty when there are none."""
        return f"not read: {'; '.join(self.unread)}" if self.unread else ""

    @property
    def is_empty(self) -> bool:
        """Nothing at all was looked at."""
        return self.flags is None and self.env is None and self.versions is None and self.gpu is None
