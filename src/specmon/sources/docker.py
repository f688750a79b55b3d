"""The logs of docker's containers: by name (`docker:NAME`), or by the service of a compose file (`compose:SERVICE`)."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.errors import SourceRefused
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_log import Instance
from specmon.sources.program_run import Answer, Fault, NotThere, Tool, ask
from specmon.sources.stamped_log import StampMemory

DOCKER = Tool(
    "docker",
    "Name the log's file instead (HOST:PATH), or another machine.",
    (
        Fault(
            "permission denied.*docker|docker.*permission denied",
            "refused",
            "no permission to ask docker. Let an administrator add this user to the group docker, "
            "or log in as a user who may (USER@HOST).",
        ),
        Fault(
            "cannot connect to the docker daemon|is the docker daemon running|error during connect",
            "down",
            "the docker daemon does not answer. Start it (`systemctl start docker`), then try again.",
        ),
        Fault("no such (object|container)", "absent", "no such container"),
        Fault(
            "does not support reading",
            "refused",
            "its logging driver keeps nothing that docker could read back. "
            "Start the container with --log-driver json-file or local, or read where the driver sends the lines.",
        ),
    ),
)

_STATE = "{{.Id}} {{.State.Status}} {{.State.ExitCode}} {{.State.StartedAt}}"
_LISTED = '{{.ID}} {{.State}} {{.Names}} {{.Label "com.docker.compose.project"}}'
_SERVICE = "com.docker.compose.service"
_PROJECT = "com.docker.compose.project"
_ONE_OFF = "com.docker.compose.oneoff"  # `docker compose run`, which is not the service
# A container in one of these states writes, or may at any moment.
_RUNS = ("running", "paused", "restarting")


@dataclass(frozen=True, slots=True)
class DockerLog:
    """The log of one container, or of the one that a compose service has now."""

    name: str
    machine: StreamingMachine
    container: str = ""
    service: str = ""  # instead of a container: SERVICE or PROJECT/SERVICE
    keeps_stamps: bool = True

    tool = DOCKER
    joins_stderr = True  # the container's own stderr comes on docker's
    reads_by_name = False
    ends_with_its_log = True  # `logs --follow` ends when the container does

    def memory(self) -> StampMemory:
        return StampMemory(self.keeps_stamps, drops_echoes=True)

    async def look(self, *, was_reached: bool) -> Instance:
        """The container that has the name, by its id."""
        container = await self._of_service(was_reached) if self.service else self.container
        answer = await self._ask(("inspect", "--type", "container", "-f", _STATE, container), was_reached)
        words = answer.out.decode("utf-8", "replace").split(maxsplit=3)
        if len(words) != 4:
            raise self.tool.error(self.name, answer.out, was_reached=was_reached)
        key, state, status, start = words
        note = "" if state in _RUNS else f"the container is {state}"
        if state == "exited":
            note = f"the container has ended with status {status}"
        return Instance(key, state in _RUNS, note, start.strip())

    def words(self, instance: Instance, resume: str | None, *, follow: bool, lines: int | None) -> tuple[str, ...]:
        words = ["docker", "logs", "--timestamps"]
        if follow:
            words.append("--follow")
        if resume is not None:
            words += ["--since", resume]
        elif lines is not None:
            words += ["--tail", str(lines)]
        return (*words, instance.key)

    def rest_words(self, old: Instance, new: Instance, resume: str | None) -> tuple[str, ...] | None:
        # It may be there still, under another name.
        return self.words(old, resume, follow=False, lines=None)

    async def _of_service(self, was_reached: bool) -> str:
        project, _, service = self.service.rpartition("/")
        filters = [f"{_SERVICE}={service}", f"{_ONE_OFF}=False"]
        if project:
            filters.append(f"{_PROJECT}={project}")
        words = [word for label in filters for word in ("--filter", f"label={label}")]
        answer = await self._ask(("ps", "--all", "--no-trunc", *words, "--format", _LISTED), was_reached)
        listed = [line.split(maxsplit=3) for line in answer.out.decode("utf-8", "replace").splitlines()]
        found = [words for words in listed if len(words) >= 3]
        running = [words for words in found if words[1] in _RUNS]
        if len(running) > 1:
            names = ", ".join(f"docker:{words[2]}" for words in running)
            projects = {words[3] for words in running if len(words) == 4}
            more = f", or with its project: compose:{sorted(projects)[0]}/{service}" if len(projects) > 1 else ""
            raise SourceRefused(f"{self.name}: {len(running)} containers run for it. Name one: {names}{more}.")
        if not found:
            raise NotThere(f"{self.name}: no container of that service")
        return (running or found)[0][0]  # docker lists the newest first

    async def _ask(self, words: tuple[str, ...], was_reached: bool) -> Answer:
        answer = await ask(self.machine, self.tool, self.name, ("docker", *words), was_reached=was_reached)
        if answer.status != 0:
            raise self.tool.error(self.name, answer.said, was_reached=was_reached)
        return answer
