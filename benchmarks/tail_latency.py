"""How long a line takes from the far side to stdout, and what it costs: `specmon tail` against `ssh HOST tail -F`.

    python benchmarks/tail_latency.py [SECONDS]

Both run at the same time against an sshd of our own on the loopback, on the same log. A writer puts the time into each
line, at 1 line, 1,000 and 50,000 lines a second. The far side's CPU time is that of everything
below its session's sshd.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
FILLER = b" Decode batch, #running-req: 1, #token: 512, token usage: 0.00, accept len: 2.10, gen throughput: 75.90"


@dataclass
class Loopback:
    """An sshd of our own."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def options(self) -> list[str]:
        return ["-p", str(self.port), "-i", str(self.folder / "key")]


@contextmanager
def loopback(folder: Path) -> Iterator[Loopback]:
    program = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        sys.exit("no sshd here (install openssh-server)")
    for name in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = 20000 + os.getpid() % 20000
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/key.pub\nPermitRootLogin prohibit-password\nMaxStartups 200\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([program, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        yield Loopback(port, folder, process)
    finally:
        process.terminate()
        process.wait()


def children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                found.setdefault(parent, []).append(int(entry.name))
    return found


def cpu_s(pid: int, *, whole_tree: bool) -> float:
    """CPU seconds of a process and of its children that have ended; with `whole_tree` also of those that run."""
    below = children() if whole_tree else {}
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        todo += below.get(one, [])
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, words[11:15])) / TICKS_PER_S
    return total


@dataclass
class Reader:
    """One of the two programs, and what it has printed."""

    name: str
    process: subprocess.Popen[bytes]
    session: int = 0  # the far side's sshd
    held: bytes = b""
    delays_ms: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    begun: tuple[float, float] = (0.0, 0.0)

    def take(self, data: bytes, now: float) -> None:
        *lines, self.held = (self.held + data).split(b"\n")
        for line in lines:
            number, _, rest = line.partition(b" ")
            self.numbers.append(int(number))
            self.delays_ms.append(1000 * (now - float(rest.partition(b" ")[0])))

    def costs(self) -> tuple[float, float]:
        return cpu_s(self.process.pid, whole_tree=False), cpu_s(self.session, whole_tree=True)


@contextmanager
def reading(server: Loopback, name: str, command: list[str]) -> Iterator[Reader]:
    before = set(children().get(server.process.pid, []))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        while not (new := set(children().get(server.process.pid, [])) - before):
            time.sleep(0.02)
        time.sleep(3.0)  # it is logged in and reads
        yield Reader(name, process, new.pop())
    finally:
        process.kill()
        process.wait()


def run(readers: list[Reader], log: Path, lines_per_s: int, seconds: float) -> None:
    """Write and read; print what each reader saw."""
    count, step_s = int(lines_per_s * seconds), max(1 / lines_per_s, 0.002)
    portion = max(1, round(lines_per_s * step_s))
    selector = selectors.DefaultSelector()
    for reader in readers:
        assert reader.process.stdout is not None
        selector.register(reader.process.stdout, selectors.EVENT_READ, reader)
        reader.delays_ms, reader.numbers, reader.begun = [], [], reader.costs()
    writer = subprocess.Popen([sys.executable, __file__, "--write", str(log), str(count), str(portion), str(step_s)])
    quiet_at = time.time() + seconds + 60
    while time.time() < quiet_at and any(len(reader.numbers) < count for reader in readers):
        for key, _ in selector.select(0.5):
            data = os.read(key.fd, 1 << 16)
            key.data.take(data, time.time())
    writer.wait()
    print(f"\n{lines_per_s:,} lines/s for {seconds:g} s ({count:,} lines)")
    print(f"{'':18}{'lost':>6}{'twice':>7}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'CPU here':>10}{'CPU there':>11}")
    for reader in readers:
        delays = sorted(reader.delays_ms)
        here, there = (after - before for after, before in zip(reader.costs(), reader.begun, strict=True))
        distinct = len(set(reader.numbers))
        print(
            f"{reader.name:18}{count - distinct:6}{len(reader.numbers) - distinct:7}{delays[len(delays) // 2]:9.1f}"
            f"{delays[int(len(delays) * 0.99)]:9.1f}{delays[-1]:9.1f}{here:9.2f}s{there:10.2f}s"
            + ("" if reader.numbers == sorted(reader.numbers) else "  not in order")
        )


def write(path: str, count: int, portion: int, step_s: float) -> None:
    with Path(path).open("ab", buffering=0) as file:
        begun = time.time()
        for number in range(0, count, portion):
            now = time.time()
            file.write(b"".join(b"%d %.6f%s\n" % (n, now, FILLER) for n in range(number, min(number + portion, count))))
            if (wait_s := begun + (number + portion) / portion * step_s - time.time()) > 0:
                time.sleep(wait_s)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
        return
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with tempfile.TemporaryDirectory() as name, loopback(Path(name)) as server:
        log = Path(name) / "server.log"
        log.touch()
        known = str(server.folder / "known_hosts")
        ssh = ["ssh", "-F", "none", *server.options, "-o", f"UserKnownHostsFile={known}", "127.0.0.1"]
        specmon = [sys.executable, "-m", "specmon", "tail", *server.options, "--known-hosts", known]
        with (
            reading(server, "ssh tail -F", [*ssh, f"exec tail -n 0 -F {log}"]) as theirs,
            reading(server, "specmon tail", [*specmon, f"127.0.0.1:{log}"]) as ours,
        ):
            for lines_per_s in (1, 1_000, 50_000):
                run([theirs, ours], log, lines_per_s, seconds)


if __name__ == "__main__":
    main()
