"""A capture may come from anybody: each trick gives one sentence, and nothing outside its folder is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from specmon.captures.packed import PackedFile
from specmon.captures.reader import open_capture
from specmon.captures.unpacking import read_log
from specmon.errors import ConfigError, UnreadableInput

MANIFEST = 'schema = 1\nstarts_at = 2026-02-26T16:40:00+00:00\n[[server]]\nname = "base"\n'


def _write(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return write


def _link(name: str) -> Callable[[Path], None]:
    def link(folder: Path) -> None:
        outside = folder.parent / "outside"
        outside.write_text("a secret\n1 1.0\n")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside)

    return link


def _sparse(name: str, size: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return make


def _bomb(folder: Path) -> None:
    (folder / "base.log").unlink()
    packer = zstd.ZstdCompressor(level=3)
    zeros = bytes(1 << 20)
    (folder / "base.log.zst").write_bytes(b"".join(packer.compress(zeros) for _ in range(80)) + packer.flush())


def _fifo(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def read_all(folder: Path) -> int:
    return sum(len(data) for log in open_capture(folder).logs for data in log.chunks())


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_write("manifest.toml", MANIFEST.replace('"base"', '"../../etc/passwd"')), r"server\.0\.name"),
        (_write("manifest.toml", MANIFEST.replace('"base"', '"/etc/passwd"')), r"server\.0\.name"),
        (_write("manifest.toml", MANIFEST.replace('"base"', '".."')), r"server\.0\.name"),
        (_write("manifest.toml", MANIFEST.replace('"base"', '"base\\n"')), r"server\.0\.name"),
        (_write("manifest.toml", MANIFEST.replace('"base"', f'"{"b" * 101}"')), r"server\.0\.name"),
        (_write("manifest.toml", MANIFEST + 'host = "\\u001b[2J"\n'), "control characters"),
        (_write("manifest.toml", MANIFEST + 'source = "\\u001b]0;x\\u0007"\n'), "control characters"),
        (_write("manifest.toml", MANIFEST + '[[told]]\nat = 1.0\ntext = "\\u001b[2J"\n'), "control characters"),
        (_write("manifest.toml", MANIFEST + '[[told]]\nat = nan\ntext = "x"\n'), r"told\.0\.at"),
        (_write("manifest.toml", MANIFEST.replace("2026-", "0001-")), "no time of this age"),
        (_write("manifest.toml", MANIFEST.replace("2026-", "9999-")), "no time of this age"),
        (_write("manifest.toml", MANIFEST.replace("+00:00", "")), "starts_at"),
        (_write("manifest.toml", "a = " + "9" * 5_000), "not valid TOML: a number of too many digits"),
        (_write("manifest.toml", "a = " + "[" * 50_000), "nested too deeply|not valid TOML"),
        (_write("manifest.toml", ".".join("a" * 200_000) + " = 1"), "not valid TOML: a key of too many parts"),
        (_write("manifest.toml", "[" + '."="'.join("a" * 200_000) + "]"), "not valid TOML: a key of too many parts"),
        (_write("manifest.toml", MANIFEST + '[[server]]\nname = "x"\n' * 1100), "server"),
        (_write("manifest.toml", MANIFEST + '[[server]]\nname = "base"\n'), "two servers have one name"),
        (_sparse("manifest.toml", 2 << 20), "larger than 1 MiB"),
        (_sparse("base.fingerprint.toml", 32 << 20), "larger than 16 MiB"),
        (_sparse("base.times", 512 << 20), "larger than 256 MiB"),
        (_write("base.times", "8 nan\n"), r"base\.times:1"),
        (_write("base.times", "8 inf\n"), r"base\.times:1"),
        (_write("base.times", "8 1e300\n"), r"base\.times:1"),
        (_write("base.times", "-8 1.0\n"), r"base\.times:1"),
        (_write("base.times", "9" * 5000 + " 1.0\n"), r"base\.times:1"),
        (_write("base.times", "9" * 200 + " 1.0\n"), r"base\.times:1"),
        (_write("base.times", "8 2.0\n9 1.0\n"), "must grow"),
        (_write("base.fingerprint.toml", "[[life]]\nstarted_at = inf\n"), r"life\.0\.started_at"),
        (_link("manifest.toml"), "it is a link"),
        (_link("base.log"), "it is a link"),
        (_link("base.times"), "it is a link"),
        (_link("base.fingerprint.toml"), "it is a link"),
        (_link("base.metrics"), "it is a link"),
        (_link("base.metrics.zst"), "it is a link"),
        (_fifo("base.log"), "is missing"),
        (_bomb, "unpacks to more than"),
    ],
)
def test_trick_is_told_in_one_sentence(tmp_path: Path, spoil: Callable[[Path], None], sentence: str) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "manifest.toml").write_text(MANIFEST)
    (folder / "base.log").write_text("one\ntwo\n")
    spoil(folder)
    with pytest.raises((ConfigError, UnreadableInput), match=sentence) as caught:
        read_all(folder)
    assert str(caught.value).startswith("capture ")
    assert "\n" not in str(caught.value)
    assert "a secret" not in str(caught.value)


def test_pipes_beside_a_log_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    (tmp_path / "base.log").write_text("one\n")
    os.mkfifo(tmp_path / "base.times")
    os.mkfifo(tmp_path / "base.fingerprint.toml")
    assert open_capture(tmp_path).logs[0].lives == ()


def test_log_that_packs_well_is_no_bomb(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    line = b"[2026-02-26 16:41:43 TP0] Decode batch, #running-req: 1, #token: 512, gen throughput (token/s): 62.90\n"
    (tmp_path / "base.log.zst").write_bytes(zstd.compress(line * 600_000, level=3))  # 60 MB
    (log,) = open_capture(tmp_path).logs
    assert sum(map(len, log.chunks())) == len(line) * 600_000


def test_own_log_of_one_line_for_ever_is_no_bomb(tmp_path: Path) -> None:
    """A server that fails in a loop without stamps: 20,000 times its packed size."""
    lines = b"ERROR: the worker does not answer, trying again\n" * (16 << 20 >> 4)
    file, size = PackedFile(tmp_path / "base.log.zst"), 0
    for _ in range(3):
        file.add(lines)
        file.flush()
        size += len(lines)
        assert sum(map(len, read_log(tmp_path / "base.log.zst"))) == size
    file.close()
    assert (tmp_path / "base.log.zst").stat().st_size < size / 100


@pytest.mark.parametrize("damage", [b"junk behind the end", bytes(100)], ids=["junk", "zeros"])
def test_damaged_log_is_a_sentence(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    (tmp_path / "base.log.zst").write_bytes(zstd.compress(b"one\n") + damage)
    with pytest.raises(UnreadableInput, match="cannot be unpacked"):
        read_all(tmp_path)
