"""`specmon reference …` as a user runs it."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from specmon.cli import main
from specmon.commands.reference import folder_to_write
from specmon.errors import ConfigError
from specmon.resources import bundled
from tests.cli.conftest import Done, Specmon
from tests.cli.test_connect import line
from tests.conftest import Sshd, only_servers

Sentences = Callable[[str], list[str]]

DATA = Path(__file__).resolve().parents[1]
H200 = DATA / "cases" / "logs" / "sglang-0.5.16-baseline.log"
TIMER = DATA / "cases" / "logs" / "sglang-0.5.16-baseline-timer.log"
STANDALONE = DATA / "cases" / "logs" / "sglang-0.5.16-standalone.log"
NO_GRAPH = DATA / "data" / "sglang" / "0.5.16-baseline-nocudagraph.log"
CRASHED = DATA / "data" / "sglang" / "0.5.16-crash-oom.log"
STORY = bundled("fixtures") / "story"


@pytest.fixture
def specmon(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Specmon:
    """The same as the shared one, but in this process: starting it some hundred times would take minutes."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done:
        assert stdin is None
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("XDG_")]:
                patch.delenv(name)
            for name, value in {**environment, **(env or {})}.items():
                patch.setenv(name, value)
            capsys.readouterr()
            with pytest.raises(SystemExit) as end:
                main([*args])
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Done(end.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """./references of the working directory."""
    folder = tmp_path / "references"
    folder.mkdir()
    return folder


def content(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def steady(tmp_path: Path, name: str, tok_s: float, *, count: int = 40, hour: int = 16) -> Path:
    """A log of its own start, at one speed."""
    path = tmp_path / name
    path.write_text("".join(line(second, tok_s) for second in range(count)).replace(" 16:", f" {hour}:"))
    return path


# -- record --------------------------------------------------------------------------------------


def test_two_starts_of_one_server_are_two_sessions(specmon: Specmon, here: Path) -> None:
    first = specmon("reference", "record", "h200", str(H200), "--note", "graphs on")
    assert first.status == 0, first.err
    assert "1 running: 278.7 tok/s (27" in first.out  # how wide the interval is belongs to the tests of estimates
    assert "3.59 ms a step, 240 clean samples" in first.out
    path = here / "h200.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    kept = content(path)
    assert (kept["engine"], kept["model"], kept["note"]) == ("sglang", "/models/pycode-1b", "graphs on")
    assert kept["fingerprint"]["flags"]["disable_cuda_graph"] is False
    assert "quantization" in kept["fingerprint"]["unset_flags"]
    second = specmon("reference", "record", "h200", str(TIMER))
    assert second.status == 0, second.err
    assert "2 sessions" in second.out
    assert "spread 0.4 % between sessions" in second.out
    again = content(path)
    assert [session["level"][0]["n"] for session in again["session"]] == [240, 180]
    assert again["level"][0]["n"] == 420
    assert again["note"] == "graphs on"
    assert specmon("summary", "--reference", "h200", str(H200)).status == 0


def test_second_look_at_a_run_adds_nothing(specmon: Specmon, here: Path, only_sentences: Sentences) -> None:
    assert specmon("reference", "record", "h200", str(H200)).status == 0
    before = (here / "h200.toml").read_bytes()
    done = specmon("reference", "record", "h200", str(H200))
    assert (done.status, done.out) == (3, "")
    assert any("holds a session of this run already" in text for text in only_sentences(done.err))
    assert (here / "h200.toml").read_bytes() == before


def test_another_environment_is_another_reference(specmon: Specmon, here: Path) -> None:
    tuned = specmon("reference", "record", "tuned", str(STORY), "--run", "1")
    assert tuned.status == 0, tuned.err
    assert "88.8 tok/s" in tuned.out
    kept = content(here / "tuned.toml")
    assert kept["host"] == "gpu01"
    assert kept["fingerprint"]["env"]["NCCL_PROTO"] == "LL"
    assert kept["recorded_at"].isoformat() == "2026-02-26T16:40:21+00:00"
    untuned = specmon("reference", "record", "tuned", str(STORY))
    assert (untuned.status, untuned.out) == (3, "")
    for name in ("PROTO", "ALGO", "P2P_LEVEL", "MAX_NCHANNELS", "BUFFSIZE", "NTHREADS"):
        assert f"NCCL_{name}" in untuned.err
    assert "then, now not set" in untuned.err
    forced = specmon("reference", "record", "tuned", str(STORY), "--force")
    assert forced.status == 0
    assert "tolerance 73 %" in forced.out  # three times what 88.8 and 62.9 lie apart
    anew = specmon("reference", "record", "tuned", str(STORY), "--replace")
    assert anew.status == 0
    assert "NCCL_PROTO" not in content(here / "tuned.toml")["fingerprint"]["env"]


def test_secret_of_a_capture_stays_there(specmon: Specmon, here: Path, tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    shutil.copytree(STORY, capture)
    lives = capture / "base.fingerprint.toml"
    lives.write_text(lives.read_text().replace('NCCL_ALGO = "Ring"', 'HF_TOKEN = "abc"\nNCCL_X = "hf_AbCdEfGhIjKl"'))
    assert specmon("reference", "record", "tuned", str(capture), "--run", "1").status == 0
    env = content(here / "tuned.toml")["fingerprint"]["env"]
    assert env["NCCL_PROTO"] == "LL"
    assert not {"HF_TOKEN", "NCCL_X"} & env.keys()


@pytest.mark.parametrize(
    ("log", "part"),
    [
        (CRASHED, "the run crashed"),
        (STANDALONE, "speculative server"),
        (DATA / "data" / "vllm" / "vllm-0.32.0-cpu-baseline.log", "1 running: 4 clean samples of 6, 6 more are needed"),
        (DATA / "data" / "llamacpp" / "llamacpp-b11434-cpu-crash-missing-model.log", "the run crashed"),
    ],
)
def test_what_is_not_worth_recording_is_refused_with_3(
    specmon: Specmon, here: Path, only_sentences: Sentences, log: Path, part: str
) -> None:
    done = specmon("reference", "record", "x", str(log))
    assert (done.status, done.out) == (3, "")
    assert any(part in text for text in only_sentences(done.err))
    assert list(here.iterdir()) == []


def test_force_records_few_samples_but_never_a_speculative_server(specmon: Specmon, here: Path) -> None:
    log = str(DATA / "data" / "vllm" / "vllm-0.32.0-cpu-baseline.log")
    assert "--force records it" in specmon("reference", "record", "few", log).err
    assert specmon("reference", "record", "few", log, "--force").status == 0
    assert content(here / "few.toml")["level"][0]["n"] == 4
    done = specmon("reference", "record", "x", str(STANDALONE), "--force")
    assert done.status == 3
    assert "--force changes nothing" in done.err


def test_log_of_llamacpp_is_recorded(specmon: Specmon, here: Path) -> None:
    done = specmon("reference", "record", "llama", str(DATA / "data" / "llamacpp" / "llamacpp-b11434-cpu-baseline.log"))
    assert done.status == 0, done.err
    assert "left out: 2 running: 0 clean samples of 4" in done.err
    assert [level["running"] for level in content(here / "llama.toml")["level"]] == [1, 3, 4]


@pytest.mark.parametrize(
    "args", [(), ("--running", "8"), ("--until", "2026-11-30T15:57:50"), ("--since", "15:58:30"), ("--since", "-20s")]
)
def test_figures_are_those_of_the_summary(specmon: Specmon, here: Path, args: tuple[str, ...]) -> None:
    done = specmon("reference", "record", "part", str(H200), *args)
    assert done.status == 0, done.err
    recorded = {level["running"]: (level["n"], level["tok_s"]) for level in content(here / "part.toml")["level"]}
    window = () if "--running" in args else args
    summed = json.loads(specmon("summary", "--format", "json", str(H200), *window).out)["servers"][0]["runs"][0]
    expected = {
        level["running"]: (level["clean"], pytest.approx(level["decode_tok_s"], rel=1e-5))
        for level in summed["decode"]["levels"]
        if level["clean"] >= 10 and (level["running"] == 8 or "--running" not in args)
    }
    assert recorded == expected


def test_several_logs_are_several_sessions_or_none(specmon: Specmon, here: Path, tmp_path: Path) -> None:
    logs = [str(steady(tmp_path, f"{hour}.log", speed, hour=hour)) for hour, speed in ((10, 80.0), (12, 84.0))]
    assert specmon("reference", "record", "bad", *logs, str(CRASHED)).status == 3
    assert not (here / "bad.toml").exists()
    assert specmon("reference", "record", "good", *logs).status == 0
    assert len(content(here / "good.toml")["session"]) == 2


def test_log_comes_through_a_pipe(environment: dict[str, str], here: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "specmon", "reference", "record", "piped", "-"]
    subprocess.run(command, input=H200.read_bytes(), env=environment, cwd=tmp_path, check=True, capture_output=True)
    assert content(here / "piped.toml")["level"][1]["tok_s"] == 2204.42


def test_without_a_folder_here_the_users_own_is_used(specmon: Specmon, tmp_path: Path) -> None:
    log = steady(tmp_path, "a.log", 80.0)
    assert specmon("reference", "record", "mine", str(log)).status == 0
    assert (tmp_path / "home" / ".local" / "share" / "specmon" / "references" / "mine.toml").is_file()
    assert specmon("reference", "record", "there", str(log), "--out", "a/b").status == 0
    assert (tmp_path / "a" / "b" / "there.toml").is_file()


def test_two_programs_that_record_at_once_lose_no_session(
    environment: dict[str, str], here: Path, tmp_path: Path
) -> None:
    logs = [steady(tmp_path, f"{hour}.log", 80.0 + hour / 10, hour=hour) for hour in range(10, 13)]
    command = [sys.executable, "-m", "specmon", "reference", "record", "tuned"]
    started = [subprocess.Popen([*command, str(log)], env=environment, cwd=tmp_path) for log in logs]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0]
    assert len(content(here / "tuned.toml")["session"]) == 3


@contextmanager
def server_writing_to(log: Path, tmp_path: Path) -> Iterator[None]:
    """A process that looks like a server: its command line, its environment, and the log as its output."""
    package = tmp_path / "fake" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "fake"), "NCCL_PROTO": "LL", "HF_TOKEN": "hf_AbCdEfGhIjKl"}
    command = [sys.executable, "-m", "sglang.launch_server", "--tp-size", "8", "--api-key", "abc"]
    size = log.stat().st_size
    with (
        only_servers(),
        log.open("a") as output,
        subprocess.Popen(command, env=env, stdout=output, stderr=output) as server,
    ):
        try:
            for _ in range(9000):
                if log.stat().st_size > size:
                    break
                time.sleep(0.01)
            yield
        finally:
            server.kill()


