"""Files of a machine as sources: one file, or the newest of those that a pattern matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from specmon.sources.events import Source

if TYPE_CHECKING:  # asyncssh takes longer to import than many a log to read
    from specmon.sources.follow import Pace
    from specmon.sources.machine import ThisMachine
    from specmon.sources.matches import Match
    from specmon.sources.ssh import SshHost

Target: TypeAlias = "SshHost | ThisMachine"


def file_on(
    machine: Target, path: str, *, follow: bool, backfill_bytes: int | None, pace: Pace | None = None
) -> Source:
    """A file of this machine or of a host."""
    from specmon.sources.local import LocalFile
    from specmon.sources.machine import ThisMachine

    if isinstance(machine, ThisMachine):
        return LocalFile(path, follow=follow, backfill_bytes=backfill_bytes, pace=pace)
    from specmon.sources.remote_file import RemoteFile

    return RemoteFile(machine, path, follow=follow, backfill_bytes=backfill_bytes, pace=pace)


async def matches_on(machine: Target, pattern: str) -> list[Match]:
    """The files of a machine that a pattern matches."""
    from specmon.sources.machine import ThisMachine
    from specmon.sources.matches import local_matches, remote_matches

    return local_matches(pattern) if isinstance(machine, ThisMachine) else await remote_matches(machine, pattern)


def newest_on(machine: Target, name: str, pattern: str, backfill_bytes: int | None) -> Source:
    """The newest file that a pattern matches, and every newer one that appears."""
    from specmon.sources.newest_file import NewestFile

    async def find() -> list[Match]:
        return await matches_on(machine, pattern)

    def open_file(path: str, is_first: bool) -> Source:
        return file_on(machine, path, follow=True, backfill_bytes=backfill_bytes if is_first else None)

    return NewestFile(name, find, open_file)
