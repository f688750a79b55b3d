"""Writing a capture directory so that it can be read at any moment, whatever happens to the writer.

A log is one zstd stream that is flushed to the system about once a second; only then do the arrival times of those
bytes follow. So after a kill, or on a full disk, all that has arrival times can be unpacked.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from specmon.captures.manifest import SCHEMA, CapturedServer, Life
from specmon.captures.packed import PackedFile, create, write_all
from specmon.errors import ConfigError
from specmon.references.writing import storable

FLUSH_BYTES = 1 << 20  # so much is held at most


class CaptureWriter:
    """The files of one capture. Every method may raise OSError, after which only `close` may be called."""

    def __init__(self, folder: Path, servers: Sequence[CapturedServer], *, starts_at: float, version: str) -> None:
        """Make the folder and write its manifest. ConfigError when the folder is in use."""
        self.folder = folder
        self._version = version
        self._starts_at = starts_at
        self._lives: dict[str, list[Life]] = {server.name: [] for server in servers}
        make_folder(folder)
        _replace(folder / "manifest.toml", _manifest(servers, starts_at, version))
        self._logs = {server.name: _LogFile(folder, server.name) for server in servers}
        self._pages: dict[str, PackedFile] = {}  # NAME.metrics.zst, from the first page on

    @property
    def size_bytes(self) -> int:
        """Bytes of logs that have been taken, before packing."""
        return sum(log.size for log in self._logs.values())

    def write(self, name: str, data: bytes, at: float) -> None:
        """Bytes of a log, and when they arrived (s since 1970, UTC)."""
        self._logs[name].write(data, at)

    def interrupt(self, name: str, note: str, at: float) -> None:
        """What follows does not continue the last line: another file, or lost bytes."""
        self._logs[name].interrupt(note, at)

    def write_page(self, name: str, page: bytes, at: float) -> None:
        """A metrics page (whole lines), and when it was looked at (s since 1970, UTC)."""
        if name not in self._pages:
            self._pages[name] = PackedFile(self.folder / f"{name}.metrics.zst")
        self._pages[name].add(b"# scrape %.3f\n" % at + page)

    def add_life(self, name: str, life: Life, *, replaces_last: bool) -> None:
        """The conditions of a life of the server; a later look at the same process replaces the earlier one."""
        lives = self._lives[name]
        if replaces_last and lives:
            life = life.model_copy(update={"started_at": lives[-1].started_at})
            if life == lives[-1]:
                return
            lives.pop()
        elif not lives:
            # A process that was there before the capture had its conditions from the first byte on.
            life = life.model_copy(update={"started_at": min(life.started_at, self._starts_at)})
        lives.append(life)
        _replace(self.folder / f"{name}.fingerprint.toml", _lives(lives))

    def flush(self) -> None:
        """Hand all that is held to the system."""
        for log in self._logs.values():
            log.flush()
        for pages in self._pages.values():
            pages.flush()

    def close(self, *, is_whole: bool = True) -> None:
        """End the files; with `is_whole=False` without writing anything more."""
        try:
            if is_whole:
                for pages in self._pages.values():
                    pages.flush(is_last=True)
        finally:
            for pages in self._pages.values():
                pages.close()
            for log in self._logs.values():
                log.close(is_whole=is_whole)


class _LogFile:
    """NAME.log.zst and NAME.times."""

    def __init__(self, folder: Path, name: str) -> None:
        self._times: list[str] = []
        self._last = b"\n"
        self._latest = 0.0
        self._log = PackedFile(folder / f"{name}.log.zst")
        self._arrivals = create(folder / f"{name}.times")

    @property
    def size(self) -> int:
        return self._log.size

    def write(self, data: bytes, at: float) -> None:
        if not data:
            return
        self._log.add(data)
        self._last = data[-1:]
        self._latest = max(self._latest, at)  # a clock that is set back must not make the file unreadable
        self._times.append(f"{self.size} {self._latest:.3f}\n")
        if self.size - self._log.flushed >= FLUSH_BYTES:
            self.flush()

    def interrupt(self, note: str, at: float) -> None:
        if self._last != b"\n":
            self.write(b"\n", at)
        self._times.append(f"# {at:.3f} {' '.join(note.split())}\n")

    def flush(self, *, is_last: bool = False) -> None:
        times, self._times = "".join(self._times).encode("utf-8", "replace"), []
        self._log.flush(is_last=is_last)
        write_all(self._arrivals, times)

    def close(self, *, is_whole: bool) -> None:
        try:
            if is_whole:
                self.flush(is_last=True)
        finally:
            self._log.close()
            os.close(self._arrivals)


def make_folder(folder: Path) -> None:
    """Make the folder for a capture; what is in one that is there already is never touched."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            what = "holds a capture already" if (folder / "manifest.toml").exists() else "is not empty"
            raise ConfigError(f"capture {folder}: the folder {what}. Name another one with --out or --record.")
    except OSError as error:
        raise ConfigError(
            f"capture {folder}: {(error.strerror or str(error)).lower()}. Name a folder that you may write to."
        ) from error


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: a reader sees the old text or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
    temporary = Path(name)
    try:
        try:
            write_all(handle, text.encode("utf-8", "replace"))
        finally:
            os.close(handle)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _manifest(servers: Sequence[CapturedServer], starts_at: float, version: str) -> str:
    import tomlkit

    document = tomlkit.document()
    document["schema"] = SCHEMA
    document["specmon_version"] = version
    document["starts_at"] = datetime.fromtimestamp(starts_at, UTC)
    tables = tomlkit.aot()
    for server in servers:
        tables.append(tomlkit.item({name: value for name, value in server.model_dump().items() if value}))
    document["server"] = tables
    return tomlkit.dumps(document)


def _lives(lives: Sequence[Life]) -> str:
    import tomlkit

    tables = tomlkit.aot()
    for life in lives:
        told = life.model_dump(mode="json")
        content = {name: value for name, value in told.items() if value not in (None, [], {}, False)}
        # An empty table was looked at and holds nothing; None was not looked at.
        content |= {name: {} for name in ("flags", "env", "versions", "gpu") if getattr(life, name) == {}}
        stored = storable(content)
        assert isinstance(stored, dict)
        tables.append(tomlkit.item(stored))
    return tomlkit.dumps({"life": tables})
