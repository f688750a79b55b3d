"""CPU share of the running screen: two servers at two lines a second, replayed at their own pace in a terminal.

python benchmarks/screen_share.py [SECONDS]
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from itertools import islice
from pathlib import Path

import logs

SIZES = ((80, 24), (120, 40), (200, 60))
WARM_UP_S = 8.0
_LAST_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """CPU time of a running process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def drain(terminal: int, seconds: float) -> int:
    """Read what the screen draws for a while, as a terminal does; the bytes it was."""
    end = time.monotonic() + seconds
    size = 0
    while (left := end - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                size += len(os.read(terminal, 65536))
            except OSError:  # the program has ended
                break
    return size


def measure(base: Path, spec: Path, columns: int, rows: int, seconds: float) -> tuple[float, float, int]:
    """Share of one core, bytes a second to the terminal, resident memory in MB."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        arguments = ["replay", "--baseline", str(base), "--spec", str(spec), "--reference-tok-s", "88.8"]
        os.execv(sys.executable, [sys.executable, "-m", "specmon", *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    drain(terminal, WARM_UP_S)
    before = cpu_s(pid)
    size = drain(terminal, seconds)
    used = cpu_s(pid) - before
    memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
    os.write(terminal, b"q")
    drain(terminal, _LAST_S)  # until it has ended: it may write, and somebody has to read that
    os.waitpid(pid, 0)
    os.close(terminal)
    return used / seconds, size / seconds, memory


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    with tempfile.TemporaryDirectory() as folder:
        base, spec = Path(folder) / "base.log", Path(folder) / "spec.log"
        base.write_text("".join(f"{line}\n" for line in islice(logs.lines(1), 3600)))
        spec.write_text("".join(f"{line}\n" for line in islice(logs.lines(2, accept_len=2.1), 3600)))
        for columns, rows in SIZES:
            share, rate, memory = measure(base, spec, columns, rows, seconds)
            print(f"{columns}x{rows}  {share:6.1%} of one core  {rate / 1000:5.1f} kB/s to the terminal  {memory} MB")


if __name__ == "__main__":
    main()
