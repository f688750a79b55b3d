"""Changing reference files so that nothing is ever half written, and two programs lose nothing of each other's."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from specmon.errors import ConfigError
from specmon.references.store import read_text

_LOCK_WAIT_S = 10.0  # a change takes milliseconds; whoever holds the folder longer has hung
_LOCK_POLL_S = 0.02
_TRIES = 5
# What file systems answer that cannot lock a folder (NFS among them).
_NO_LOCKS = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO}


def change(path: Path, make: Callable[[str | None], str]) -> None:
    """Replace the file by what `make` makes of its text (None: there is no file yet), at once or not at all.

    The folder is locked meanwhile. Where that is not possible, a file that changed under the work is read again,
    so `make` may be called several times. ConfigError for whatever hinders it; the old file is then untouched.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(path.parent):
            for _ in range(_TRIES):
                before = _text_there(path)
                new = make(before)
                if _replace(path, before, new.encode("utf-8")):
                    return
    except OSError as error:
        raise ConfigError(f"reference {path}: it cannot be written: {_reason(error)}. {_next_step(error)}") from error
    raise ConfigError(f"reference {path}: other programs change it all the time. Try again.")


def remove(path: Path) -> None:
    """Delete a reference file; ConfigError when that cannot be done."""
    try:
        with _locked(path.parent):
            path.unlink()
    except OSError as error:
        raise ConfigError(f"reference {path}: it cannot be removed: {_reason(error)}. {_next_step(error)}") from error


def _text_there(path: Path) -> str | None:
    if path.is_symlink():
        raise ConfigError(f"reference {path}: it is a symbolic link. Name the folder of the file itself with --out.")
    return read_text(path) if path.exists() else None


def _replace(path: Path, before: str | None, content: bytes) -> bool:
    """Write beside the file and rename; False when somebody else has changed it since."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if _text_there(path) != before:
            return False
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def _sync_folder(folder: Path) -> None:
    """The new name must survive a power cut too; where a folder cannot be synced, the rename alone has to do."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one specmon changes a folder at a time. Needs no file of its own: the folder is locked itself."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)  # and with it the lock


def _lock(handle: int, folder: Path) -> None:
    end = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise ConfigError(f"references {folder}: another program holds the folder. Try again.") from error
            time.sleep(_LOCK_POLL_S)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            raise
        else:
            return


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _next_step(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "Make room, or name another folder with --out."
    return "Name a folder that you may write to with --out."
