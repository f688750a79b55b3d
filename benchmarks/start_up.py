"""CPU time of `specmon --help`, and its ratio to an interpreter that only imports click.

python benchmarks/start_up.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

ROUNDS = 15


def cpu_s(*command: str) -> float:
    """The CPU time of one finished process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = [(cpu_s("-m", "specmon", "--help"), cpu_s("-c", "import click")) for _ in range(ROUNDS)]
    ours, floor = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"specmon --help   {ours * 1000:.0f} ms of CPU (median of {ROUNDS})")
    print(f"import click     {floor * 1000:.0f} ms of CPU")
    print(f"ratio            {ours / floor:.2f}")


if __name__ == "__main__":
    main()
