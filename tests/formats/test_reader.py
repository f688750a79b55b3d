"""One source, several streams: who is told apart, whose engine is found, what is counted; cuts never matter."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.events import Launched, ZoneChanged
from specmon.formats.reader import LogReader, Portion

from .carriers.wrappers import WRAPS

SGLANG = [
    "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m/a', tp_size=1, port=30000)",
    "[2026-01-01 10:00:20] The server is fired up and ready to roll!",
    *(
        f"[2026-01-01 10:01:{second:02}] Decode batch. #running-req: 1, #token: {300 + second}, token usage: 0.01, "
        f"gen throughput (token/s): 80.{second:02}, #queue-req: 0, "
        for second in range(5)
    ),
]
VLLM = [
    "(APIServer pid=7) INFO 01-01 10:00:00 [utils.py:233] non-default args: {'model': '/m/b'}",
    "(APIServer pid=7) INFO:     Application startup complete.",
    *(
        f"(APIServer pid=7) INFO 01-01 10:0{minute}:00 [loggers.py:271] Engine 000: "
        f"Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 18.{minute} tokens/s, "
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 35.1%, Prefix cache hit rate: 0.0%"
        for minute in range(1, 5)
    ),
]
LLAMA = [
    "0.00.000.100 I srv    load_model: loading model '/m/c.gguf'",
    "0.01.000.000 I main: server is listening on http://127.0.0.1:8080",
    "0.02.000.000 I slot print_timing: id  0 | task 1 | prompt eval time =     100.00 ms /    10 tokens "
    "(   10.00 ms per token,   100.00 tokens per second)",
    "0.02.000.001 I slot print_timing: id  0 | task 1 |        eval time =    1000.00 ms /   101 tokens "
    "(   9.90 ms per token,   101.00 tokens per second)",
    "0.02.000.002 I slot print_timing: id  0 | task 1 |       total time =    1100.00 ms /   111 tokens",
]


def read(data: bytes, cuts: list[int] | None = None) -> list[Portion]:
    """Whole lines, in blocks that end at the line ends behind the cuts."""
    edges = sorted({data.find(b"\n", cut) + 1 for cut in cuts or [] if data.find(b"\n", cut) >= 0} | {0, len(data)})
    reader = LogReader()
    portions = [portion for start, end in itertools.pairwise(edges) for portion in reader.feed(data[start:end], start)]
    return portions + reader.finish()


def summed(portions: list[Portion]) -> dict[tuple[str, ...], tuple[object, ...]]:
    """What is said of each stream in all."""
    lines: Counter[tuple[str, ...]] = Counter()
    samples: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    events: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    for portion in portions:
        key, block = portion.stream.key, portion.block
        lines[key] += block.lines
        decode = block.decode
        samples.setdefault(key, []).extend(
            (portion.engine, block.ranks[rank], *rest)
            for rank, *rest in zip(
                decode.rank, decode.offset, decode.at, decode.process, decode.running, decode.tok_s, strict=True
            )
        )
        events.setdefault(key, []).extend((event.kind, event.offset, event.at, event.rank) for event in block.events)
    return {key: (lines[key], samples[key], sorted(events[key], key=repr)) for key in lines}


def engines(portions: list[Portion]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for portion in portions:
        if portion.engine is not None and len(portion.block.decode):
            found.setdefault(portion.stream.names[0] if portion.stream.names else "", set()).add(portion.engine)
    return found


def woven(*logs: str) -> str:
    """Lines of several logs in turn."""
    return "".join(
        itertools.chain.from_iterable(itertools.zip_longest(*(log.splitlines(True) for log in logs), fillvalue=""))
    )


@pytest.mark.parametrize(
    ("log", "engine", "samples"), [(SGLANG, "sglang", 5), (VLLM, "vllm", 4), (LLAMA, "llama.cpp", 1)]
)
def test_engine_is_found_by_content_and_its_launch_is_kept(log: list[str], engine: str, samples: int) -> None:
    noise = "INFO:     Started server process [1]\nLoading 3 %\n"
    portions = read((noise + "\n".join(log) + "\n").encode())
    assert {portion.engine for portion in portions if len(portion.block.decode)} == {engine}
    assert sum(len(portion.block.decode) for portion in portions) == samples
    assert sum(portion.block.lines for portion in portions) == len(log) + 2
    assert any(isinstance(event, Launched) for portion in portions for event in portion.block.events)


def test_streams_of_a_compose_file_have_their_own_engines() -> None:
    logs = [
        "".join(f"{name}-1  | {line}\n" for line in lines)
        for name, lines in (("spec", SGLANG), ("base", VLLM), ("small", LLAMA), ("proxy", ["GET /", "GET /"]))
    ]
    portions = read(woven(*logs).encode())
    assert engines(portions) == {"spec-1": {"sglang"}, "base-1": {"vllm"}, "small-1": {"llama.cpp"}}
    counted = summed(portions)
    assert counted["compose", "spec-1"][0] == len(SGLANG)
    assert counted["compose", "proxy-1"][0] == 2


def test_another_engine_may_take_a_log_over() -> None:
    portions = read("\n".join([*VLLM, *SGLANG, *LLAMA, ""]).encode())
    assert engines(portions) == {"": {"vllm", "sglang", "llama.cpp"}}
    assert sum(len(portion.block.decode) for portion in portions) == 10


def test_text_about_another_engine_takes_nothing_over() -> None:
    text = [*SGLANG[:4], "I had Avg prompt throughput: 3 with vllm and llama_model_loader", *SGLANG[4:]]
    assert engines(read("\n".join([*text, ""]).encode())) == {"": {"sglang"}}


@pytest.mark.parametrize(
    "wrap", ["docker compose", "docker json-file, split lines", "CRI, split lines", "Ray", "quoted"]
)
def test_offsets_are_those_of_the_file(wrap: str) -> None:
    data = ("a plain line\n" + WRAPS[wrap](SGLANG) + "\n".join([*SGLANG, ""])).encode()
    for portion in read(data):
        for offset, tok_s in zip(portion.block.decode.offset, portion.block.decode.tok_s, strict=True):
            assert offset == 0 or data[offset - 1 : offset] == b"\n"
            line = data[offset : data.find(b"\n", offset)]
            assert f"{tok_s:.2f}"[-3:].encode() in line


def _zones(portions: list[Portion]) -> list[int | None]:
    events = [event for portion in portions for event in portion.block.events]
    return [event.utc_offset_s for event in events if isinstance(event, ZoneChanged)]


def test_carrier_lends_the_year_and_never_its_zone() -> None:
    portions = read(WRAPS["CRI"]([line.replace("01-01 10", "06-24 17") for line in VLLM]).encode())
    at = [at for portion in portions for at in portion.block.decode.at]
    assert at[0] == 1782320460.0  # 2026-06-24 17:01:00 on the engine's clock, not the carrier's 15:38:02+02:00
    assert not _zones(portions)


def test_carrier_gives_time_and_zone_where_the_engine_has_only_an_uptime() -> None:
    portions = read(WRAPS["CRI"](LLAMA).encode())
    (sample,) = [portion.block for portion in portions if len(portion.block.decode)]
    assert round(sample.decode.at[0]) == 1782315482  # 2026-06-24 15:38:02
    assert _zones(portions) == [7200]


# -- labels that may be parts of one server ----------------------------------------------------------------


def ray(pid: int, lines: list[str]) -> str:
    return "".join(f"(Engine pid={pid}) {line}\n" for line in lines)


def tagged(tag: str) -> list[str]:
    return [line.replace("] ", f" {tag}] ", 1) for line in SGLANG]


def test_actors_with_statistics_of_the_same_rank_at_once_are_two_servers() -> None:
    portions = read(woven(ray(1, SGLANG), ray(2, SGLANG)).encode())
    counts = {portion.stream.key: 0 for portion in portions}
    for portion in portions:
        counts[portion.stream.key] += len(portion.block.decode)
    assert counts == {("ray", "0"): 5, ("ray", "1"): 5}
    assert {portion.stream.names[1] for portion in portions if portion.stream.names} == {"Engine pid=1", "Engine pid=2"}


def test_actors_of_different_ranks_are_one_server_with_one_launch() -> None:
    portions = read(woven(ray(1, tagged("TP0")), ray(2, tagged("TP8"))).encode())
    assert {portion.stream.key for portion in portions if len(portion.block.decode)} == {("ray", "0")}
    assert sum(len(portion.block.decode) for portion in portions) == 10
    assert sum(isinstance(event, Launched) for portion in portions for event in portion.block.events) == 1
    assert sum(portion.block.lines for portion in portions) == 2 * len(SGLANG)


def test_actor_that_begins_when_the_other_has_ended_is_its_next_life() -> None:
    portions = read((ray(1, SGLANG) + ray(2, SGLANG)).encode())
    assert {portion.stream.key for portion in portions if len(portion.block.decode)} == {("ray", "0")}
    assert sum(isinstance(event, Launched) for portion in portions for event in portion.block.events) == 2
    assert [*dict.fromkeys(p for portion in portions for p in portion.block.decode.process)] == [1, 2]


def test_tasks_that_never_report_are_parts_of_the_one_that_does() -> None:
    quiet = "".join(f"1: {line}\n" for line in SGLANG[:2])
    portions = read(woven("".join(f"0: {line}\n" for line in SGLANG), quiet).encode())
    assert {portion.stream.key for portion in portions if portion.block.lines} == {("srun", "0")}
    assert sum(isinstance(event, Launched) for portion in portions for event in portion.block.events) == 1
    assert sum(portion.block.lines for portion in portions) == len(SGLANG) + 2


# -- cuts ----------------------------------------------------------------------------------------------------

_MIXED = (
    woven(
        WRAPS["docker compose"](SGLANG),
        "".join(f"base-1  | {line}\n" for line in VLLM),
        WRAPS["CRI, split lines"](LLAMA),
    )
    + woven(ray(1, SGLANG), ray(2, SGLANG), ray(3, tagged("TP1")))
    + "\n".join([*VLLM, "a foreign line", *SGLANG, ""])
    + WRAPS["docker json-file, split lines"](SGLANG)
    + WRAPS["journalctl"](LLAMA)
    + WRAPS["quoted"](VLLM)
).encode()
_WHOLE = summed(read(_MIXED))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, len(_MIXED)), max_size=20))
def test_cuts_never_change_what_is_said_in_all(cuts: list[int]) -> None:
    assert summed(read(_MIXED, cuts)) == _WHOLE


def test_single_lines_give_the_same_as_one_block() -> None:
    assert summed(read(_MIXED, list(range(len(_MIXED))))) == _WHOLE


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(_MIXED.splitlines(True)) | st.binary(max_size=80), max_size=40), st.data())
def test_any_mix_of_lines_and_bytes_is_read_the_same_in_any_cut(pieces: list[bytes], data: st.DataObject) -> None:
    log = b"".join(pieces).replace(b"\0", b" ") + b"\n"
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=10))
    whole = summed(read(log))
    assert repr(summed(read(log, cuts))) == repr(whole)
    assert sum(int(str(said[0])) for said in whole.values()) == log.count(b"\n")
