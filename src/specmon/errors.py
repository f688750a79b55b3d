"""What can go wrong, sorted by what the caller can do about it.

    SpecmonError
    ├── SourceLost      the link broke: wait and try again
    ├── SourceRefused   trying again cannot help: tell the user
    ├── UnreadableInput a source that cannot be opened or is no log: tell the user
    └── ConfigError     a reference, theme, capture or option that is wrong: tell the user

Each message names the thing, the fault and the next step in one sentence. Anything else that is
raised is a bug and may stop the program.
"""

from __future__ import annotations


class SpecmonError(Exception):
    """An expected failure; `str(error)` is the sentence for the user."""


class SourceLost(SpecmonError):
    """The link to a source broke; the follower waits and tries again."""


class SourceRefused(SpecmonError):
    """A source that will not open however often it is tried (host key, password, usage)."""


class UnreadableInput(SpecmonError):
    """A file or stream that cannot be opened (missing, a directory, no permission)."""


class ConfigError(SpecmonError):
    """A reference, theme, capture manifest or option whose content is wrong."""
