"""A secret that goes in at any door comes out at none: a property over names, forms and values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specmon.feeds.conditions import fingerprint_of
from specmon.monitor.loglines import line_text
from specmon.monitor.session import Session
from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint
from specmon.reports.document import to_json
from specmon.secrets import hide_in_text, is_secret_name
from specmon.sources.discovery import find_servers
from specmon.sources.events import Chunk, Connected
from specmon.sources.launch_flags import hide_secrets, parse_flags
from specmon.sources.nccl_conf import ConfFile
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess, parse_processes, processes_answer
from specmon.sources.surroundings import Surroundings

# A value with nothing of a key's form about it: only its name gives it away. The mark finds it again in any output.
MARK = "zQ7x"
PLAIN = st.text("abcdefghXYZ0123456789", min_size=4, max_size=16).map(lambda text: MARK + text)
KEYS = st.sampled_from(["sk-", "hf_", "ghp_", "nvapi-", "glpat-"]).flatmap(
    lambda head: st.text("abcXYZ0123456789", min_size=20, max_size=24).map(lambda text: f"{head}{MARK}{text}")
)
WORD = st.sampled_from(["API_KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIALS", "KEY"])
FRONT = st.sampled_from(["", "ADMIN", "HF", "OPENAI", "S3", "DB", "MY_OWN"])
NAMES = st.tuples(FRONT, WORD).map(lambda pair: "_".join(filter(None, pair)))
OPTIONS = NAMES.map(lambda name: "--" + name.lower().replace("_", "-"))


def words_of(option: str, value: str, form: int) -> tuple[str, ...]:
    """The ways in which a command line carries a secret."""
    name = option.lstrip("-").replace("-", "_")
    return [
        (option, value),
        (f"{option}={value}",),
        (option, "first", value),
        ("--json-model-override-args", json.dumps({"depth": {name: value}})),
        (f"--config-text={json.dumps({name: [value]})}",),
        ("--endpoint", f"http://user:{value}@host:80/path"),
        ("--header", f"Authorization: Bearer {value}"),
        ("--note", f"{name}={value}"),
    ][form]


FORMS = st.integers(0, 7)
LOG = OutputTarget("/var/log/s.log", True)
SIZING = ("--model-path", "/m", "--tp-size", "8", "--max-total-tokens", "4096", "--speculative-num-draft-tokens", "4")


@settings(max_examples=50, deadline=None)
@given(OPTIONS, PLAIN | KEYS, FORMS, NAMES, st.sampled_from(["NCCL", "SGLANG", "VLLM", "CUDA", "LLAMA_ARG"]))
@example("--api-key", MARK + "abcd", 2, "API_KEY", "SGLANG")
def test_no_secret_of_a_process_comes_out(option: str, value: str, form: int, name: str, prefix: str) -> None:
    words = words_of(option, value, form)
    environ = ((f"{prefix}_{name}", value), (name, value), ("NCCL_URL", f"http://u:{value}@h/"), ("NCCL_PROTO", "LL"))
    launcher = RunningProcess(
        7, 1, ("python3", "-m", "sglang.launch_server", *SIZING, *words), 5.0, environ, {1: LOG, 2: LOG}
    )
    scheduler = RunningProcess(8, 7, ("sglang::scheduler_TP0",), 6.0, (("A", "cut"), *environ), {})
    listing = parse_processes(processes_answer(ProcessListing((launcher, scheduler))))

    found = find_servers(listing)
    around = Surroundings(conf_files=(ConfFile("/etc/nccl.conf", f"NCCL_{name}={value}\nNCCL_ALGO=Ring\n".encode()),))
    fingerprint = fingerprint_of(found.servers[0], around)
    assert fingerprint is not None
    differences = compare(Fingerprint(flags={}, env={}), fingerprint) + compare(
        fingerprint, Fingerprint(flags={}, env={})
    )

    for shown in (repr(found), repr(fingerprint), fingerprint.model_dump_json(), repr(differences)):
        assert MARK not in shown
    assert fingerprint.flags is not None
    assert fingerprint.flags.items() >= {"tp_size": 8, "max_total_tokens": 4096, "model_path": "/m"}.items()
    assert fingerprint.flags["speculative_num_draft_tokens"] == 4
    assert fingerprint.env == {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}


@settings(max_examples=50, deadline=None)
@given(OPTIONS, PLAIN | KEYS, FORMS)
def test_no_secret_of_a_command_line_comes_out(option: str, value: str, form: int) -> None:
    words = words_of(option, value, form)
    assert MARK not in repr(parse_flags(words))
    assert MARK not in repr(hide_secrets(words))
    assert MARK not in hide_in_text(" ".join(words))
    assert MARK not in hide_in_text(repr(list(words)))
    assert MARK not in hide_in_text(json.dumps({"cmd": list(words)}))


SGLANG = (
    "[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', {name}={value!r}, tp_size=8, max_total_tokens=9)"
)
DICT = (
    "[2026-02-26 16:40:00] server_args={{'model_path': '/m', '{name}': {value!r}, 'tp_size': 8, 'max_total_tokens': 9}}"
)
NESTED = "[2026-02-26 16:40:00] server_args=ServerArgs(model_path='/m', extra={text!r}, tp_size=8, max_total_tokens=9)"
VLLM = "(APIServer pid=1) INFO 11-30 15:37:43 [utils.py:1] non-default args: {{'model': '/m', '{name}': ['{value}']}}"
NCCL = "gpu1:1:1 [0] NCCL INFO NCCL_{upper} set by environment to {value}"
CRASH = (
    "[2026-02-26 16:40:03] Scheduler hit an exception: Traceback (most recent call last):\nValueError: {name}={value!r}"
)


@settings(max_examples=50, deadline=None)
@given(NAMES, PLAIN | KEYS, st.sampled_from([SGLANG, DICT, NESTED, VLLM, NCCL, CRASH]))
def test_no_secret_of_a_log_comes_out(name: str, value: str, form: str) -> None:
    text = form.format(name=name.lower(), upper=name, value=value, text=json.dumps({name.lower(): value}))
    session = Session()
    session.add("1", "a.log")
    data = f"{SGLANG.format(name='seed', value=1)}\n{text}\n".encode()
    session.feed("1", Connected(0.0, 0))
    session.feed("1", Chunk(0.0, 0, data))
    session.finish()
    picture = session.snapshot(10.0)
    for shown in (to_json(session), repr(picture.events), repr(picture.log), *map(line_text, data.split(b"\n"))):
        assert MARK not in shown
    life = session.server("1").life
    assert life is not None
    assert MARK not in repr(life.conditions)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "data" / "sglang").glob("0.5.16-*.log")), ids=lambda path: path.name
)
def test_genuine_launch_keeps_every_flag_in_the_fingerprint(path: Path) -> None:
    session = Session()
    session.add("1", path.name)
    data = path.read_bytes()
    session.feed("1", Chunk(0.0, 0, data))
    session.finish()
    life = session.server("1").life
    line = next((line for line in data.decode().splitlines() if "server_args=" in line), None)
    if life is None or line is None:
        assert path.name == "0.5.16-crash-baddraft.log"  # it never printed its arguments
        return
    flags = life.conditions.flags or {}
    # The names of the record itself, not those inside a nested one.
    names = {name for name in re.findall(r"[(,] ?([a-z]\w+)=", line) if len(name) > 2}
    secret = {name for name in names if is_secret_name(name)}
    assert secret <= {"api_key", "admin_api_key", "ssl_keyfile_password"}
    nested = {"decode", "prefill", "backend", "max_bs", "tc_compiler", "full_prefill_max_req"}
    assert names - secret - nested <= flags.keys()
