"""From a scheme word of the command line to the source behind it."""

from __future__ import annotations

from specmon.commands.opening import Target, file_on
from specmon.sources.address import ProgramPlace
from specmon.sources.command import CommandSource
from specmon.sources.deferred import Deferred
from specmon.sources.docker import DockerLog
from specmon.sources.events import Source
from specmon.sources.joined import Joined
from specmon.sources.journal import JournalLog
from specmon.sources.kubernetes import PATTERN, KubernetesLog
from specmon.sources.program_follow import ProgramSource
from specmon.sources.program_log import LogProgram
from specmon.sources.slurm import find_job
from specmon.sources.tmux import TmuxSource
from specmon.sources.unpack import Unpacked


def open_program(
    place: ProgramPlace,
    machine: Target,
    *,
    follow: bool,
    backfill_bytes: int | None,
    is_plain: bool = False,
) -> Source:
    """The source that a scheme word names on a machine."""
    name = str(place)
    match place.scheme:
        case "cmd":
            command = CommandSource(name, machine, place.what, follow=follow)
            return command if follow else Unpacked(command)
        case "tmux":
            return TmuxSource(name, machine, place.what, follow=follow, backfill_bytes=backfill_bytes)
        case "slurm":

            async def find() -> Source:
                job = await find_job(machine, name, place.what)
                files = [file_on(machine, path, follow=follow, backfill_bytes=backfill_bytes) for path in job.paths]
                return files[0] if len(files) == 1 else Joined(name, files)

            return Deferred(name, find)
        case _:
            return ProgramSource(
                log_program(place, machine, is_plain=is_plain), follow=follow, backfill_bytes=backfill_bytes
            )


def log_program(place: ProgramPlace, machine: Target, *, is_plain: bool) -> LogProgram:
    name = str(place)
    match place.scheme:
        case "docker":
            return DockerLog(name, machine, container=place.what, keeps_stamps=not is_plain)
        case "compose":
            return DockerLog(name, machine, service=place.what, keeps_stamps=not is_plain)
        case "journal":
            return JournalLog(name, machine, place.what, as_json=not is_plain)
        case _:
            found = PATTERN.fullmatch(place.what)
            assert found is not None, "the address has been checked"
            return KubernetesLog(
                name,
                machine,
                found["namespace"],
                found["pod"],
                found["container"],
                is_previous=found["previous"] is not None,
                keeps_stamps=not is_plain,
            )
