"""The settings that options have, each with its variable. Nothing here is slow to import: every command does."""

from __future__ import annotations

from pathlib import Path

VARIABLES = {
    "theme": "SPECMON_THEME",
    "ascii": "SPECMON_ASCII",
    "plain": "SPECMON_PLAIN",
    "interval": "SPECMON_INTERVAL",
    "reference": "SPECMON_REFERENCE",
    "reference_tok_s": "SPECMON_REFERENCE_TOK_S",
    "running": "SPECMON_RUNNING",
    "warm_up": "SPECMON_WARM_UP",
    "ssh.port": "SPECMON_SSH_PORT",
    "ssh.identity": "SPECMON_SSH_IDENTITY",
    "ssh.jump": "SPECMON_SSH_JUMP",
    "ssh.config": "SPECMON_SSH_CONFIG",
    "ssh.known_hosts": "SPECMON_SSH_KNOWN_HOSTS",
    "notify.desktop": "SPECMON_NOTIFY_DESKTOP",
    "notify.webhook": "SPECMON_WEBHOOK",
}
"""Key in the settings file, and the environment variable that goes before it."""

KEYS = {variable: key for key, variable in VARIABLES.items()}
SECRETS = frozenset({"notify.webhook"})  # whoever knows the address may write there: never shown
SESSION_OPTIONS = {"baseline": "baseline", "speculative": "spec", "from_start": "from_start"}
"""Options that only a session gives: name of the parameter, and key of the session."""


def settings_path() -> Path:
    """Where the settings file is, or would be."""
    import platformdirs

    return platformdirs.user_config_path("specmon") / "config.toml"
