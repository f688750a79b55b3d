"""What may stand in the settings file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.functional_validators import AfterValidator


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _whole_path(value: str, info: ValidationInfo) -> str:
    """`~` is the home folder; a relative path begins where the settings file is, wherever specmon is started."""
    folder = (info.context or {}).get("folder", Path())
    return str(folder / Path(value).expanduser())


File = Annotated[str, Field(min_length=1), AfterValidator(_whole_path)]
Files = Annotated[list[File], BeforeValidator(_as_list)]
Words = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_as_list)]
Load = Annotated[str, BeforeValidator(_as_text), Field(pattern=r"^\s*[0-9]{1,9}(\s*(-|\.\.)\s*[0-9]{1,9})?\s*$")]
Name = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    """A value of another type is an error, not something to be guessed from."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Common(_Table):
    """What holds everywhere, and what a session can have of its own."""

    theme: Name | None = Field(None, description="colour theme to begin with: a bundled one, or one of your own")
    ascii: bool | None = Field(None, description="draw with ASCII characters only")
    plain: bool | None = Field(None, description="print lines instead of a screen")
    interval: float | None = Field(None, ge=0.1, allow_inf_nan=False, description="seconds between two sets of lines")
    reference: Name | None = Field(
        None, description="recorded baseline to compare with: its name, or the path of a file"
    )
    reference_tok_s: Name | None = Field(None, description='the same without a file: `"88.8@1"`')
    running: Load | None = Field(None, description='running requests to compare at: `8` or `"28-34"`')

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        if self.reference is not None and self.reference_tok_s is not None:
            raise ValueError("reference and reference_tok_s name two references: keep one of them")
        return self


class Ssh(_Table):
    """How hosts are reached, besides what ~/.ssh/config says."""

    port: int | None = Field(None, ge=1, le=65535, description="port, when the SSH configuration has none")
    identity: Files | None = Field(None, description="private key file, or a list of them")
    jump: Name | None = Field(None, description="go through this host: `[USER@]HOST[:PORT]`")
    config: File | None = Field(None, description="instead of ~/.ssh/config")
    known_hosts: File | None = Field(None, description="instead of ~/.ssh/known_hosts")


class Notify(_Table):
    """Who is told when the verdict changes."""

    desktop: bool | None = Field(None, description="show a notification of the desktop, through the terminal")
    webhook: Name | None = Field(None, description="address that gets it as JSON; never shown by specmon")


class Host(_Table):
    """How the pages of one host's servers are asked for."""

    metrics_header_env: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="variable that holds the Authorization header (`Bearer KEY`); the key itself never stands here",
    )
    metrics_ca: File | None = Field(None, description="certificates (PEM) to trust its TLS servers by")
    metrics_insecure: bool | None = Field(None, description="ask its TLS servers without looking at certificates")


class Session(Common):
    """A command line that has a name: `specmon connect @NAME`."""

    hosts: Annotated[Words, Field(min_length=1)] = Field(description="as after `connect`; required")
    baseline: Words | None = Field(None, description="SOURCE of the baseline, or a list")
    spec: Words | None = Field(None, description="SOURCE of the speculative server, or a list")
    from_start: bool | None = Field(None, description="read each log from its beginning")


class Settings(Common):
    """The whole file."""

    warm_up: int | None = Field(None, ge=0, description="seconds after ready whose samples are left out")
    ssh: Ssh = Ssh()
    notify: Notify = Notify()
    hosts: dict[str, Host] = Field(default_factory=dict)
    keys: dict[str, Name] = Field(default_factory=dict)
    sessions: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")], Session] = Field(
        default_factory=dict
    )