def is_with_its_environment(path: Path) -> bool:
    fingerprint = content(path)["fingerprint"]
    assert "hf_" not in path.read_text()
    assert "api_key" not in path.read_text()
    return bool(fingerprint["env"]["NCCL_PROTO"] == "LL" and fingerprint["flags"]["tp_size"] == 8)


@pytest.mark.sshd
def test_running_server_is_recorded_over_ssh_with_its_environment(
    specmon: Specmon, sshd: Sshd, here: Path, tmp_path: Path
) -> None:
    log = steady(tmp_path, "base.log", 80.0)
    args = ("-p", str(sshd.port), "-i", str(sshd.client_key), "--known-hosts", str(sshd.known_hosts))
    with server_writing_to(log, tmp_path):
        done = specmon("reference", "record", "live", f"127.0.0.1:{log}", *args)
    assert done.status == 0, done.err
    assert content(here / "live.toml")["host"] == "127.0.0.1"
    assert is_with_its_environment(here / "live.toml")


def test_running_server_of_this_machine_is_recorded_with_its_environment(
    specmon: Specmon, here: Path, tmp_path: Path
) -> None:
    log = steady(tmp_path, "base.log", 80.0)
    with server_writing_to(log, tmp_path):
        done = specmon("reference", "record", "live", log.name)
    assert done.status == 0, done.err
    assert content(here / "live.toml")["host"] == platform.node()
    assert is_with_its_environment(here / "live.toml")
    ended = specmon("reference", "record", "later", log.name)
    assert ended.status == 0
    assert "the environment is not known" in ended.err or "tells nothing of the conditions" in ended.err
    assert "host" not in content(here / "later.toml")


