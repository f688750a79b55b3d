"""Behaves like docker's client for `logs`, `inspect` and `ps`, on containers that lie in a folder.

A container is a folder with `state.json` and with `json.log` in the form of docker's json-file driver. Times, streams,
`--since` (every message older than it is left out, the same nanosecond is not) and the messages are docker's own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(sys.argv[1])
ARGS = sys.argv[2:]


def fail(text: str, status: int = 1) -> None:
    sys.stderr.write(text + "\n")
    sys.exit(status)


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")


def state_of(folder: Path) -> dict[str, str]:
    while True:
        try:
            found: dict[str, str] = json.loads((folder / "state.json").read_text())
            return found
        except ValueError:
            time.sleep(0.001)  # it is being written


def find(name: str) -> Path | None:
    folders = [folder for folder in ROOT.iterdir() if (folder / "state.json").exists()]
    for folder in folders:
        state = state_of(folder)
        if name in (state["name"], state["id"]):
            return folder
    return None


def option(name: str) -> str | None:
    return ARGS[ARGS.index(name) + 1] if name in ARGS else None


def inspect() -> None:
    folder = find(ARGS[-1])
    if folder is None:
        say("")
        fail(f"Error: No such container: {ARGS[-1]}")
        return
    state = state_of(folder)
    say(state["id"], state["status"], state["exit"], state["started"])


def ps() -> None:
    wanted = [ARGS[number + 1].removeprefix("label=") for number, word in enumerate(ARGS) if word == "--filter"]
    states = [state_of(folder) for folder in ROOT.iterdir() if (folder / "state.json").exists()]
    for state in sorted(states, key=lambda state: state["started"], reverse=True):
        labels = state.get("labels", "").split(",")
        if all(label in labels for label in wanted):
            project = next(
                (one.partition("=")[2] for one in labels if one.startswith("com.docker.compose.project=")), ""
            )
            say(state["id"], state["status"], state["name"], project)


def logs() -> None:
    folder = find(ARGS[-1])
    if folder is None:
        fail(f"Error response from daemon: No such container: {ARGS[-1]}")
        return
    kind = "follower" if "--follow" in ARGS else "reader"
    (folder / f"{kind}-{os.getpid()}").touch()
    since, tail = option("--since") or "", option("--tail")
    with (folder / "json.log").open() as file:
        lines = file.readlines()
        for line in lines if tail is None else lines[len(lines) - int(tail) :]:
            show(line, since)
        while "--follow" in ARGS and state_of(folder)["status"] == "running":
            line = file.readline()
            if line.endswith("\n"):
                show(line, since)
                continue
            file.seek(file.tell() - len(line))
            time.sleep(0.005)
        if "--follow" in ARGS:
            for line in file:
                show(line, since)


def show(line: str, since: str) -> None:
    entry = json.loads(line)
    if entry["time"] < since:
        return
    stream = sys.stdout if entry["stream"] == "stdout" else sys.stderr
    stream.write(f"{entry['time']} {entry['log']}" if "--timestamps" in ARGS else entry["log"])
    stream.flush()


if (ROOT / "denied").exists():
    fail(
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
        'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/containers/json": dial unix /var/run/docker.sock: '
        "connect: permission denied"
    )
if (ROOT / "down").exists():
    fail("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
{"inspect": inspect, "ps": ps, "logs": logs}[ARGS[0]]()
