"""Threats of docs/security.md that no other test holds; and that every test which the page names is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from backports import zstd

from tests.cli.conftest import Specmon, at_once, environment, only_sentences, specmon  # noqa: F401 (fixtures)

ROOT = Path(__file__).resolve().parents[1]


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`", page)
    assert len(named) > 20
    for path, name in named:
        content = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"def {name}\b", content), f"{path} has no {name}"


MEASURES = """
import sys
from pathlib import Path
from specmon.cli import main
try:
    main(["summary", sys.argv[1]])
finally:
    # ru_maxrss would be that of the process that started this one
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0], file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_packed_log_that_unpacks_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    packer, zeros = zstd.ZstdCompressor(level=3), bytes(1 << 20)
    bomb = tmp_path / "bomb.log.zst"
    bomb.write_bytes(b"".join(packer.compress(zeros) for _ in range(400)) + packer.flush())
    done = subprocess.run(
        [sys.executable, "-c", MEASURES, str(bomb)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert int(done.stderr.split()[-1]) < 150_000  # kB, for 400 MB of zeros
    assert "Traceback" not in done.stderr


LEVEL = 'name = "x"\n[[level]]\nrunning = 1\ntok_s = 1\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a = " + "[" * 50_000, "not valid TOML"),
        ('name = "x"\n[[level]]\nrunning = 1\ntok_s = inf\n', "finite"),
        (
            'name = "x"\n[[level]]\nrunning = 1\ntok_s = 1\n[fingerprint.flags]\na = '
            + "{b=" * 3000
            + "1"
            + "}" * 3000,
            "TOML",
        ),
        ("#" * (5 << 20), "larger than"),
    ],
)
def test_reference_file_from_anybody_is_a_sentence(at_once: Specmon, tmp_path: Path, content: str, words: str) -> None:  # noqa: F811
    (tmp_path / "evil.toml").write_text(content)
    for command in (("reference", "show"), ("check", "x.log", "--reference")):
        done = at_once(*command, "./evil.toml")
        assert done.status == 2
        assert words in done.err
        assert "Traceback" not in done.err


def test_words_of_a_reference_file_cannot_steer_the_terminal(at_once: Specmon, tmp_path: Path) -> None:  # noqa: F811
    text = 'name = "x"\nnote = "\\u001b]0;owned\\u0007"\nhost = "\\u001b[2J"\n[[level]]\nrunning = 1\ntok_s = 88.0\n'
    (tmp_path / "evil.toml").write_text(text)
    done = at_once("reference", "show", "./evil.toml")
    assert "owned" in done.out
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err


def test_link_to_an_endless_device_is_no_reference(at_once: Specmon, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "evil.toml").symlink_to("/dev/zero")
    done = at_once("reference", "show", "./evil.toml")
    assert (done.status, "no regular file" in done.err) == (2, True)
