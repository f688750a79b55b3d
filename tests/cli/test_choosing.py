"""What is followed of what was found: pure decisions, without a host."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from specmon.commands.asking import UserPrompt
from specmon.commands.capture import is_host
from specmon.commands.choosing import choose_sides
from specmon.commands.connect import chosen_of, survey_of
from specmon.commands.recording import file_name
from specmon.commands.survey import ago, choose
from specmon.demo.server import StillWorld, VirtualFile, demo_server
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role
from specmon.sources.discovery import Discovery, find_servers
from specmon.sources.events import Chunk
from specmon.sources.machine import ThisMachine
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess
from specmon.ui.choose import Candidate
from tests.cli.hosts import baseline_log, speculative_log

LAUNCH = ("python3", "-m", "sglang.launch_server", "--model-path", "/m")
SPEC = (*LAUNCH, "--speculative-algorithm", "EAGLE3")


def process(pid: int, args: tuple[str, ...], log: str | None) -> RunningProcess:
    target = OutputTarget("/dev/null") if log is None else OutputTarget(log, True)
    return RunningProcess(pid, 0, args, 1000.0 + pid, (), {1: target, 2: target})


def found(*processes: RunningProcess) -> Discovery:
    return find_servers(ProcessListing(processes))


@pytest.mark.parametrize(
    ("processes", "followed", "left_out", "rivals", "missing"),
    [
        ((), [], [], {}, ()),
        ([(1, LAUNCH, "/b"), (2, SPEC, "/s")], [1, 2], [], {}, ()),
        ([(1, LAUNCH, "/b")], [1], [], {}, (Role.SPECULATIVE,)),
        ([(2, SPEC, "/s")], [2], [], {}, (Role.BASELINE,)),
        ([(1, LAUNCH, "/b"), (3, LAUNCH, "/b")], [3], [1], {}, (Role.SPECULATIVE,)),
        ([(1, LAUNCH, "/b"), (3, SPEC, "/b")], [3], [1], {}, (Role.BASELINE,)),  # restarted into the same log
        ([(1, LAUNCH, "/b"), (3, LAUNCH, "/c"), (4, SPEC, "/s")], [1, 3, 4], [], {Role.BASELINE: [1, 3]}, ()),
        ([(1, LAUNCH, None), (3, LAUNCH, "/c"), (4, SPEC, "/s")], [3, 4], [1], {}, ()),
        ([(1, (*LAUNCH, "--config", "x"), "/b"), (2, LAUNCH, "/c")], [1, 2], [], {}, (Role.SPECULATIVE,)),
    ],
)
def test_every_log_is_followed_once_and_rivals_are_told(
    processes: list[tuple[int, tuple[str, ...], str | None]],
    followed: list[int],
    left_out: list[int],
    rivals: dict[Role, list[int]],
    missing: tuple[Role, ...],
) -> None:
    choice = choose([(ThisMachine(), found(*(process(*each) for each in processes)))])
    assert sorted(each.server.pid for each in choice.followed) == followed
    assert [each.server.pid for each, _ in choice.left_out] == left_out
    assert {role: [each.server.pid for each in those] for role, those in choice.rivals.items()} == rivals
    assert choice.missing == missing


async def test_on_a_screen_rivals_are_told_in_the_event_list_and_shown_beside_each_other() -> None:
    world = StillWorld(now=5000.0)
    world.running = [process(1, LAUNCH, "/b"), process(2, LAUNCH, "/c")]
    for path in ("/b", "/c"):
        world.files[path] = VirtualFile(baseline_log().encode())
    session = Session()
    async with demo_server(world) as demo, demo.host() as host:
        found = await survey_of([host])
        channels = await chosen_of(session, found, backfill_bytes=None, can_choose_later=True)
    assert [channel.key for channel in channels] == ["1", "2"]
    events = [event.text for event in session.snapshot(0.0).events]
    (told,) = [text for text in events if "2 baseline servers run" in text]
    assert "--baseline" in told
    assert "--spec" in told


async def test_on_a_screen_the_user_is_asked_which_of_several_is_meant() -> None:
    world = StillWorld(now=5000.0)
    world.running = [process(1, LAUNCH, "/b"), process(2, LAUNCH, "/c"), process(3, SPEC, "/s")]
    for path, log in (("/b", baseline_log(tok_s=60.0)), ("/c", baseline_log(tok_s=80.0)), ("/s", speculative_log())):
        world.files[path] = VirtualFile(log.encode())
    session, prompt = Session(), UserPrompt()
    asked: list[tuple[str, list[str]]] = []

    async def ask(host: str, text: str, is_echoed: bool) -> str | None:
        raise AssertionError("no word is asked for")

    async def choose(title: str, text: str, candidates: Sequence[Candidate]) -> str | None:
        asked.append((title, [each.name for each in candidates]))
        return candidates[1].key

    async with demo_server(world) as demo, demo.host() as host:
        found = await survey_of([host])
        channels = await chosen_of(session, found, backfill_bytes=None, can_choose_later=True)
        for key, log in (("1", baseline_log()), ("2", baseline_log()), ("3", speculative_log())):
            session.feed(key, Chunk(0.0, 0, log.encode()))
        first, _ = session.pair()
        assert first is not None
        assert first.key == "1"
        asking = asyncio.create_task(choose_sides(prompt, session, found, channels))
        with prompt.on_screen(ask, choose):
            await asking
    assert asked == [("which baseline server", [f"{host.name}:/b", f"{host.name}:/c"])]
    chosen, speculative = session.pair()
    assert chosen is not None
    assert chosen.key == "2"
    assert speculative is not None
    assert session.judge() is not None, "with a choice there is one of each side"


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("gpu01", True), ("me@gpu01", True), ("local:", True), ("[::1]", True), ("10.0.0.7", True),
        ("gpu01:/x", False), ("./x", False), ("/x", False), ("-", False), ("a=gpu01:/x", False), ("[::1]:/x", False),
        ("local:/x", False), ("there.log", False),
    ],
)  # fmt: skip
def test_host_and_log_are_told_apart(word: str, is_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.log").touch()
    assert is_host(word) is is_one


@pytest.mark.parametrize(
    ("text", "name"),
    [("/var/log/base.log", "base"), ("x.out", "x"), ("a b", "a_b"), ("..", "server"), ("/", "server"), ("é", "_")],
)
def test_file_of_a_capture_is_named_after_its_log(text: str, name: str) -> None:
    assert file_name(text) == name


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "at an unknown time"), (0.4, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"),
                           (7200, "2 h ago"), (172800, "2 days ago")],
)  # fmt: skip
def test_age_is_told_in_its_largest_unit(seconds: float | None, words: str) -> None:
    assert ago(seconds) == words
