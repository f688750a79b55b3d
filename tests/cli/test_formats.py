"""`specmon formats` and --format-file, as a user runs them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Specmon

Sentences = Callable[[str], list[str]]
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "fixtures" / "formats" / "labserve.toml"
FOLDER = Path("home") / ".config" / "specmon" / "formats"

SGLANG = (
    "[2026-02-26 16:40:{:02} TP0] Decode batch, #running-req: 1, #token: 512, token usage: 0.00, accept len: 2.10, "
    "accept rate: 0.55, cuda graph: True, gen throughput (token/s): 75.90, #queue-req: 0\n"
)


def lab_log(*, draft_us: int = 610, lines: int = 30) -> str:
    text = "26/Feb/2026 16:40:00.000 labserve 0.3.1 model=kimi-k2 tp=8 spec=eagle3 steps=2\nloading weights\n"
    text += "26/Feb/2026 16:40:31.000 accepting requests\n"
    for number in range(lines):
        second = 32 + number * 1.107
        clock = f"16:{40 + int(second // 60)}:{second % 60:06.3f}"
        text += f"gpu0> 26/Feb/2026 {clock} step x40: bs=1 75.90 tok/s acc=2.10 kv=3.5% wait=0\n"
        text += f"timers x40 bs=1 draft={draft_us}us verify=26000us extend=410us cycle=27.68ms\n"
    return text


def server_of(text: str) -> dict[str, Any]:
    (server,) = json.loads(text)["servers"]
    assert isinstance(server, dict)
    return server


def test_a_custom_format_gives_the_whole_result_of_a_server(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "lab.log").write_text(lab_log())
    done = specmon("summary", "--format", "json", "--format-file", str(EXAMPLE), "lab.log")
    assert (done.status, done.err) == (0, "")
    server = server_of(done.out)
    assert (server["engine"], server["role"], server["notices"]) == ("custom:labserve", "speculative", [])
    assert server["lines"] == {"total": 63, "samples": 30, "unparsed": 0}
    run = server["runs"][0]
    assert run["started_at"] == "2026-02-26T16:40:00+01:00"
    assert (run["launch"]["model"], run["launch"]["tp_size"], run["launch"]["num_steps"]) == ("kimi-k2", 8, 2)
    assert run["speculation"] == "active"
    (level,) = run["decode"]["levels"]
    assert (level["clean"], level["decode_tok_s"], level["accept_len"]) == (29, pytest.approx(75.9), 2.1)
    phases = run["phases"]
    assert (phases["source"], phases["cycles"]) == ("custom", 1200)
    assert phases["ms"] == pytest.approx({"draft": 0.61, "verify": 26.0, "draft_extend": 0.41})
    assert phases["residual_ms"] == pytest.approx(0.66)
    assert phases["identity_cycle_ms"] == pytest.approx(27.668, abs=0.001)  # 1000 x 2.10 / 75.9


def test_phase_lines_of_a_custom_format_are_added_to_an_engine_s_own_log(specmon: Specmon, tmp_path: Path) -> None:
    timers = "timers x40 bs=1 draft=610us verify=26000us extend=410us cycle=27.68ms\n"
    (tmp_path / "sglang.log").write_text("".join(SGLANG.format(second) + timers for second in range(20)))
    server = server_of(specmon("summary", "--format", "json", "--format-file", str(EXAMPLE), "sglang.log").out)
    assert (server["engine"], server["runs"][0]["phases"]["source"]) == ("sglang", "custom")


def test_the_probe_s_lines_fill_the_phases_without_any_format(specmon: Specmon, tmp_path: Path) -> None:
    probe = "specmon-phase v1 cycles=40 running=1 draft_ms=0.610 verify_ms=26.000 draft_extend_ms=0.41 cycle_ms=27.68\n"
    (tmp_path / "sglang.log").write_text("".join(SGLANG.format(second) + probe for second in range(20)))
    phases = server_of(specmon("summary", "--format", "json", "sglang.log").out)["runs"][0]["phases"]
    assert (phases["source"], phases["cycles"], len(phases["by_running"])) == ("probe", 800, 1)
    assert phases["by_running"][0]["running"] == 1


def test_phases_that_add_up_to_more_than_a_cycle_are_told_with_the_mend(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "lab.log").write_text(lab_log(draft_us=9000))
    done = specmon("summary", "--format", "json", "--format-file", str(EXAMPLE), "lab.log")
    (notice,) = server_of(done.out)["notices"]
    assert notice["kind"] == "phases_disagree"
    assert "35.41 ms" in notice["text"]
    assert "Check the units" in notice["text"]


def test_formats_in_the_user_s_folder_are_read_without_being_named(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "labserve.toml").write_text(EXAMPLE.read_text())
    (tmp_path / "lab.log").write_text(lab_log())
    assert server_of(specmon("summary", "--format", "json", "lab.log").out)["engine"] == "custom:labserve"


def test_a_bad_format_in_the_folder_is_one_sentence_and_left_out(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path
) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "bad.toml").write_text(EXAMPLE.read_text().replace("tok_s = 75.9,", "tok_s = 76,"))
    (tmp_path / FOLDER / "cut.toml").write_text("schema = ")
    (tmp_path / "sglang.log").write_text(SGLANG.format(1))
    done = specmon("summary", "sglang.log")
    bad, cut = only_sentences(done.err)
    assert "format labserve in" in bad
    assert "sample 1: tok_s: expected 76, got 75.9" in bad
    assert bad.endswith("It is left out.")
    assert "not valid TOML" in cut
    assert done.status == 0


@pytest.mark.parametrize("command", ["summary", "replay"])
@pytest.mark.parametrize("what", ["missing.toml", "bad.toml"])
def test_a_bad_format_that_is_named_ends_with_2(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, command: str, what: str
) -> None:
    (tmp_path / "bad.toml").write_text(EXAMPLE.read_text().replace("tok_s = 75.9,", "tok_s = 76,"))
    (tmp_path / "lab.log").write_text(lab_log())
    done = specmon(command, "--format-file", what, "lab.log")
    assert what in only_sentences(done.err)[0]
    assert done.status == 2


def test_two_formats_of_one_name_are_not_both_read(specmon: Specmon, only_sentences: Sentences, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "other.toml").write_text(EXAMPLE.read_text())
    (tmp_path / "lab.log").write_text(lab_log())
    done = specmon("summary", "--format-file", str(EXAMPLE), "lab.log")
    assert "the name custom:labserve is taken by" in only_sentences(done.err)[0]
    assert done.status == 0


def test_a_format_that_shadows_a_built_in_one_is_a_notice(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        f"""
schema = 1
name = "mine"
covers = "time"
[[pattern]]
name = "decode"
kind = "decode"
regex = '#running-req: (?P<running>\\d+),.*\\(token/s\\): (?P<tok_s>[\\d.]+)'
[[sample]]
line = '{SGLANG.format(1).strip()}'
pattern = "decode"
"""
    )
    (tmp_path / "sglang.log").write_text("".join(map(SGLANG.format, range(20))))
    done = specmon("summary", "--format", "json", "--format-file", "mine.toml", "sglang.log")
    server = server_of(done.out)
    assert (server["engine"], [notice["kind"] for notice in server["notices"]]) == ("sglang", ["formats_clash"])
    assert "sglang and custom:mine" in server["notices"][0]["text"]
    tested = specmon("formats", "test", "mine.toml")
    assert "sglang reads sample 1 of custom:mine as well" in tested.err
    assert tested.status == 0


# -- formats test, list, fields, explain ---------------------------------------------------------------


def test_formats_test_prints_every_sample(specmon: Specmon) -> None:
    done = specmon("formats", "test", str(EXAMPLE))
    assert (done.status, done.err) == (0, "")
    assert done.out.count("ok   sample") == 9
    assert "custom:labserve: 9 of 9 samples are right" in done.out


def test_formats_test_ends_with_1_when_a_sample_fails(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(EXAMPLE.read_text().replace("tok_s = 75.9,", "tok_s = 76,"))
    done = specmon("formats", "test", "f.toml")
    assert done.status == 1
    assert "FAIL sample 1" in done.out
    assert "tok_s: expected 76, got 75.9" in done.out


def test_formats_test_tells_of_a_cycle_in_another_unit(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(
        "schema = 1\nname = 'x'\ncovers = 'time'\n[[pattern]]\nname = 'd'\nkind = 'decode'\n"
        "regex = 'B=(?P<running>\\d+) R=(?P<tok_s>\\S+) C=(?P<cycle_ms>\\S+)'\n"
        "[[sample]]\nline = 'B=1 R=62.9 C=0.0159'\npattern = 'd'\n"
    )
    done = specmon("formats", "test", "f.toml")
    assert done.status == 0
    assert "1,000 times more. If the log prints seconds, write `cycle_ms = 1000` under [unit]." in done.err


@pytest.mark.parametrize("content", ["schema = ", "schema = 1\nname = 'x'\n", None])
def test_formats_test_ends_with_2_when_the_file_is_broken(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "f.toml").write_text(content)
    done = specmon("formats", "test", "f.toml")
    assert len(only_sentences(done.err)) == 1
    assert done.status == 2


def test_formats_list_says_where_each_is_from(specmon: Specmon) -> None:
    done = specmon("formats", "list", "--format-file", str(EXAMPLE))
    rows = {line.split()[0]: line for line in done.out.splitlines()[1:] if "  " in line}
    assert set(rows) == {"sglang", "vllm", "llama.cpp", "tensorrt-llm", "custom:labserve"}
    assert "built-in" in rows["sglang"]
    assert re.search(r"custom +9 of 9 +.*labserve\.toml", rows["custom:labserve"])


def test_explain_shows_the_first_lines_of_each_kind_and_counts_all(specmon: Specmon, tmp_path: Path) -> None:
    (tmp_path / "lab.log").write_text(lab_log())
    done = specmon("formats", "explain", "--limit", "1", "--format-file", str(EXAMPLE), "lab.log")
    assert done.status == 0
    shown = done.out.partition("\n\n")[0]
    assert re.search(r"4  decode custom:labserve  at=2026-02-26 16:40:32  running=1  tok_s=75.9  accept_len=2.1", shown)
    assert "loading weights" in shown
    assert "63 lines; recognised as custom:labserve (62)" in done.out
    assert re.search(r"\b30  decode\n", done.out)
    assert re.search(r"\b1  other  \(not recognised\)", done.out)


def test_explain_names_carriers_streams_and_lines_that_lack_a_figure(specmon: Specmon, tmp_path: Path) -> None:
    cut = "[2026-02-26 16:40:09 TP0] Decode batch, #running-req: 1, #token: 51\n"
    (tmp_path / "c.log").write_text("".join(f"web-1  | {line}" for line in (SGLANG.format(1), cut, "hello\n")))
    done = specmon("formats", "explain", "--format", "json", "c.log")
    document = json.loads(done.out)
    decode, lacking, other = document["shown"]
    assert (decode["kind"], decode["engine"], decode["carriers"]) == ("decode", "sglang", ["compose"])
    assert decode["fields"]["accept_len"] == "2.1"
    assert lacking["kind"] == "unparsed"
    assert (other["kind"], other["engine"]) == ("other", None)
    assert document["lines"] == {
        "total": 3,
        "by_kind": {"decode": 1, "unparsed": 1, "other": 1},
        "familiar": 0,
        "unparsed": 1,
        "other": 1,
    }


def test_explain_of_a_missing_log_ends_with_2(specmon: Specmon, only_sentences: Sentences) -> None:
    done = specmon("formats", "explain", "missing.log")
    assert only_sentences(done.err)
    assert done.status == 2


@pytest.mark.parametrize("command", ["list", "fields", "test", "explain"])
def test_every_command_has_an_example_in_its_help(specmon: Specmon, command: str) -> None:
    done = specmon("formats", command, "--help")
    assert f"Example: specmon formats {command}" in done.out


# -- third parties --------------------------------------------------------------------------------------

THIRD_PARTY = """
from array import array
from specmon.events import Block, SampleColumns

