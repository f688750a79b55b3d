"""Opening capture directories, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.captures.reader import Arrivals, is_capture, open_capture
from specmon.errors import ConfigError, UnreadableInput

MANIFEST = """\
schema = 1
starts_at = 2026-02-26T16:40:00+00:00
[[server]]
name = "base"
role = "baseline"
[[told]]
at = 5.0
text = "later"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    (tmp_path / "base.log").write_bytes(b"one\ntwo\n")
    (tmp_path / "base.times").write_text("4 1772124001.0\n8 1772124002.5\n")
    (tmp_path / "base.fingerprint.toml").write_text(
        '[[life]]\nstarted_at = 1772123000.0\n[life.env]\nNCCL_PROTO = "LL"\n[[life]]\nstarted_at = 1772124002.0\n'
    )
    return tmp_path


def test_capture_is_read_with_its_arrivals_and_lives(folder: Path) -> None:
    capture = open_capture(folder)
    (log,) = capture.logs
    assert (capture.starts_at, capture.ends_at) == (1772124000.0, 1772124002.5)
    assert log.arrivals == Arrivals((4, 8), (1772124001.0, 1772124002.5))
    early, late = log.life_at(1772124001.0), log.life_at(1772124003.0)
    assert early is not None
    assert early.env == {"NCCL_PROTO": "LL"}
    assert late is not None
    assert late.env is None
    assert log.life_at(0.0) is None


def test_bytes_have_arrived_when_their_moment_is_there() -> None:
    arrivals = Arrivals((4, 8), (10.0, 20.0))
    assert [arrivals.size_at(moment) for moment in (9.9, 10.0, 19.0, 20.0, 99.0)] == [0, 4, 4, 8, 8]


def test_told_sentence_holds_until_the_next(folder: Path) -> None:
    capture = open_capture(folder)
    assert [capture.note_at(capture.starts_at + s) for s in (0, 4.9, 5, 60)] == ["", "", "later", "later"]


def test_directory_without_a_manifest_is_no_capture(tmp_path: Path) -> None:
    assert not is_capture(tmp_path)
    with pytest.raises(UnreadableInput, match="Name a capture folder"):
        open_capture(tmp_path)


def test_capture_without_times_and_fingerprints_plays_at_once(folder: Path) -> None:
    (folder / "base.times").unlink()
    (folder / "base.fingerprint.toml").unlink()
    (log,) = open_capture(folder).logs
    assert (log.arrivals.size_at(0.0), log.lives) == (8, ())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("manifest.toml", MANIFEST[:40], "not valid TOML"),
        ("manifest.toml", MANIFEST.replace('"base"', '"../etc/passwd"'), r"server\.0\.name"),
        ("manifest.toml", MANIFEST.replace("schema = 1", "schema = 9"), "Update specmon"),
        ("manifest.toml", MANIFEST.replace('"base"', '"other"'), r"other\.log is missing"),
        ("manifest.toml", MANIFEST + "colour = 1\n", "colour"),
        ("base.times", "4 x\n", r"base\.times:1: expected an offset and a time"),
        ("base.times", "8 1.0\n4 2.0\n", "must grow"),
        ("base.fingerprint.toml", "[[life]]\npid = 1\n", r"life\.0\.started_at"),
    ],
)
def test_broken_file_is_named(folder: Path, name: str, content: str, sentence: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises((ConfigError, UnreadableInput), match=sentence):
        open_capture(folder)
