"""Where a slurm job's output goes: the answers of scontrol and sacct, and the patterns in file names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FIELD = re.compile(r"(?:^| )([A-Za-z][A-Za-z0-9:_/]*)=")
_PATTERN = re.compile(r"%(\d*)([%AaJjNnstuxb])")
JOB = re.compile(r"(?P<job>\d+)(?:_(?P<task>\d+)|\+(?P<part>\d+))?")


@dataclass(frozen=True, slots=True)
class Job:
    """What the scheduler knows of a job."""

    state: str
    out_path: str | None
    err_path: str | None
    number: str = ""  # of this task alone, where the job is an array
    node: str = ""  # the first machine that it runs on
    task: str = ""  # its number in the array

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it writes, each once: without --error both streams go into one."""
        return tuple(dict.fromkeys(path for path in (self.err_path, self.out_path) if path and path != "/dev/null"))


def parse_scontrol(answer: str) -> list[Job]:
    """Read `scontrol show job --oneliner`: a line a job, a line a task of an array."""
    jobs = []
    for line in answer.splitlines():
        fields = _fields(line)
        if "JobId" not in fields:
            continue
        names = {
            "j": fields["JobId"],
            "A": fields.get("ArrayJobId", fields["JobId"]),
            "a": fields.get("ArrayTaskId", "4294967294"),
            "x": fields.get("JobName", ""),
            "u": fields.get("UserId", "").partition("(")[0],
            "N": first_host(fields.get("BatchHost") or fields.get("NodeList") or ""),
        }
        out, err = fields.get("StdOut"), fields.get("StdErr")
        work = fields.get("WorkDir", "")
        jobs.append(
            Job(
                fields.get("JobState", ""),
                _path(out, work, names),
                _path(err or out, work, names),
                number=fields["JobId"],
                node=names["N"],
                task=fields.get("ArrayTaskId", ""),
            )
        )
    return jobs


def parse_sacct(answer: str, columns: tuple[str, ...]) -> list[Job]:
    """Read `sacct -X -P -n -o COLUMNS`."""
    jobs = []
    for line in answer.splitlines():
        row = dict(zip(columns, line.split("|"), strict=False))
        if len(row) != len(columns):
            continue
        identity = JOB.match(row["JobID"])
        raw = row.get("JobIDRaw") or row["JobID"]
        names = {
            "j": raw,
            "A": identity["job"] if identity else raw,
            "a": (identity["task"] if identity else None) or "4294967294",
            "x": row.get("JobName", ""),
            "u": row.get("User", ""),
            "N": first_host(row.get("NodeList", "")),
        }
        out, err, work = row.get("StdOut"), row.get("StdErr"), row.get("WorkDir", "")
        jobs.append(
            Job(
                row.get("State", ""),
                _path(out, work, names),
                _path(err or out, work, names),
                number=raw,
                node=names["N"],
                task=(identity["task"] if identity else None) or "",
            )
        )
    return jobs


def expand(pattern: str, names: Mapping[str, str]) -> str:
    """Put a job's own values for the %-patterns of sbatch; a number between pads with zeros.

    A job writes its batch script's output as step "batch" on its first node, task 0.
    """
    if "\\" in pattern:  # sbatch: then no pattern is looked at
        return pattern.replace("\\", "")

    def value(match: re.Match[str]) -> str:
        sign = match[2]
        if sign == "%":
            return "%"
        if sign == "b":
            found = names.get("a", "0")
            found = str(int(found) % 10) if found.isdecimal() else found
        else:
            found = {**names, "J": names.get("j", ""), "n": "0", "s": "batch", "t": "0"}.get(sign, match[0])
        return found.rjust(int(match[1]), "0") if match[1] and found.isdecimal() else found

    return _PATTERN.sub(value, pattern)


def first_host(nodes: str) -> str:
    """The first of slurm's host list: `gpu[03-05,9],cpu1` begins with gpu03."""
    match = re.match(r"([^\[,]*)(?:\[(\d+)[^\]]*\])?([^,\[]*)", nodes)
    return "" if match is None else match[1] + (match[2] or "") + (match[3] if match[2] else "")


def _fields(line: str) -> dict[str, str]:
    """`Name=value` pairs. Values may hold blanks and equal signs (Command=, Comment=), so a name's first counts."""
    starts = list(_FIELD.finditer(line))
    found: dict[str, str] = {}
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(line)
        found.setdefault(start[1], line[start.end() : end].strip())
    return found


def _path(pattern: str | None, work: str, names: Mapping[str, str]) -> str | None:
    if not pattern or pattern in ("(null)", "None"):
        return None
    path = expand(pattern, names)
    return path if path.startswith("/") or not work else f"{work}/{path}"