def test_host_that_refuses_is_a_sentence(specmon: Specmon, here: Path, only_sentences: Sentences) -> None:
    done = specmon("reference", "record", "x", "127.0.0.1:/a.log", "-p", "1")
    assert done.status == 2
    assert len(only_sentences(done.err)) == 1


# -- bad places ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "../x", "x.toml", ".hidden", "", "a b", "x" * 300])
def test_name_that_makes_no_file_is_refused(specmon: Specmon, here: Path, only_sentences: Sentences, name: str) -> None:
    done = specmon("reference", "add", name, "--tok-s", "88.8")
    assert done.status == 2
    assert len(only_sentences(done.err)) == 1
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("home", ["/dev/null/x", "/proc/x"])
def test_home_that_cannot_be_written_is_a_sentence(
    specmon: Specmon, only_sentences: Sentences, home: str, tmp_path: Path
) -> None:
    done = specmon("reference", "add", "x", "--tok-s", "88.8", env={"HOME": home})
    assert done.status == 2
    (sentence,) = only_sentences(done.err)
    assert "cannot be written" in sentence
    assert "--out" in sentence


def test_without_a_home_folder_nothing_is_written_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: Path("~/.local/share/specmon"))
    with pytest.raises(ConfigError, match="no home folder is known here"):
        folder_to_write(None)
    assert folder_to_write(Path("x")) == Path("x")
    assert list(tmp_path.iterdir()) == []


