"""How well a log's figures agree with what its clients measured.

    python benchmarks/agreement.py FOLDER

FOLDER holds NAME.log beside NAME.client.json, which lists phases: concurrency (`conc`), the `window` in seconds since
1970, and the tokens a second that arrived in it (`window_tok_s`). Delivered throughput is read with `--since` and
`--until` over the same window; accept length over the whole phase, against the client's own count where it has one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def stamp(moment: float) -> str:
    """A moment as --since takes it, on a log whose clock is UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def decode_of(log: Path, since: float, until: float) -> dict[str, Any]:
    """The decode figures of the last run inside a window."""
    command = [sys.executable, "-m", "specmon", "summary", "--format", "json", str(log)]
    command += ["--since", stamp(since), "--until", stamp(until)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)["servers"][0]["runs"][-1]["decode"]
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    print(f"{'log':42} {'B':>2} {'s':>4}  {'client':>8} {'log':>8} {'':>7}  {'accept':>6}")
    for client in sorted(folder.glob("*.client.json")):
        content = json.loads(client.read_text())
        if not isinstance(content, dict):
            continue
        name = client.name.removesuffix(".client.json")
        for phase in content["phases"]:
            if "window" not in phase:
                continue
            since, until = phase["window"]
            decode = decode_of(folder / f"{name}.log", since, until)
            ours, theirs = decode["delivered_tok_s"], phase["window_tok_s"]
            off = "" if ours is None else f"{ours / theirs - 1:+.1%}"
            figures = f"{theirs:8.1f} {ours or float('nan'):8.1f} {off:>7}  {decode['accept_len'] or float('nan'):6.3f}"
            print(f"{name:42} {phase['conc']:2} {until - since:4.0f}  {figures}")


if __name__ == "__main__":
    main()
