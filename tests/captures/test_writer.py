"""A capture can be read at any moment: whole, cut anywhere, on a full disk."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specmon.captures.manifest import CapturedServer, Life
from specmon.captures.reader import Capture, open_capture
from specmon.captures.writer import CaptureWriter
from specmon.commands.metrics import pages_of
from specmon.errors import ConfigError
from specmon.scrape import Scrape

START = 1_772_124_000.0


def writer(folder: Path, *names: str) -> CaptureWriter:
    servers = [CapturedServer(name=name, host="gpu01", source=f"/var/log/{name}.log") for name in names or ("base",)]
    return CaptureWriter(folder, servers, starts_at=START, version="0.0")


def content(capture: Capture, index: int = 0) -> bytes:
    return b"".join(capture.logs[index].chunks())


def test_bytes_come_back_with_their_arrivals(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c", "base", "spec")
    capture.write("base", b"one\n", START + 1)
    capture.write("spec", b"other\n", START + 1.5)
    capture.write("base", b"two\n", START + 2.25)
    capture.close()
    read = open_capture(tmp_path / "c")
    assert (content(read), content(read, 1)) == (b"one\ntwo\n", b"other\n")
    assert read.logs[0].arrivals.offsets == (4, 8)
    assert read.logs[0].arrivals.at == (START + 1, START + 2.25)
    assert (read.logs[1].server.host, read.logs[1].server.source) == ("gpu01", "/var/log/spec.log")
    assert read.manifest.specmon_version == "0.0"


def test_nobody_else_may_read_what_a_log_holds(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    capture.write("base", b"one\n", START)
    capture.add_life("base", Life(started_at=START), replaces_last=False)
    capture.close()
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "c").iterdir()} == {0o600}


def test_what_is_flushed_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    capture.write("base", b"one\n", START)
    capture.flush()
    capture.write("base", b"two\n", START + 1)
    assert content(open_capture(tmp_path / "c")) == b"one\n"
    capture.flush()
    assert content(open_capture(tmp_path / "c")) == b"one\ntwo\n"
    capture.close()


def test_another_file_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    capture.write("base", b"half a li", START)
    capture.interrupt("base", "the file was truncated\nreally", START + 1)
    capture.write("base", b"new\n", START + 2)
    capture.interrupt("base", "12 bytes are missing here", START + 3)
    capture.close()
    read = open_capture(tmp_path / "c")
    assert content(read) == b"half a li\nnew\n"
    assert read.logs[0].arrivals.offsets == (9, 10, 14)
    notes = [line for line in (tmp_path / "c" / "base.times").read_text().splitlines() if line.startswith("#")]
    assert [note.split(" ", 2)[2] for note in notes] == ["the file was truncated really", "12 bytes are missing here"]


def test_clock_that_is_set_back_leaves_a_readable_capture(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    for at in (START + 10, START - 3600, START + 11):
        capture.write("base", b"x\n", at)
    capture.close()
    assert open_capture(tmp_path / "c").logs[0].arrivals.at == (START + 10, START + 10, START + 11)


def test_later_look_at_a_process_completes_its_life_and_a_new_process_is_another(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    capture.add_life("base", Life(pid=7, started_at=START + 0.3, env={}), replaces_last=False)
    full = Life(pid=7, started_at=START + 15, env={"NCCL_PROTO": "LL"}, flags={"a": [1, None, {"b": None}], "c": None})
    capture.add_life("base", full, replaces_last=True)
    capture.add_life("base", Life(pid=8, started_at=START + 60, env={"A": "\ud800"}), replaces_last=False)
    capture.close()
    first, second = open_capture(tmp_path / "c").logs[0].lives
    assert (first.pid, first.started_at, first.env) == (7, START, {"NCCL_PROTO": "LL"})
    assert (second.pid, second.started_at, second.env) == (8, START + 60, {"A": "?"})


@pytest.mark.parametrize("name", ["manifest.toml", "notes.txt"])
def test_folder_in_use_is_refused_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(
        ConfigError, match=r"^capture .*: the folder (holds a capture already|is not empty)\. Name another"
    ):
        writer(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(ConfigError, match="Name a folder that you may write to"):
        writer(tmp_path / "x")


LINES = [b"line %06d of the log, and something that packs well\n" % number for number in range(400)]
WHOLE = b"".join(LINES)


@pytest.fixture(scope="module")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures") / "c"
    capture = writer(folder)
    for number, line in enumerate(LINES):
        capture.write("base", line, START + number)
        if number % 7 == 0:
            capture.flush()
    capture.close()
    return folder


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_capture_that_is_cut_anywhere_gives_what_was_there(
    tmp_path_factory: pytest.TempPathFactory, flushed: Path, log_share: float, times_share: float
) -> None:
    """A kill stops both files at any byte."""
    folder = tmp_path_factory.mktemp("cut")
    for path in flushed.iterdir():
        share = {"base.log.zst": log_share, "base.times": times_share}.get(path.name, 1.0)
        data = path.read_bytes()
        (folder / path.name).write_bytes(data[: int(len(data) * share)])
    read = open_capture(folder)
    got = content(read)
    assert WHOLE.startswith(got)
    arrivals = read.logs[0].arrivals
    whole_lines = {0, *range(len(LINES[0]), len(WHOLE) + 1, len(LINES[0]))}
    if arrivals.at != (START,):  # else no time had come yet
        assert set(arrivals.offsets) <= whole_lines


FILLS = """
import sys
from pathlib import Path
from specmon.captures.manifest import CapturedServer
from specmon.captures.writer import CaptureWriter
import hashlib, resource
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))
w = CaptureWriter(Path(sys.argv[1]), [CapturedServer(name="base")], starts_at=1772124000.0, version="0")
try:
    for number in range(100000):
        noise = hashlib.sha256(b"%d" % number).hexdigest().encode()
        w.write("base", b"line %06d %s\\n" % (number, noise), 1772124000.0 + number)
        if number % 10 == 0:
            w.flush()
