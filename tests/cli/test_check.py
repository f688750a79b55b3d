"""`specmon check`: which input gives which exit status, and the forms of its answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Specmon
from tests.monitor.lines import decode, decodes, launch, plain, prefill

Sentences = Callable[[str], list[str]]
STORY = Path(__file__).resolve().parents[2] / "fixtures" / "story"

BASE = launch(0) + decodes(1, 40, 80.0)


def speculative(tok_s: float = 100.0, *, port: int = 30001, running: int = 1, accept: float = 2.0) -> str:
    flags = {"speculative_num_steps": 3, "speculative_num_draft_tokens": 4, "speculative_eagle_topk": 1}
    started = launch(0, port=port, speculative_algorithm="EAGLE3", **flags)
    return started + decodes(1, 40, tok_s, accept=accept, running=running)


LOGS = {
    "base.log": BASE,
    "base2.log": launch(0, port=30005) + decodes(1, 40, 81.0),
    "spec.log": speculative(),
    "spec2.log": speculative(port=30002),
    "slow.log": speculative(60.0),
    "same.log": speculative(80.0),
    "spec8.log": speculative(800.0, running=8),
    "few.log": launch(0) + decodes(1, 8, 80.0),
    "one.log": launch(0) + decode(1, 80.0),
    "dirty.log": launch(0) + "".join(prefill(each) + decode(each, 80.0) for each in range(1, 40)),
    "nan.log": BASE.replace("80.00", "nan"),
    "zero.log": BASE.replace("80.00", "0.00"),
    "other.log": BASE.replace("/models/kimi", "/models/llama"),
    "crash.log": BASE + plain(50, "Scheduler hit an exception: Traceback (most recent call last):\nValueError: out\n"),
    "empty.log": "",
}
_REFERENCE = 'schema = 1\nname = "r"\n{}[[level]]\nrunning = {}\ntok_s = {}\n'
REFERENCES = {
    "same.toml": _REFERENCE.format("", 1, 80.0),
    "tuned.toml": _REFERENCE.format("", 1, 110.0),
    "at8.toml": _REFERENCE.format("", 8, 80.0),
    "othermodel.toml": _REFERENCE.format('model = "/models/llama"\n', 1, 80.0),
    "future.toml": _REFERENCE.format("recorded_at = 2999-01-01T00:00:00Z\n", 1, 80.0),
    "newer.toml": _REFERENCE.replace("schema = 1", "schema = 2").format("wonder = 3\n", 1, 80.0),
    "cut.toml": _REFERENCE.format('note = "abc"\n', 1, 80.0)[:40],
    "zero.toml": _REFERENCE.format("", 1, 0.0),
    "nan.toml": _REFERENCE.format("", 1, "nan"),
}


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> None:
    for name, text in (LOGS | REFERENCES).items():
        (tmp_path / name).write_text(text)


GOOD = ("base.log", "spec.log", "--reference", "same.toml")


@pytest.mark.parametrize(
    ("args", "status", "part"),
    [
        (GOOD, 0, "check: passed (exit 0): slower, diverged, crash"),
        (("base.log", "slow.log", "--reference", "same.toml"), 1, "FAILED       slower"),
        (("base.log", "spec.log", "--reference", "tuned.toml"), 1, "FAILED       diverged"),
        (("crash.log", "spec.log", "--reference", "same.toml"), 1, "FAILED       crash"),
        (("base.log", "slow.log"), 1, "without an answer: diverged"),  # 1 goes before 3
        (("base.log", "spec.log"), 3, "no reference was given"),
        (("base.log", "spec.log", "--fail-on", "slower"), 0, "passed (exit 0): slower"),
        (("base.log", "same.log", "--fail-on", "slower"), 0, "equal within 2 %"),
        (("base.log", "same.log", "--fail-on", "not-faster"), 1, "FAILED       not-faster"),
        (("base.log", "--reference", "same.toml"), 3, "no speculative server among the logs"),
        (("base.log", "--reference", "same.toml", "--fail-on", "diverged,crash"), 0, "passed (exit 0)"),
        (("base.log", "--reference-tok-s", "110@1", "--fail-on", "diverged"), 1, "FAILED       diverged"),
        (("spec.log", "--reference", "same.toml", "--fail-on", "diverged"), 3, "no baseline server among the logs"),
        ((*GOOD, "--min-samples", "50"), 3, "--min-samples asks for 50"),
        (("base.log", "spec.log", "--reference-tok-s", "90", "--tolerance", "20%"), 0, "passed"),
        (("base.log", "spec.log", "--reference-tok-s", "84", "--tolerance", "0.01"), 1, "beyond ±1 %"),
        ((*GOOD, "--running", "8"), 3, "not both servers ran 8"),
        ((*GOOD, "--fail-on", "KV-full,restart"), 0, "passed (exit 0): kv_full, restart"),
        (("dirty.log", "spec.log", "--fail-on", "prefill_heavy"), 1, "FAILED       prefill_heavy"),
        (("base.log", "slow.log", "--fail-on", "slower-than-reference", "--reference", "same.toml"), 1, "0.75×"),
        (("base.log", "slow.log", "--fail-on", "delivers-slower"), 1, "delivers 0.75×"),
        (("base.log", "spec.log", "--fail-on", "delivers-slower"), 0, "delivers 1.25×"),
        (("other.log", "spec.log", "--fail-on", "not-comparable"), 1, "the models differ"),
        (("other.log", "spec.log", "--fail-on", "only-speculation"), 1, "besides speculation these differ: model_path"),
        (("base.log", "spec.log", "--fail-on", "right_level,method"), 0, "passed (exit 0): right-level, method"),
    ],
)
def test_status_follows_from_what_is_asked(at_once: Specmon, args: tuple[str, ...], status: int, part: str) -> None:
    done = at_once("check", *args)
    assert part in done.out, done.out
    assert done.status == status
    assert done.err == ""
    assert done.out.splitlines()[-1].startswith("check: ")


# What is given, the status of check, its words, the status of summary, and a part of what that prints.
BAD = [
    (("base.log", "base2.log", "spec.log"), 2, "2 baseline servers were given", 0, "2 baseline servers were given"),
    (("base.log", "spec.log", "spec2.log"), 2, "2 speculative servers", 0, "2 speculative servers were given"),
    (("base.log", "base.log"), 2, "given twice", 2, "given twice"),
    (("--baseline", "base.log", "--spec", "base.log"), 2, "given twice", 2, "cannot be compared with itself"),
    (("base.log", "spec8.log"), 3, "no common number of running requests", 0, "Cannot tell: no common number"),
    (("one.log", "spec.log"), 3, "0 and 39 clean samples", 0, "10 a side are needed"),
    (("few.log", "spec.log"), 3, "7 and 39 clean samples", 0, "10 a side are needed"),
    (("dirty.log", "spec.log"), 3, "0 and 39 clean samples", 0, "39 of 39 windows contain a prefill"),
    (("nan.log", "spec.log"), 3, "no decode sample", 0, "no decode sample"),
    (("zero.log", "spec.log"), 3, "0 and 39 clean samples", 0, "39 after idle"),
    (("other.log", "spec.log"), 3, "the models differ", 0, "Not comparable: the models differ"),
    (("empty.log", "spec.log"), 3, "no baseline server", 0, "empty.log is empty"),
    (("missing.log", "spec.log"), 2, "missing.log: no such file", 2, "missing.log: no such file"),
    ((*GOOD[:2], "--reference", "othermodel.toml"), 3, "of the model /models/llama", 0, "give a reference of the same"),
    ((*GOOD[:2], "--reference", "at8.toml"), 3, "no speed at 1 running", 0, "no speed at 1 running"),
    ((*GOOD[:2], "--reference", "future.toml"), 2, "lies in the future", 2, "lies in the future"),
    ((*GOOD[:2], "--reference", "newer.toml"), 0, "wonder is not known", 0, "wonder is not known"),
    ((*GOOD[:2], "--reference", "cut.toml"), 2, "not valid TOML", 2, "not valid TOML"),
    ((*GOOD[:2], "--reference", "zero.toml"), 2, "greater than 0", 2, "greater than 0"),
    ((*GOOD[:2], "--reference", "nan.toml"), 2, "finite number", 2, "finite number"),
]


@pytest.mark.parametrize(("args", "status", "part", "summary_status", "summary_part"), BAD)
def test_bad_input_is_a_sentence_with_the_right_status(
    at_once: Specmon, args: tuple[str, ...], status: int, part: str, summary_status: int, summary_part: str
) -> None:
    for command, wanted, words in (("check", status, part), ("summary", summary_status, summary_part)):
        done = at_once(command, *args)
        said = done.out + done.err
        assert "Traceback" not in said
        assert words in said, said
        assert done.status == wanted, (command, said)


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ((), "check needs a log"),
        (
            (*GOOD, "--fail-on", "slower,sloth"),
            "'sloth' is no question: such are slower, diverged, crash. `--fail-on help` lists all.",
        ),
        ((*GOOD, "--fail-on", "kv-ful"), "'kv-ful' is no question: did you mean kv_full? `--fail-on help` lists all."),
        ((*GOOD, "--fail-on", " , "), "names no question"),
        ((*GOOD, "--tolerance", "5"), "such as 5% or 0.05"),
        ((*GOOD, "--tolerance", "0%"), "such as 5% or 0.05"),
        (("base.log", "spec.log", "--tolerance", "5%"), "give --reference"),
        ((*GOOD, "--running", "many"), "--running 'many'"),
        ((*GOOD, "--report", "no/such/folder.xml"), "--report no/such/folder.xml: no such file"),
        ((*GOOD, "--run", "2"), "there is no --run 2"),
        ((*GOOD, "--client", "none.json"), "client result none.json"),
        ((*GOOD, "--client", "base.log"), "client result base.log"),
    ],
)
def test_wrong_usage_is_a_sentence_and_ends_with_2(
    at_once: Specmon, only_sentences: Sentences, args: tuple[str, ...], part: str
) -> None:
    done = at_once("check", *args)
    (sentence,) = only_sentences(done.err)
    assert part in sentence
    assert done.status == 2
    assert done.out == ""


def test_chosen_side_settles_which_of_two_is_meant(at_once: Specmon) -> None:
    done = at_once("check", "base2.log", "--baseline", "base.log", "spec.log", "--fail-on", "slower")
    assert done.status == 0
    assert "100.0 against 80.0 tok/s" in done.out
    for format_ in ("json", "text"):
        assert at_once("summary", "--format", format_, "base2.log", "--baseline", "base.log", "spec.log").status == 0


def test_json_is_the_document_of_summary_with_the_answer(at_once: Specmon) -> None:
    done = at_once("check", "base.log", "slow.log", "--format", "json")
    document = json.loads(done.out)
    assert document.pop("check") == {"exit_code": 1, "failed": ["slower"], "undecided": ["diverged"]}
    assert document == json.loads(at_once("summary", "base.log", "slow.log", "--format", "json").out)
    assert done.status == 1


def test_report_goes_to_a_file_and_text_to_the_terminal(at_once: Specmon, tmp_path: Path) -> None:
    done = at_once("check", "base.log", "slow.log", "--format", "junit", "--report", "out.xml")
    assert done.out.splitlines()[-1] == "check: failed (exit 1): slower; without an answer: diverged"
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == ["slower", "diverged", "crash"]
    assert {path.name for path in tmp_path.iterdir() if path.suffix == ".xml"} == {"out.xml"}


def test_github_form_annotates(at_once: Specmon) -> None:
    done = at_once("check", "base.log", "slow.log", "--format", "github")
    assert done.out.splitlines()[0].startswith("::error title=specmon check%3A slower::speculation decodes slower")
    assert done.status == 1


def test_story_has_diverged(at_once: Specmon) -> None:
    done = at_once("check", str(STORY), "--reference", str(STORY / "references" / "nccl-tuned.toml"))
    assert done.status == 1
    lines = {line.split()[1]: line for line in done.out.splitlines()}
    assert "62.9 tok/s, reference nccl-tuned 88.8 (−29 %)" in lines["diverged"]
    assert "NCCL_PROTO, NCCL_ALGO, NCCL_P2P_LEVEL (+3) set in the reference, unset now" in lines["diverged"]
    assert "1.21×" in lines["slower"]
    assert "0.85× against reference nccl-tuned" in lines["slower"]


def client(tmp_path: Path, tok_s: float, **more: object) -> str:
    result = {
        "output_token_throughput": {"unit": "tokens/sec", "avg": tok_s},
        "benchmark_duration": {"unit": "sec", "avg": 30.0},
        **more,
    }
    (tmp_path / "client.json").write_text(json.dumps(result))
    return "client.json"


def method(at_once: Specmon, *args: str) -> dict[str, str]:
    done = at_once("summary", "--format", "json", "base.log", "spec.log", *args)
    assert done.status == 0, done.err
    points = json.loads(done.out)["comparison"]["checklist"]
    return next({"state": point["state"], "evidence": point["evidence"]} for point in points if point["id"] == "method")


def test_client_is_put_to_its_server_by_port(at_once: Specmon, tmp_path: Path) -> None:
    endpoint = {"endpoint": {"url": "http://gpu01:30001"}}
    found = method(at_once, "--client", client(tmp_path, 99.0, input_config=endpoint))
    assert found["state"] == "ok"
    assert "Speculative: aiperf got 99.0 tok/s, the log delivers 100.0 tok/s over the whole run" in found["evidence"]


@pytest.mark.parametrize("label", ["baseline", "base.log", "gpu01:30000"])
def test_client_is_put_to_its_server_by_name(at_once: Specmon, tmp_path: Path, label: str) -> None:
    found = method(at_once, "--client", f"{label}={client(tmp_path, 80.5)}")
    assert "baseline: aiperf got 80.5 tok/s, the log delivers 80.0 tok/s" in found["evidence"]


def test_client_that_counts_chunks_is_told_so(at_once: Specmon, tmp_path: Path) -> None:
    found = method(at_once, "--client", f"spec={client(tmp_path, 50.2)}")
    assert found["state"] == "failed"
    assert "counts chunks, not tokens: its 50.2 tok/s × accept length 2.00 = 100.4" in found["evidence"]


def test_times_of_a_client_choose_the_part_of_the_log(at_once: Specmon, tmp_path: Path) -> None:
    """Two loads in one log; the client saw the second alone."""
    (tmp_path / "base.log").write_text(LOGS["base.log"] + decodes(60, 60, 40.0))
    times = {"start_time": "2026-02-26T16:41:00.2", "end_time": "2026-02-26T16:42:00.9"}
    found = method(at_once, "--client", f"baseline={client(tmp_path, 39.8, **times)}")
    assert "aiperf got 39.8 tok/s, the log delivers 40.0 tok/s in the same time (−0.5 %)" in found["evidence"]
    other = {"start_time": "2026-02-27T16:41:00", "end_time": "2026-02-27T16:42:00"}
    found = method(at_once, "--client", f"baseline={client(tmp_path, 39.8, **other)}")
    assert "over the whole run" in found["evidence"]


def test_client_of_nobody_knows_which_server_is_a_sentence(at_once: Specmon, tmp_path: Path) -> None:
    for given, part in ((client(tmp_path, 80.0), "baseline=FILE"), ("x=client.json", "'x' is no server")):
        done = at_once("summary", "base.log", "spec.log", "--client", given)
        assert part in done.err
        assert done.status == 2


def test_client_of_a_single_server_is_told_too(at_once: Specmon, tmp_path: Path) -> None:
    done = at_once("summary", "base.log", "--client", client(tmp_path, 80.5))
    assert "[ok] aiperf got 80.5 tok/s" in done.out


def test_report_follows_a_link_and_leaves_it_one(at_once: Specmon, tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert at_once("check", *GOOD, "--report", "link.txt").status == 0
    assert (tmp_path / "link.txt").is_symlink()
    assert "passed" in (tmp_path / "real.txt").read_text()


def test_report_into_a_pipe_leaves_the_pipe_there(at_once: Specmon, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert at_once("check", *GOOD, "--report", "pipe").status == 0
        assert b"passed" in os.read(reader, 65536)
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_report_that_cannot_be_written_leaves_nothing_behind(at_once: Specmon, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    done = at_once("check", *GOOD, "--report", "folder")
    assert (done.status, "--report folder: is a directory" in done.err) == (2, True)
    assert sorted(tmp_path.iterdir()) == before


def test_sides_that_are_mixed_up_are_told_with_the_answer(at_once: Specmon) -> None:
    done = at_once("check", "--baseline", "spec.log", "--spec", "base.log", "--fail-on", "slower,crash")
    about_speed, about_crash = done.out.splitlines()[:2]
    assert "You name this the baseline server, but its log is that of a speculative one" in about_speed
    assert "You name this" not in about_crash


def test_reference_of_another_number_of_ranks_answers_nothing(at_once: Specmon, tmp_path: Path) -> None:
    (tmp_path / "dp.toml").write_text(_REFERENCE.format("", 1, 160.0) + "[fingerprint.flags]\ndp_size = 2\n")
    (tmp_path / "one.log").write_text(launch(0, dp_size=1) + decodes(1, 40, 80.0))
    done = at_once("check", "one.log", "--reference", "./dp.toml", "--fail-on", "diverged")
    assert done.status == 3
    assert "a sum over 2 data-parallel ranks, this server runs 1" in done.out


def test_long_flag_in_a_sentence_is_cut_where_it_differs(at_once: Specmon, tmp_path: Path) -> None:
    flags = {name: f"Config(first={'x' * 90}, backend={name}, last={'y' * 90})" for name in ("full", "disabled")}
    written = f'[fingerprint.flags]\ncuda_graph_config = "{flags["full"]}"\n'
    (tmp_path / "graphs.toml").write_text(_REFERENCE.format("", 1, 110.0) + written)
    (tmp_path / "long.log").write_text(launch(0, cuda_graph_config=flags["disabled"]) + decodes(1, 40, 80.0))
    done = at_once("check", "long.log", "--reference", "./graphs.toml", "--fail-on", "diverged")
    cause = done.out.splitlines()[0].split("likely cause: ")[1]
    assert "backend=full" in cause
    assert "backend=disabled" in cause
    assert len(cause) < 200
