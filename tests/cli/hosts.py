"""Processes that look like servers of the four engines, and how a test's sshd is reached."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conftest import Sshd, only_servers

LAUNCH = (
    "[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', tp_size=1, host='127.0.0.1', port=30017, "
    "speculative_algorithm={algorithm})\n[2026-02-26 16:40:00] The server is fired up and ready to roll!\n"
)
_SLEEPS = "import sys, time\nsys.stderr.write(sys.argv[-1] if len(sys.argv[-1]) > 200 else '')\ntime.sleep(100)\n"


def decode(second: int, tok_s: float, accept_len: float | None = None) -> str:
    spec = "" if accept_len is None else f"accept len: {accept_len:.2f}, accept rate: 0.70, "
    return (
        f"[2026-02-26 16:{40 + second // 60}:{second % 60:02d} TP0] Decode batch, #running-req: 1, #token: 512, "
        f"token usage: 0.00, {spec}cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0\n"
    )


def baseline_log(samples: int = 20, tok_s: float = 62.9) -> str:
    return LAUNCH.format(algorithm=None) + "".join(decode(second, tok_s) for second in range(samples))


def speculative_log(samples: int = 20, tok_s: float = 75.9) -> str:
    return LAUNCH.format(algorithm="'EAGLE3'") + "".join(decode(second, tok_s, 2.1) for second in range(samples))


def options_of(sshd: Sshd) -> tuple[str, ...]:
    """Options that reach a test's sshd and nothing of the user's own."""
    return ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(sshd.known_hosts))


class Servers:
    """Starts processes with the command lines of servers; all end with the test."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        package = folder / "site" / "sglang"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "launch_server.py").write_text(_SLEEPS)
        for name in ("vllm", "llama-server", "trtllm-serve"):
            (folder / name).write_text(_SLEEPS)

    def start(
        self, words: Sequence[str], *, log: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start one; its output goes to the end of `log`, or to /dev/null."""
        name, *rest = words
        program = ["-m", "sglang.launch_server"] if name == "sglang" else [str(self._folder / name)]
        out = self._stack.enter_context((log or Path("/dev/null")).open("ab"))
        environment = {"PYTHONPATH": str(self._folder / "site"), "PATH": "/usr/bin:/bin", **(env or {})}
        process = subprocess.Popen([sys.executable, *program, *rest], stdout=out, stderr=out, env=environment)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    with ExitStack() as stack:
        stack.enter_context(only_servers())
        yield Servers(folder, stack)
