"""The log of a pod's container (`kube:NAMESPACE/POD[/CONTAINER]`), through its restarts and its successors.

POD is a pod's name, or the name of what its pods are made by (a deployment): then the newest one counts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any  # what a foreign JSON object holds

from specmon.errors import SourceLost, SourceRefused
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_log import Instance
from specmon.sources.program_run import Answer, Fault, NotThere, Tool, ask
from specmon.sources.stamped_log import StampMemory

KUBECTL = Tool(
    "kubectl",
    "Name a machine that has it (HOST:kube:…), or pipe the log in.",
    (
        Fault(
            r"\(forbidden\)|is forbidden",
            "refused",
            "the cluster does not allow it ({detail}). Ask for the right to get pods and pods/log in that namespace.",
        ),
        Fault(
            "unauthorized|must be logged in|credentials",
            "down",  # logins run out and are renewed
            "the cluster does not know this user ({detail}). Renew the login, then try again.",
        ),
        Fault(
            "current-context|no configuration|localhost:8080",
            "refused",
            "kubectl has no cluster there. Set KUBECONFIG or a context (`kubectl config use-context NAME`) first.",
        ),
        Fault("previous terminated container .* not found", "absent", "no log of an earlier container is kept"),
        Fault("is waiting to start|podinitializing|containercreating", "absent", "the container has not started yet"),
        Fault(r"\(notfound\)|not found", "absent", "no such pod or namespace"),
        Fault(
            "unable to connect|connection refused|no such host|timeout|timed out",
            "down",
            "the cluster does not answer ({detail}). Check the network and the context, then try again.",
        ),
    ),
)

_COLUMNS = "custom-columns=N:.metadata.name,C:.metadata.creationTimestamp,P:.status.phase"
_DEFAULT = "kubectl.kubernetes.io/default-container"
PATTERN = re.compile(
    r"(?P<namespace>[a-z0-9][a-z0-9-]*)/(?P<pod>[a-z0-9][a-z0-9.-]*)(?:/(?P<container>[a-z0-9][a-z0-9-]*))?"
    r"(?P<previous>@previous)?"
)


@dataclass(frozen=True, slots=True)
class KubernetesLog:
    """The log of one container of a pod."""

    name: str
    machine: StreamingMachine
    namespace: str
    pod: str
    container: str | None = None
    is_previous: bool = False  # the one that ended before the present one
    keeps_stamps: bool = True

    tool = KUBECTL
    joins_stderr = False
    reads_by_name = True  # kubectl knows no ids
    ends_with_its_log = False  # it also ends when the API server closes the connection

    def memory(self) -> StampMemory:
        return StampMemory(self.keeps_stamps)

    async def look(self, *, was_reached: bool) -> Instance:
        """The pod's container as it is now."""
        pod = await self._pod(was_reached)
        try:
            return self._instance(pod)
        except (AttributeError, KeyError, TypeError):  # JSON of another shape than a pod's
            raise SourceLost(f"{self.name}: kubectl gave no usable answer") from None

    def _instance(self, pod: dict[str, Any]) -> Instance:
        container = self._container(pod)
        statuses = pod.get("status", {}).get("containerStatuses") or []
        found = next((one for one in statuses if one.get("name") == container), None)
        if found is None or not (state := found.get("state")):
            raise NotThere(f"{self.name}: the container has not started yet")
        name = str(pod["metadata"]["name"])
        last = found.get("lastState", {}).get("terminated") or {}
        if self.is_previous:
            if not (key := str(last.get("containerID") or "")):
                raise NotThere(f"{self.name}: its container has not restarted, so there is no log before the present")
            return Instance(_key(name, container, key), False, _ended(last))
        key = str(found.get("containerID") or "")
        if "waiting" in state:
            reason = state["waiting"].get("reason") or "not started"
            if not last:
                raise NotThere(f"{self.name}: the container has not started yet ({reason})")
            key = key or str(last.get("containerID") or "")
            note = f"{_ended(last)} and is started again by the cluster ({reason})"
            return Instance(_key(name, container, key), False, note)
        before = str(last.get("containerID") or "")
        previous = _key(name, container, before) if before else ""
        node = str(pod.get("spec", {}).get("nodeName") or "")
        if "terminated" in state:
            return Instance(_key(name, container, key), False, _ended(state["terminated"]), previous=previous)
        return Instance(_key(name, container, key), previous=previous, node=node)

    def words(self, instance: Instance, resume: str | None, *, follow: bool, lines: int | None) -> tuple[str, ...]:
        pod, container, _ = instance.key.split(" ", 2)
        words = ["kubectl", "logs", "-n", self.namespace, pod, "-c", container, "--timestamps"]
        if self.is_previous:
            words.append("--previous")
        if follow:
            words.append("--follow")
        if resume is not None:
            words.append(f"--since-time={resume}")
        elif lines is not None:
            words.append(f"--tail={lines}")
        return tuple(words)

    def rest_words(self, old: Instance, new: Instance, resume: str | None) -> tuple[str, ...] | None:
        # Only the container right before the present one is kept.
        if new.previous != old.key:
            return None
        return (*self.words(old, resume, follow=False, lines=None), "--previous")

    async def _pod(self, was_reached: bool) -> dict[str, Any]:
        pod = self.pod
        answer = await self._ask(("get", "pod", pod, "-n", self.namespace, "-o", "json"), was_reached)
        if answer.status != 0:
            error = self.tool.error(self.name, answer.said, was_reached=was_reached)
            if not isinstance(error, NotThere) or (newest := await self._newest(was_reached)) is None:
                raise error
            answer = await self._ask(("get", "pod", newest, "-n", self.namespace, "-o", "json"), was_reached)
            if answer.status != 0:
                raise self.tool.error(self.name, answer.said, was_reached=was_reached)
        try:
            found = json.loads(answer.out)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise SourceLost(f"{self.name}: kubectl gave no usable answer")
        return found

    async def _newest(self, was_reached: bool) -> str | None:
        """The newest pod that a deployment, a job or a replica set of this name has made."""
        answer = await self._ask(("get", "pods", "-n", self.namespace, "--no-headers", "-o", _COLUMNS), was_reached)
        if answer.status != 0:
            return None
        made = re.compile(re.escape(self.pod) + r"(?:-[a-z0-9]{1,10})?-[a-z0-9]{5}")
        rows = [line.split() for line in answer.out.decode("utf-8", "replace").splitlines()]
        pods = [(row[2] == "Running", row[1], row[0]) for row in rows if len(row) == 3 and made.fullmatch(row[0])]
        running = [name for runs, _, name in pods if runs]
        if len(running) > 1:
            names = ", ".join(f"kube:{self.namespace}/{name}" for name in sorted(running)[:8])
            raise SourceRefused(f"{self.name}: {len(running)} pods run under that name. Name one: {names}.")
        return max(pods)[2] if pods else None

    def _container(self, pod: dict[str, Any]) -> str:
        names = [str(one.get("name")) for one in pod.get("spec", {}).get("containers") or []]
        if self.container is not None and self.container in names:
            return self.container
        usual = (pod.get("metadata", {}).get("annotations") or {}).get(_DEFAULT)
        if self.container is None and (usual in names or len(names) == 1):
            return str(usual) if usual in names else names[0]
        choice = ", ".join(f"kube:{self.namespace}/{self.pod}/{name}" for name in names)
        what = "has several containers" if self.container is None else f"has no container {self.container}"
        raise SourceRefused(f"{self.name}: the pod {what}. Name one: {choice}.")

    async def _ask(self, words: tuple[str, ...], was_reached: bool) -> Answer:
        return await ask(self.machine, self.tool, self.name, ("kubectl", *words), was_reached=was_reached)


def _key(pod: str, container: str, container_id: str) -> str:
    return f"{pod} {container} {container_id}"


def _ended(state: dict[str, Any]) -> str:
    reason = state.get("reason")
    more = f" ({reason})" if reason and reason not in ("Error", "Completed") else ""
    return f"the container has ended with status {state.get('exitCode', '?')}{more}"
