"""CPU share of the screen with a fleet: 64 servers with 8 ranks each, followed over SSH, drawn on a terminal.

    python benchmarks/fleet_share.py [--servers 64] [--ranks 8] [--rate 2] [--keys f] [--seconds 20] [--size 120x40]

Each server is a host of its own for specmon, with its own connection, to one sshd on the loopback. A writer of its own
process adds lines to every log, `rate` a second and rank, server after server and not all at once. `keys` are pressed
first: `f` shows the fleet table.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

from screen_share import cpu_s, drain
from tail_latency import Loopback, loopback

WARM_UP_S = 15.0
_LAUNCH = (
    "[{stamp}] server_args=ServerArgs(model_path='/models/m', tp_size={ranks}, dp_size={ranks}, "
    "speculative_algorithm={algorithm}, decode_log_interval=40)\n"
)


def line(stamp: str, rank: int, tick: int, accept_len: float | None) -> str:
    spec = "" if accept_len is None else f"accept len: {accept_len:.2f}, accept rate: 0.70, "
    tok_s = (62.9 if accept_len is None else 75.9) + (tick * 7 + rank) % 5 * 0.1
    return (
        f"[{stamp} DP{rank} TP{rank}] Decode batch, #running-req: 1, #token: {500 + tick % 900}, token usage: 0.01, "
        f"{spec}cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0\n"
    )


def names(servers: int) -> list[str]:
    return [f"gpu{number:02d}" for number in range(1, servers + 1)]


def write(folder: Path, servers: int, ranks: int, rate: float) -> None:
    """Add a line a rank to every log, `rate` times a second, until killed."""
    files = [(folder / f"{name}.log").open("a", buffering=1 << 16) for name in names(servers)]
    accept_lens = [None if number % 2 == 0 else 2.1 for number in range(servers)]
    stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    for file, accept_len in zip(files, accept_lens, strict=True):
        file.write(_LAUNCH.format(stamp=stamp, ranks=ranks, algorithm=None if accept_len is None else "'EAGLE3'"))
        file.flush()
    begin, step_s = time.monotonic(), 1 / rate / servers
    for turn in range(10**9):
        if (left := begin + turn * step_s - time.monotonic()) > 0:
            time.sleep(left)
        tick, number = divmod(turn, servers)
        stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        files[number].write("".join(line(stamp, rank, tick, accept_lens[number]) for rank in range(ranks)))
        files[number].flush()


@contextmanager
def fleet(folder: Path, given: argparse.Namespace) -> Iterator[list[str]]:
    """Growing logs behind an sshd; the words of a command line that follow all of them."""
    words = ["--write", str(folder), "--servers", str(given.servers), "--ranks", str(given.ranks)]
    command = [sys.executable, __file__, *words, "--rate", str(given.rate)]
    with nullcontext() if given.local else loopback(folder) as sshd, subprocess.Popen(command) as writer:
        try:
            yield local_arguments(folder, given.servers) if sshd is None else arguments(folder, sshd, given.servers)
        finally:
            writer.kill()


def local_arguments(folder: Path, servers: int) -> list[str]:
    found = ["connect", "local:", "--reference-tok-s", "503.2@1"]
    for number, name in enumerate(names(servers)):
        found += ["--baseline" if number % 2 == 0 else "--spec", f"{name}=local:{folder}/{name}.log"]
    return found


def arguments(folder: Path, sshd: Loopback, servers: int) -> list[str]:
    config = folder / "config"
    config.write_text(
        f"Host gpu*\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {folder}/key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n"
    )
    found = ["connect", names(servers)[0], "--ssh-config", str(config), "--reference-tok-s", "503.2@1"]
    for number, name in enumerate(names(servers)):
        found += ["--baseline" if number % 2 == 0 else "--spec", f"{name}:{folder}/{name}.log"]
    return found


def measure(words: list[str], given: argparse.Namespace) -> tuple[float, float, int]:
    """Share of one core, bytes a second to the terminal, resident memory in MB."""
    columns, rows = (int(part) for part in given.size.split("x"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        if given.first:  # a terminal's processes are a group of their own for the scheduler
            Path("/proc/self/autogroup").write_text("-15")
            os.setpriority(os.PRIO_PROCESS, 0, -15)
        start = ["-m", "cProfile", "-o", given.profile, "-m"] if given.profile else ["-m"]
        os.execv(sys.executable, [sys.executable, *start, "specmon", *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    drain(terminal, WARM_UP_S)
    for key in given.keys:
        os.write(terminal, key.encode())
    drain(terminal, 3.0)
    before, began = cpu_s(pid), time.monotonic()
    size = drain(terminal, given.seconds)
    used, seconds = cpu_s(pid) - before, time.monotonic() - began
    memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20
    os.write(terminal, b"\x03")
    drain(terminal, 3.0)
    os.waitpid(pid, 0)
    return used / seconds, size / seconds, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2.0, help="lines a second and rank")
    parser.add_argument("--local", action="store_true", help="follow the files themselves, without SSH")
    parser.add_argument("--keys", default="f")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--profile", help="write a profile of the program to this file; it costs time of its own")
    parser.add_argument("--first", action="store_true", help="go before the other work of a busy machine (as root)")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        return write(Path(given.write), given.servers, given.ranks, given.rate)
    with tempfile.TemporaryDirectory() as name, fleet(Path(name), given) as words:
        share, rate, memory = measure(words, given)
    lines = given.servers * given.ranks * given.rate
    print(
        f"{given.servers} servers, {lines:.0f} lines/s, {given.size}, keys {given.keys or 'none'}: "
        f"{share:6.1%} of one core  {rate / 1000:5.1f} kB/s to the terminal  {memory} MB"
    )
    return None


if __name__ == "__main__":
    main()