class Parser:
    def feed(self, block, start):
        columns = SampleColumns()
        offset = start
        for line in block.splitlines(keepends=True):
            if line.startswith(b"acme "):
                columns.offset.append(offset); columns.at.append(float("nan")); columns.rank.append(0)
                columns.process.append(-1); columns.running.append(1); columns.tok_s.append(float(line.split()[1]))
            offset += len(line)
        return Block(start, offset, block.count(b"\\n"), recognised=len(columns), decode=columns)
    def finish(self):
        return Block(0, 0, 0)

class Dialect:
    engine = "acme"
    signature = rb"\\nacme \\d"
    def open(self):
        return Parser()
"""


def install(folder: Path, code: str, entry: str = "acme_logs:Dialect") -> dict[str, str]:
    """A distribution as pip would leave it, on a path of its own."""
    site = folder / "site"
    info = site / "acme_logs-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "acme_logs.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-logs\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[specmon.formats]\nacme = {entry}\n")
    return {"PYTHONPATH": str(site)}


def test_a_package_adds_a_dialect_by_its_entry_point(specmon: Specmon, tmp_path: Path) -> None:
    env = install(tmp_path, THIRD_PARTY)
    (tmp_path / "acme.log").write_text("acme 70.5\nacme 70.6\n")
    server = server_of(specmon("summary", "--format", "json", "acme.log", env=env).out)
    assert (server["engine"], server["lines"]["samples"]) == ("acme", 2)
    assert re.search(r"acme +entry point +- +acme-logs 1.2", specmon("formats", "list", env=env).out)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise RuntimeError('no GPU here')", "RuntimeError: no GPU here"),
        ("Dialect = 3", "it has no `engine`"),
        (THIRD_PARTY.replace('    signature = rb"\\nacme \\d"\n', ""), "it has no `signature`"),
        (THIRD_PARTY.replace("acme \\d", "acme ("), "`signature` is no regular expression"),
        (THIRD_PARTY.replace('"acme"', '"sglang"'), "the name sglang is taken"),
    ],
)
def test_a_failing_package_is_one_sentence_and_left_out(
    specmon: Specmon, only_sentences: Sentences, tmp_path: Path, code: str, said: str
) -> None:
    (tmp_path / "sglang.log").write_text(SGLANG.format(1))
    done = specmon("summary", "--format", "json", "sglang.log", env=install(tmp_path, code))
    (sentence,) = only_sentences(done.err)
    assert said in sentence
    assert "acme" in sentence
    assert (done.status, server_of(done.out)["engine"]) == (0, "sglang")


def test_a_package_that_fails_while_it_reads_is_a_notice(specmon: Specmon, tmp_path: Path) -> None:
    env = install(tmp_path, THIRD_PARTY)
    (tmp_path / "acme.log").write_text("acme 70.5\nacme 7o.5\n")
    done = specmon("summary", "--format", "json", "acme.log", env=env)
    assert done.status == 0
    notices = {notice["kind"]: notice["text"] for notice in server_of(done.out)["notices"]}
    assert "ValueError" in notices["dialect_failed"]


def test_packages_are_not_loaded_for_the_help(specmon: Specmon, tmp_path: Path) -> None:
    env = install(tmp_path, "raise RuntimeError")
    done = specmon("summary", "--help", env=env)
    assert (done.status, done.err) == (0, "")
