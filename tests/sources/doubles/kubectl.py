"""Behaves like kubectl for `get pod`, `get pods` and `logs`, on pods that lie in a folder.

A pod is a folder with `pod.json`, as `kubectl get pod -o json` gives it, and a file a container id with its stamped
lines. `--since-time` counts whole seconds, as the API server does. The messages are kubectl's own.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1])
ARGS = sys.argv[2:]


def fail(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.exit(1)


def pod_at(folder: Path) -> dict[str, Any]:
    while True:
        try:
            found: dict[str, Any] = json.loads((folder / "pod.json").read_text())
            return found
        except ValueError:
            time.sleep(0.001)


def pod_of(name: str) -> dict[str, Any]:
    if not (ROOT / name / "pod.json").exists():
        fail(f'Error from server (NotFound): pods "{name}" not found')
    return pod_at(ROOT / name)


def status_of(name: str, container: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in pod_of(name)["status"]["containerStatuses"] if one["name"] == container)
    return found


def get() -> None:
    if ARGS[1] == "pod":
        sys.stdout.write(json.dumps(pod_of(ARGS[2])) + "\n")
        return
    for folder in sorted(ROOT.iterdir()):
        if (folder / "pod.json").exists():
            pod = pod_at(folder)
            row = (pod["metadata"]["name"], pod["metadata"]["creationTimestamp"], pod["status"]["phase"])
            sys.stdout.write("   ".join(row) + "\n")


def logs() -> None:
    name, container = ARGS[3], ARGS[ARGS.index("-c") + 1]
    options = dict(word.partition("=")[::2] for word in ARGS if word.startswith("--"))
    status = status_of(name, container)
    key = status["containerID"]
    if "--previous" in ARGS:
        last = status.get("lastState", {}).get("terminated")
        if last is None:
            fail(
                f'Error from server (BadRequest): previous terminated container "{container}" in pod "{name}" not found'
            )
        key = last["containerID"]
    since = options.get("--since-time", "")[:19]
    path = ROOT / name / key.replace("/", "_")
    with path.open() as file:
        lines = file.readlines()
        for line in lines[-int(options["--tail"]) :] if "--tail" in options else lines:
            show(line, since)
        while "--follow" in ARGS and status_of(name, container)["containerID"] == key and is_running(name, container):
            line = file.readline()
            if line.endswith("\n"):
                show(line, since)
                continue
            file.seek(file.tell() - len(line))
            time.sleep(0.005)
        if "--follow" in ARGS:
            for line in file:
                show(line, since)


def is_running(name: str, container: str) -> bool:
    return "running" in status_of(name, container)["state"]


def show(line: str, since: str) -> None:
    if line[:19] >= since:
        sys.stdout.write(line)
        sys.stdout.flush()


if (ROOT / "expired").exists():
    fail("error: You must be logged in to the server (Unauthorized)")
if (ROOT / "forbidden").exists():
    fail(
        f'Error from server (Forbidden): pods "{ARGS[2]}" is forbidden: User "me" cannot get resource "pods" in API '
        'group "" in the namespace "prod"'
    )
{"get": get, "logs": logs}[ARGS[0]]()