except OSError as error:
    w.close(is_whole=False)
    print(error.errno)
"""


def _assert_lines(folder: Path) -> None:
    read = open_capture(folder)
    got = content(read)
    assert len(got) > 10_000
    numbers = [int(line.split()[1]) for line in got.split(b"\n")[:-1]]
    assert numbers == list(range(len(numbers)))
    # The times may lag behind by what was flushed last, and lie ahead by nothing.
    assert 0 <= len(got) - read.logs[0].arrivals.offsets[-1] < 2000


def test_file_that_may_grow_no_further_leaves_what_was_written(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", FILLS, str(tmp_path / "c"), "limit"], capture_output=True, check=True
    )
    assert done.stdout.strip() == b"27"  # EFBIG
    _assert_lines(tmp_path / "c")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_full_disk_leaves_what_was_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        done = subprocess.run([sys.executable, "-B", "-c", FILLS, str(disk / "c"), ""], capture_output=True, check=True)
        assert done.stdout.strip() == b"28"  # ENOSPC
        _assert_lines(disk / "c")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


PAGES = [b'sglang:realtime_tokens_total{mode="decode"} %d\n' % (number * 250) for number in range(40)]


def test_metrics_pages_come_back_with_their_times_and_without_any_there_is_no_file(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c", "base", "spec")
    for number, page in enumerate(PAGES):
        capture.write_page("base", page, START + number)
    capture.close()
    base, spec = open_capture(tmp_path / "c").logs
    assert (base.metrics, spec.metrics) == (tmp_path / "c" / "base.metrics.zst", None)
    assert base.metrics is not None
    assert stat.S_IMODE(base.metrics.stat().st_mode) == 0o600
    read = list(pages_of([base.metrics]))
    assert [page.at for page in read] == [START + number for number in range(40)]
    assert all(isinstance(page, Scrape) for page in read)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.floats(0, 1))
def test_metrics_that_are_cut_anywhere_give_the_pages_that_were_there(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    capture = writer(folder / "c")
    for number, page in enumerate(PAGES):
        capture.write_page("base", page, START + number)
        if number % 7 == 0:
            capture.flush()
    capture.close()
    path = folder / "c" / "base.metrics.zst"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    read = list(pages_of([path]))
    good = [page for page in read if isinstance(page, Scrape)]
    assert [page.samples[0].value for page in good] == [number * 250 for number in range(len(good))]
    assert len(read) - len(good) <= 1  # the one that was being written


def test_metrics_that_were_flushed_can_be_read_while_they_are_written(tmp_path: Path) -> None:
    capture = writer(tmp_path / "c")
    capture.write_page("base", PAGES[1], START)
    capture.flush()
    capture.write_page("base", PAGES[2], START + 4)
    assert [page.at for page in pages_of([tmp_path / "c" / "base.metrics.zst"])] == [START]
    capture.close(is_whole=False)
