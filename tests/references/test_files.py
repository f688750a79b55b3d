"""Reference files change at once or not at all, whoever else writes and whatever the disk says."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from specmon.errors import ConfigError
from specmon.references.files import change, remove

OLD = "old\n"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.toml"
    path.write_text(OLD)
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_and_its_folders_are_made_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "references" / "tuned.toml"
    change(path, lambda before: f"{before}")
    assert path.read_text() == "None"
    assert path.stat().st_mode & 0o777 == 0o600
    assert left(path.parent) == ["tuned.toml"]


def test_file_that_was_open_to_others_is_so_no_more(old: Path) -> None:
    old.chmod(0o644)
    change(old, lambda before: f"{before}new\n")
    assert old.read_text() == "old\nnew\n"
    assert old.stat().st_mode & 0o777 == 0o600


def test_reader_sees_the_old_or_the_new_text_and_nothing_between(old: Path) -> None:
    with old.open() as reader:
        change(old, lambda _: "new\n" * 10_000)
        assert reader.read() == OLD
    assert old.read_text() == "new\n" * 10_000


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_disk_that_fails_leaves_the_old_file_and_no_rubbish(
    old: Path, monkeypatch: pytest.MonkeyPatch, failing: str, number: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((os, "fsync", fail) if failing == "fsync" else (Path, "replace", fail)))
    with pytest.raises(ConfigError, match=r"cannot be written: .*--out") as caught:
        change(old, lambda _: "new\n")
    monkeypatch.undo()
    assert "\n" not in str(caught.value)
    assert old.read_text() == OLD
    assert left(old.parent) == ["tuned.toml"]


def test_text_that_cannot_be_made_leaves_the_old_file(old: Path) -> None:
    def refuse(_: str | None) -> str:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match=r"^no$"):
        change(old, refuse)
    assert left(old.parent) == ["tuned.toml"]


@pytest.mark.parametrize("is_dangling", [False, True])
def test_symbolic_link_is_refused_and_stays(old: Path, is_dangling: bool) -> None:
    link = old.with_name("link.toml")
    link.symlink_to("nowhere" if is_dangling else old)
    with pytest.raises(ConfigError, match="symbolic link"):
        change(link, lambda _: "new\n")
    assert link.is_symlink()
    assert old.read_text() == OLD


def test_folder_that_is_a_file_is_a_sentence(old: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written: (not a directory|file exists)"):
        change(old / "tuned.toml", lambda _: "new\n")


def add_lines(path: Path, word: str, count: int) -> None:
    for number in range(count):
        change(path, lambda before, number=number: f"{before or ''}{word}{number}\n")  # type: ignore[misc]


def test_threads_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    threads = [threading.Thread(target=add_lines, args=(path, word, 10)) for word in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
    assert sorted(path.read_text().split()) == sorted(f"{word}{number}" for word in "abcd" for number in range(10))


def test_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "tuned.toml"
    code = (
        "import sys; from pathlib import Path; from specmon.references.files import change\n"
        "for n in range(10): change(Path(sys.argv[1]), lambda before: f'{before or str()}{sys.argv[2]}{n}\\n')"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), word]) for word in "ab"]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert sorted(path.read_text().split()) == sorted(f"{word}{number}" for word in "ab" for number in range(10))


def test_where_folders_cannot_be_locked_a_change_of_somebody_else_is_read_again(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    seen: list[str | None] = []

    def make(before: str | None) -> str:
        if not seen:
            old.write_text("theirs\n")  # another program, between our look and our rename
        seen.append(before)
        return f"{before}ours\n"

    change(old, make)
    assert seen == [OLD, "theirs\n"]
    assert old.read_text() == "theirs\nours\n"


def test_program_that_holds_the_folder_is_not_waited_for_for_ever(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specmon.references.files._LOCK_WAIT_S", 0.0)
    holder = os.open(old.parent, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another program holds the folder"):
            change(old, lambda _: "new\n")
    finally:
        os.close(holder)
    assert old.read_text() == OLD


def test_file_is_removed(old: Path) -> None:
    remove(old)
    assert left(old.parent) == []
    with pytest.raises(ConfigError, match="cannot be removed: no such file"):
        remove(old)
