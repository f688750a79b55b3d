"""Reading references: what is accepted, and the one sentence that says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specmon.errors import ConfigError
from specmon.references.store import find, load, parse_short

GOOD = """\
schema = 1
name = "nccl-tuned"
note = "before the restart"
recorded_at = 2026-02-20T10:00:00Z
host = "gpu01"
engine = "sglang"
engine_version = "0.5.9"
model = "/shared/kimi-k2.5-int4"
tolerance = 0.05

[[level]]
running = 1
n = 212
tok_s = 88.8
tok_s_ci95 = [88.6, 89.0]
cycle_ms = 11.26
sigma = 0.006
context_tokens = [300, 700]

[[level]]
running = 8
tok_s = 640.0

[[session]]
recorded_at = 2026-02-20T10:00:00Z
run = 1

[fingerprint.flags]
tp_size = 8
[fingerprint.env]
NCCL_PROTO = "LL"
[fingerprint.versions]
nccl = "2.27.3"
[fingerprint.gpu]
count = 8
"""


def write(folder: Path, text: str, name: str = "r.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_of_the_documented_form_is_read(tmp_path: Path) -> None:
    reference = load(write(tmp_path, GOOD))
    assert reference.name == "nccl-tuned"
    assert [level.running for level in reference.levels] == [1, 8]
    first = reference.level_at(1)
    assert first is not None
    assert (first.tok_s, first.step_ms, first.sigma) == (88.8, 11.26, 0.006)
    assert reference.fingerprint.env == {"NCCL_PROTO": "LL"}
    assert reference.fingerprint.gpu == {"count": 8}


def test_step_time_follows_from_the_speed_when_it_was_not_written_down(tmp_path: Path) -> None:
    level = load(write(tmp_path, GOOD)).level_at(8)
    assert level is not None
    assert level.step_ms == pytest.approx(12.5)


def test_name_and_one_level_are_enough(tmp_path: Path) -> None:
    reference = load(write(tmp_path, 'name = "x"\n[[level]]\nrunning = 1\ntok_s = 88.8\n'))
    assert (reference.tolerance, reference.fingerprint.env) == (0.05, None)


@pytest.mark.parametrize(
    ("text", "tok_s", "running"), [("88.8", 88.8, 1), ("88.8@1", 88.8, 1), (" 640@8 ", 640.0, 8), ("90", 90.0, 1)]
)
def test_short_form(text: str, tok_s: float, running: int) -> None:
    level = parse_short(text).level_at(running)
    assert level is not None
    assert level.tok_s == tok_s


@pytest.mark.parametrize("text", ["", "fast", "88.8@", "88.8@0", "0", "-3", "88,8", "nan", "inf", "88.8@1.5"])
def test_short_form_that_is_wrong_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ConfigError, match=r"88\.8@1"):
        parse_short(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD[:150], "not valid TOML"),
        (GOOD.replace("tok_s = 88.8", 'tok_s = "fast"'), r"r\.toml:14: level\.1\.tok_s: "),
        (GOOD.replace("tok_s = 640.0", "tok_s = -1"), r"r\.toml:22: level\.2\.tok_s: .*greater than 0"),
        (GOOD.replace("tok_s = 640.0", "tok_s = nan"), r"r\.toml:22: level\.2\.tok_s: "),
        (GOOD.replace("host =", "hostname ="), r"r\.toml:5: hostname: is not known"),
        (GOOD.replace("running = 8", "running = 1"), "two .*same `running`"),
        ('name = "x"\n', "level: field required"),
        ("[[level]]\nrunning = 1\ntok_s = 1\n", "name: field required"),
        (GOOD.replace("tolerance = 0.05", "tolerance = 5"), r"r\.toml:9: tolerance: .*less than 1"),
    ],
)
def test_file_that_is_wrong_is_named_with_line_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(write(tmp_path, text))


def test_unknown_key_of_a_newer_schema_is_told_and_left_out(tmp_path: Path) -> None:
    told: list[str] = []
    newer = GOOD.replace("schema = 1", "schema = 2").replace("n = 212", "n = 212\nfuture = 3")
    assert load(write(tmp_path, newer), warn=told.append).name == "nccl-tuned"
    assert len(told) == 1
    assert "level.1.future" in told[0]


def test_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Check the path\.$"):
        load(tmp_path / "none.toml")


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path, kind in ((tmp_path / "pipe.toml", "no regular file"), (tmp_path, "a directory")):
        with pytest.raises(ConfigError, match=f"it is {kind}. Name a reference file"):
            load(path)


def test_file_of_a_windows_editor_is_read(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(tmp_path / "w.toml").name == "nccl-tuned"


def test_binary_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_bytes(b"\xff\x00\x81")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(tmp_path / "b.toml")


def test_name_is_looked_up_in_the_folders_in_their_order(tmp_path: Path) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    write(far, GOOD, "tuned.toml")
    assert find("tuned", (near, far)) == far / "tuned.toml"
    write(near, GOOD, "tuned.toml")
    assert find("tuned", (near, far)) == near / "tuned.toml"


def test_name_that_nothing_has_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no absent\.toml in .*--reference-tok-s"):
        find("absent", (tmp_path,))


def test_path_is_taken_as_it_is(tmp_path: Path) -> None:
    assert find("./some/where.toml", (tmp_path,)) == Path("some/where.toml")


def test_name_with_odd_signs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="letters, digits"):
        find("a b;c", (tmp_path,))
