"""Finds the output files of a slurm job (`slurm:JOBID`) by asking the scheduler, else its accounting."""

from __future__ import annotations

from specmon.errors import SourceRefused
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_run import Fault, Tool, ask
from specmon.sources.slurm_job import Job, parse_sacct, parse_scontrol

_NEXT = "Name a login node of the cluster (HOST:slurm:JOBID), or the job's output files."
_FAULTS = (
    Fault("invalid job id", "absent", "no such job"),
    Fault("access/permission denied|authentication|munge", "refused", "slurm does not let this user ask ({detail})."),
    Fault(
        "unable to contact|connection refused|timed out|communication",
        "down",
        "the slurm controller does not answer ({detail}). Try again later, or name the job's output files.",
    ),
)
SCONTROL = Tool("scontrol", _NEXT, _FAULTS)
SACCT = Tool("sacct", _NEXT, _FAULTS)
_COLUMNS = ("JobID", "JobIDRaw", "State", "JobName", "User", "NodeList", "WorkDir", "StdOut", "StdErr")


async def find_job(machine: StreamingMachine, name: str, job: str) -> Job:
    """The job with its files. SourceRefused when nobody knows it, or not where it writes."""
    answer = await ask(machine, SCONTROL, name, ("scontrol", "show", "job", "--oneliner", job), was_reached=False)
    found = parse_scontrol(answer.out.decode("utf-8", "replace"))
    if answer.status == 0 and found:
        return _one(found, name, job)
    said = answer.said.lower()
    if answer.status != 0 and b"invalid job id" not in said:
        raise SCONTROL.error(name, answer.said, was_reached=False)
    return await _past_job(machine, name, job)


async def _past_job(machine: StreamingMachine, name: str, job: str) -> Job:
    """A job that the scheduler has forgotten, minutes after its end, is known to the accounting."""
    words = ("sacct", "-X", "-P", "-n", "-j", job, "-o", ",".join(_COLUMNS))
    forgotten = f"{name}: the scheduler has forgotten the job or never knew it"
    answer = await ask(machine, SACCT, name, words, was_reached=True)
    if answer.status != 0:
        if b"invalid field" in answer.said.lower():
            raise SourceRefused(
                f"{forgotten}, and this slurm's accounting keeps no file names (those since 24.05 do). "
                "Name the job's output files instead."
            )
        raise SourceRefused(f"{forgotten}, and sacct says: {answer.said.decode('utf-8', 'replace').strip()[:200]}.")
    found = parse_sacct(answer.out.decode("utf-8", "replace"), _COLUMNS)
    if not found:
        raise SourceRefused(f"{name}: no such job. Check the number with `squeue` or `sacct`.")
    return _one(found, name, job)


def _one(found: list[Job], name: str, job: str) -> Job:
    paths = {one.paths for one in found}
    if len(paths) > 1:
        task = next((one.task for one in found if one.task.isdecimal()), "0")  # those that wait are 4-9
        raise SourceRefused(f"{name}: it is an array of {len(found)} tasks. Name one: slurm:{job}_{task}.")
    if not found[0].paths:
        raise SourceRefused(f"{name}: the job writes to no file that slurm knows of. Name its log instead.")
    return found[0]
