"""The conditions under which a server runs: launch flags, environment, versions, GPU, host."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue


class Fingerprint(BaseModel):
    """What is known of a server's conditions.

    A table that is None was not looked at (no permission, no process), and then nothing follows from a
    name that is not in it. An empty table was looked at and holds nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flags: dict[str, JsonValue] | None = None  # the engine's own names and types
    env: dict[str, str] | None = None  # only names of the allow-list, no secrets
    versions: dict[str, str] | None = None  # engine, torch, nccl, driver
    gpu: dict[str, JsonValue] | None = None  # names, count, power_limit_w, clocks

    @classmethod
    def of_process(cls, flags: Mapping[str, JsonValue] | None, env: Mapping[str, str] | None) -> Fingerprint:
        """The conditions that a process list gives: flags and environment, nothing of versions and GPU."""
        return cls(flags=None if flags is None else dict(flags), env=None if env is None else dict(env))

    @property
    def is_empty(self) -> bool:
        """Nothing at all was looked at."""
        return self.flags is None and self.env is None and self.versions is None and self.gpu is None
