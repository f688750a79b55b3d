"""The host that the demo plays: a capture's logs and processes, growing by a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specmon.captures.manifest import Life
from specmon.captures.reader import Capture, CapturedLog
from specmon.demo.server import VirtualFile
from specmon.sources.gpus import Gpus
from specmon.sources.processes import OutputTarget, RunningProcess
from specmon.sources.surroundings import Surroundings

_INIT = 1


class CaptureWorld:
    """A capture as a running host. Its time is that of the capture, `speed` times as fast as the real one."""

    def __init__(self, capture: Capture, *, speed: float, clock: Callable[[], float]) -> None:
        self._capture = capture
        self._speed = speed
        self._clock = clock
        self._began = clock()
        self._logs = {log.server.source: log for log in capture.logs}
        self._bytes = {log.server.source: b"".join(log.chunks()) for log in capture.logs}
        self._files: dict[str, VirtualFile] = {}

    def time(self) -> float:
        """The capture's clock; it stands still when the capture is over, so that its last picture does not age."""
        now = self._capture.starts_at + (self._clock() - self._began) * self._speed
        return min(now, self._capture.ends_at)

    @property
    def is_over(self) -> bool:
        """Whether all bytes are out."""
        return self.time() >= self._capture.ends_at

    def file(self, path: str) -> VirtualFile | None:
        """A log of the capture as far as it had been written by now."""
        if (log := self._logs.get(path)) is None:
            return None
        size = log.arrivals.size_at(self.time())
        held = self._files.get(path)
        if held is None or len(held.data) != size:
            number = list(self._logs).index(path) + 1
            held = self._files[path] = VirtualFile(self._bytes[path][:size], inode=number)
        return held

    def processes(self) -> Sequence[RunningProcess]:
        """Each server's launcher and one scheduler of its present life."""
        now = self.time()
        return [
            process
            for log in self._capture.logs
            if (life := log.life_at(now)) is not None
            for process in _family(log, life)
        ]

    def surroundings(self, pid: int) -> Surroundings:
        """The versions of the life with this process, as its packages would show them."""
        for log in self._capture.logs:
            life = log.life_at(self.time())
            if life is not None and life.pid == pid:
                versions = dict(life.versions or {})
                driver = versions.pop("driver", None)
                if (engine := versions.pop("engine", None)) is not None:
                    versions["sglang"] = engine
                # The ports of the played host do not exist, so nobody is to ask there.
                return Surroundings(log.server.host or None, driver, versions, network="other")
        return Surroundings(is_gone=True)

    def gpus(self) -> Gpus:
        """The GPUs that the capture names."""
        table = next((life.gpu for log in self._capture.logs for life in log.lives if life.gpu is not None), {})
        count, name = table.get("count"), table.get("names")
        if not isinstance(count, int) or not isinstance(name, str):
            return Gpus()
        fields = ("index", "name")
        return Gpus(tuple(dict(zip(fields, (f"{n}", name), strict=True)) for n in range(count)), "", fields)


def _family(log: CapturedLog, life: Life) -> tuple[RunningProcess, RunningProcess]:
    output = OutputTarget(log.server.source, is_file=True)
    environ = tuple((life.env or {}).items())
    pid = life.pid or _INIT + 1
    outputs = {1: output, 2: output}
    return (
        RunningProcess(pid, _INIT, life.command, life.started_at, environ, outputs),
        # a process that gave itself a title has lost the front of its environment
        RunningProcess(pid + 310, pid, ("sglang::scheduler_TP0",), life.started_at, (("_", ""), *environ), outputs),
    )