def test_disk_without_room_leaves_the_old_file(environment: dict[str, str], here: Path, tmp_path: Path) -> None:
    (here / "tuned.toml").write_text('name = "tuned"\n[[level]]\nrunning = 1\ntok_s = 80.0\n')
    before = (here / "tuned.toml").read_bytes()

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    command = [sys.executable, "-B", "-m", "specmon", "reference", "add", "tuned", "--tok-s", "640", "--running", "8"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, preexec_fn=small_files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.fullmatch(r"specmon: reference .*: it cannot be written: file too large\. Make room.*\n", done.stderr)
    assert (here / "tuned.toml").read_bytes() == before
    assert [path.name for path in here.iterdir()] == ["tuned.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_may_not_be_written_is_a_sentence(specmon: Specmon, here: Path, only_sentences: Sentences) -> None:
    here.chmod(0o500)
    try:
        done = specmon("reference", "add", "x", "--tok-s", "88.8")
    finally:
        here.chmod(0o700)
    assert done.status == 2
    (sentence,) = only_sentences(done.err)
    assert "permission denied" in sentence


def test_symbolic_link_is_left_alone(specmon: Specmon, here: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.toml"
    target.write_text('name = "x"\n[[level]]\nrunning = 1\ntok_s = 80.0\n')
    (here / "x.toml").symlink_to(target)
    done = specmon("reference", "add", "x", "--tok-s", "88.8", "--replace")
    assert done.status == 2
    assert "symbolic link" in done.err
    assert "80.0" in target.read_text()


def test_file_cut_in_half_is_a_sentence_for_every_command(
    specmon: Specmon, here: Path, only_sentences: Sentences
) -> None:
    assert specmon("reference", "record", "h200", str(H200)).status == 0
    path = here / "h200.toml"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    half = path.read_bytes()
    for args in (
        ("reference", "show", "h200"),
        ("reference", "diff", "h200", "h200"),
        ("reference", "record", "h200", str(TIMER)),
        ("reference", "list"),
        ("summary", "--reference", "h200", str(H200)),
    ):
        done = specmon(*args)
        assert done.status == 2, args
        (sentence,) = only_sentences(done.err)
        assert "cut" in sentence
    assert path.read_bytes() == half


# -- add -------------------------------------------------------------------------------------------


def test_number_that_somebody_has_is_written_down(specmon: Specmon, here: Path) -> None:
    done = specmon(
        "reference", "add", "tuned", "--tok-s", "88.8", "--cycle-ms", "11.26", "--env", "NCCL_PROTO=LL",
        "--flag", "--tp-size=8", "--flag", "enable-metrics=true", "--flag", "quantization=None", "--note", "by hand",
        "--model", "/m", "--host", "gpu01", "--engine", "sglang",
    )  # fmt: skip
    assert done.status == 0, done.err
    kept = content(here / "tuned.toml")
    assert kept["level"] == [{"running": 1, "tok_s": 88.8, "cycle_ms": 11.26}]
    assert kept["fingerprint"] == {
        "env_is_partial": True,
        "unset_flags": ["quantization"],
        "flags": {"tp_size": 8, "enable_metrics": True},
        "env": {"NCCL_PROTO": "LL"},
    }
    more = specmon("reference", "add", "tuned", "--tok-s", "640", "--running", "8")
    assert more.status == 0
    assert [level["running"] for level in content(here / "tuned.toml")["level"]] == [1, 8]


def test_number_that_is_there_is_not_overwritten(specmon: Specmon, here: Path) -> None:
    assert specmon("reference", "add", "tuned", "--tok-s", "88.8").status == 0
    done = specmon("reference", "add", "tuned", "--tok-s", "90")
    assert done.status == 2
    assert "has a speed at 1 running already" in done.err
    assert specmon("reference", "add", "tuned", "--tok-s", "90", "--replace").status == 0
    assert content(here / "tuned.toml")["level"][0]["tok_s"] == 90.0


@pytest.mark.parametrize(
    "args",
    [
        ("--tok-s", "0"), ("--tok-s", "-1"), ("--tok-s", "nan"), ("--tok-s", "inf"), ("--tok-s", "fast"),
        ("--tok-s", "88.8", "--running", "0"), ("--tok-s", "88.8", "--cycle-ms", "nan"),
        ("--tok-s", "88.8", "--tolerance", "nan"), ("--tok-s", "88.8", "--tolerance", "1"),
        ("--tok-s", "88.8", "--tolerance", "5"), ("--tok-s", "88.8", "--tolerance", "100%"),
        ("--tok-s", "88.8", "--env", "NCCL_PROTO"), ("--tok-s", "88.8", "--env", "=LL"), (),
    ],
)  # fmt: skip
def test_number_that_cannot_be_is_refused(specmon: Specmon, here: Path, args: tuple[str, ...]) -> None:
    done = specmon("reference", "add", "x", *args)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("tolerance", ["7%", "0.07"])
def test_tolerance_is_a_percentage_or_a_share(specmon: Specmon, here: Path, tolerance: str) -> None:
    assert specmon("reference", "add", "x", "--tok-s", "88.8", "--tolerance", tolerance).status == 0
    document = json.loads(specmon("reference", "show", "x", "--format", "json").out)
    assert document["tolerance"] == 0.07


@pytest.mark.parametrize(
    "args",
    [
        ("--env", "HF_TOKEN=abcdefgh"), ("--env", "NCCL_X=hf_AbCdEfGhIjKl"), ("--flag", "api-key=abcdefgh"),
        ("--note", "Bearer abcdefgh"), ("--model", "https://me:abcdefgh@host/m"), ("--host", "me:abcdefgh@gpu01"),
    ],
)  # fmt: skip
def test_secret_is_refused_and_not_repeated(
    specmon: Specmon, here: Path, only_sentences: Sentences, args: tuple[str, ...]
) -> None:
    done = specmon("reference", "add", "x", "--tok-s", "88.8", *args)
    assert done.status == 2
    (sentence,) = only_sentences(done.err)
    assert "abcdefgh" not in sentence
    assert "hf_" not in sentence
    assert list(here.iterdir()) == []


# -- list, show, diff, remove ------------------------------------------------------------------------


def test_list_tells_every_reference_and_what_is_wrong_with_a_file(specmon: Specmon, here: Path, tmp_path: Path) -> None:
    empty = specmon("reference", "list")
    assert empty.status == 0
    assert "no reference in references or" in empty.out
    own = str(tmp_path / "home" / ".local" / "share" / "specmon" / "references")
    assert specmon("reference", "add", "mine", "--tok-s", "70", "--out", own).status == 0
    assert specmon("reference", "add", "mine", "--tok-s", "88.8", "--host", "gpu01", "--model", "/m").status == 0
    assert specmon("reference", "record", "tuned", str(STORY), "--run", "1").status == 0
    done = specmon("reference", "list")
    assert done.status == 0
    rows = [row.split() for row in done.out.splitlines()]
    assert rows[0] == ["NAME", "RUNNING", "TOK/S", "SESSIONS", "RECORDED", "HOST", "MODEL", "WHERE"]
    assert rows[1][:8] == ["mine", "1", "88.8", "by", "hand", "-", "gpu01", "/m"]
    assert rows[2][:6] == ["tuned", "1", "88.8", "1", "2026-02-26", "gpu01"]
    assert done.out.splitlines()[3].endswith("(hidden by the one above)")
    (here / "broken.toml").write_text("name = ")
    broken = specmon("reference", "list", "--format", "json")
    assert broken.status == 2
    assert "broken.toml" in broken.err
    listed = json.loads(broken.out)["references"]
    assert [(each["name"], each["level"][0]["tok_s"]) for each in listed] == [
        ("mine", 88.8), ("tuned", pytest.approx(88.8, abs=0.1)), ("mine", 70.0),
    ]  # fmt: skip


def test_show_has_a_form_for_people_one_for_programs_and_the_file(specmon: Specmon, here: Path) -> None:
    assert specmon("reference", "record", "tuned", str(STORY), "--run", "1", "--note", "NCCL by hand").status == 0
    text = specmon("reference", "show", "tuned").out
    assert text.startswith("tuned: NCCL by hand\n  references/tuned.toml\n")
    for part in ("recorded 2026-02-26 16:40:21 UTC", "1 running: 88.8 tok/s", "    NCCL_PROTO=LL", "    tp_size=8"):
        assert part in text
    document = json.loads(specmon("reference", "show", "tuned", "--format", "json").out)
    assert document["fingerprint"]["env"]["NCCL_PROTO"] == "LL"
    assert document["level"][0]["tolerance"] == 0.05
    assert specmon("reference", "show", "tuned", "--format", "toml").out == (here / "tuned.toml").read_text()


def test_diff_is_1_when_something_that_matters_differs(specmon: Specmon, here: Path) -> None:
    assert specmon("reference", "record", "tuned", str(STORY), "--run", "1").status == 0
    same = specmon("reference", "diff", "tuned", "tuned")
    assert same.status == 0
    assert "No condition differs" in same.out
    done = specmon("reference", "diff", "tuned", str(STORY))  # the capture's last life
    assert done.status == 1
    assert "−29.2 %, beyond 5 %" in done.out
    assert done.out.index("NCCL_PROTO: LL -> not set") < done.out.index("Noise:") < done.out.index("random_seed")
    document = json.loads(specmon("reference", "diff", "tuned", str(STORY), "--format", "json").out)
    assert document["speeds"][0]["change"] == pytest.approx(-0.292, abs=0.001)
    assert [one["weight"] for one in document["differences"]] == ["matters"] * 6 + ["noise"]


def test_diff_with_a_log_names_the_graph(specmon: Specmon, here: Path) -> None:
    assert specmon("reference", "record", "h200", str(H200)).status == 0
    done = specmon("reference", "diff", "h200", str(NO_GRAPH))
    assert done.status == 1
    assert "disable_cuda_graph: false -> true" in done.out
    assert "…(backend='full'" in done.out
    noise = specmon("reference", "diff", "h200", str(TIMER))
    assert noise.status == 0


def test_diff_with_what_proves_nothing_is_3_and_with_nothing_is_2(specmon: Specmon, here: Path) -> None:
    assert specmon("reference", "add", "x", "--tok-s", "88.8").status == 0
    assert specmon("reference", "diff", "x", str(CRASHED)).status == 3
    for other in ("absent", "absent.toml", "./absent.log"):
        done = specmon("reference", "diff", "x", other)
        assert done.status == 2, other
        assert done.err.startswith("specmon: ")


def test_remove_asks_and_removes_only_what_is_in_the_folders(specmon: Specmon, here: Path, tmp_path: Path) -> None:
    assert specmon("reference", "add", "x", "--tok-s", "88.8").status == 0
    outside = tmp_path / "y.toml"
    outside.write_text((here / "x.toml").read_text())
    for name in ("y.toml", "./y.toml", "../y", str(outside)):
        assert specmon("reference", "remove", name, "--yes").status == 2
    assert outside.exists()
    unasked = specmon("reference", "remove", "x")
    assert unasked.status == 2
    assert "--yes" in unasked.err
    assert (here / "x.toml").exists()
    done = specmon("reference", "remove", "x", "--yes")
    assert (done.status, done.out) == (0, "references/x.toml is removed.\n")
    assert specmon("reference", "remove", "x", "--yes").status == 2


@pytest.mark.parametrize("command", ["record", "add", "list", "show", "diff", "remove"])
def test_every_command_has_help_with_an_example(specmon: Specmon, command: str) -> None:
    done = specmon("reference", command, "--help")
    assert done.status == 0
    assert f"Example: specmon reference {command}" in done.out
