"""What may be kept in a reference: nothing secret, whatever name it comes under."""

from __future__ import annotations

from specmon.errors import ConfigError
from specmon.references.fingerprint import Fingerprint
from specmon.references.model import Reference
from specmon.secrets import drop_secrets, is_secret_name, is_secret_value


def kept(fingerprint: Fingerprint) -> Fingerprint:
    """The fingerprint without secrets."""
    flags, env, versions, gpu = (
        None if table is None else {name: value for name, value in drop_secrets(table).items() if not _is_key(name)}
        for table in (fingerprint.flags, fingerprint.env, fingerprint.versions, fingerprint.gpu)
    )
    return fingerprint.model_copy(
        update={
            "flags": flags,
            "env": env,
            "env_from": {name: path for name, path in fingerprint.env_from.items() if name in (env or {})},
            "versions": versions,
            "gpu": gpu,
            "unread": tuple(reason for reason in fingerprint.unread if is_harmless_text(reason)),
        }
    )


def require_harmless(what: str, name: str, value: str) -> None:
    """ConfigError when a setting that somebody wants to write down holds a secret. Its value is not told."""
    if is_secret_name(name) or _is_key(name):
        raise ConfigError(
            f"{what} {'' if _is_key(name) else name + ' '}is a secret by its name, and a reference holds none. "
            "Leave it out: it does not change the speed."
        )
    if not drop_secrets({name: value}):
        raise ConfigError(f"{what} {name}: its value looks like a key, and a reference holds no secrets. Leave it out.")


def require_harmless_texts(reference: Reference) -> None:
    """ConfigError when a text of the reference looks like a key; these are the user's own words, so none is dropped."""
    for name in ("name", "note", "host", "engine", "engine_version", "model"):
        value = getattr(reference, name)
        if value is not None and not is_harmless_text(value):
            raise ConfigError(f"reference: {name} holds what looks like a key, and a reference holds no secrets.")


def is_harmless_text(text: str) -> bool:
    """Whether nothing in a text looks like a key or gives a secret name a value."""
    return not is_secret_value(text) and bool(drop_secrets({"text": text}))


def _is_key(text: str) -> bool:
    return is_secret_value(text)
