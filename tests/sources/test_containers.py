"""Containers and pods: numbered lines, faults, and the numbers compared; near by and over a real sshd."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from specmon.errors import UnreadableInput
from specmon.sources.docker import DockerLog
from specmon.sources.events import CaughtUp, Chunk, Connected, Gap, Refused, Rotated, Waiting
from specmon.sources.kubernetes import KubernetesLog
from specmon.sources.machine import StreamingMachine
from specmon.sources.program_follow import ProgramSource
from specmon.sources.program_log import LogProgram

from .faults import PACE
from .programs import Container, Pod, Site, numbers, site_at
from .reading import Heard, Listening


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=False) as site:
        yield site


@pytest.fixture(params=["near", pytest.param("far", marks=pytest.mark.sshd)])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=request.param == "far") as site:
        yield site


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=True) as site:
        yield site


def docker(
    machine: StreamingMachine, *, container: str = "spec", service: str = "", keeps_stamps: bool = False
) -> DockerLog:
    name = f"compose:{service}" if service else f"docker:{container}"
    return DockerLog(name, machine, container=container, service=service, keeps_stamps=keeps_stamps)


def kube(
    machine: StreamingMachine, pod: str = "spec-0", *, container: str | None = None, previous: bool = False
) -> KubernetesLog:
    return KubernetesLog(f"kube:prod/{pod}", machine, "prod", pod, container, previous, keeps_stamps=False)


@asynccontextmanager
async def following(program: LogProgram, backfill_bytes: int | None = None) -> AsyncIterator[Heard]:
    source = ProgramSource(program, follow=True, backfill_bytes=backfill_bytes, pace=PACE)
    async with Listening(source.events()) as heard:
        yield heard


async def whole(program: LogProgram) -> Heard:
    heard = Heard()
    await heard.listen(ProgramSource(program, follow=False, pace=PACE).events())
    return heard


async def has_read(heard: Heard, count: int) -> None:
    await heard.until(lambda heard: heard.data.count(b"\n") >= count, limit_s=20)


def assert_all_once(heard: Heard, written: int) -> None:
    assert numbers(heard.data) == list(range(written))
    assert not heard.of(Gap)


def has_connected(times: int, heard: Heard) -> bool:
    return len(heard.of(Connected)) >= times


# -- docker ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["running", "exited"])
async def test_log_is_read_to_its_end_with_both_streams_in_order(either: Site, status: str) -> None:
    container = Container(either.install("docker"), "spec", "c1", status=status)
    container.write(500)
    async with either.machine() as machine:
        heard = await whole(docker(machine))
    assert_all_once(heard, 500)
    assert isinstance(heard.events[-1], CaughtUp)


async def test_stamps_are_kept_for_the_formats(site: Site) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    container.write(1)
    async with site.machine() as machine:
        heard = await whole(docker(machine, keeps_stamps=True))
    stamp, _, text = heard.data.partition(b" ")
    assert text == b"line 000000 of the log\n"
    assert len(stamp) == len("2026-06-24T17:38:02.436246479Z")


async def test_new_lines_follow_the_old_ones_once(either: Site) -> None:
    container = Container(either.install("docker"), "spec", "c1")
    container.write(300)
    async with either.machine() as machine, following(docker(machine)) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        for _ in range(10):
            container.write(7)
            await asyncio.sleep(0.02)
        await has_read(heard, 370)
        assert_all_once(heard, 370)
        caught_up = next(number for number, event in enumerate(heard.events) if isinstance(event, CaughtUp))
        old = b"".join(event.data for event in heard.events[:caught_up] if isinstance(event, Chunk))
        assert old.count(b"\n") == 300
        assert [event.is_behind for event in heard.of(Connected)] == [True]


@pytest.mark.parametrize(("size", "first"), [(0, 2000), (230, 1990), (10**7, 0)])
async def test_backfill_begins_at_a_line(site: Site, size: int, first: int) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    container.write(2000)
    async with site.machine() as machine, following(docker(machine), size) as heard:
        await heard.until(lambda heard: bool(heard.of(CaughtUp)))
        container.write(5)
        await has_read(heard, 2005 - first)
        assert numbers(heard.data) == list(range(first, 2005))


async def test_restarted_container_is_followed_on(site: Site) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    container.write(10)
    async with site.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        container.write(5)
        container.set(status="exited", exit="137")
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        assert heard.of(Waiting)[0].reason == "docker:spec: the container has ended with status 137"
        container.write(5)
        container.set(status="running", started="later")
        await has_read(heard, 20)
        container.write(5)
        await has_read(heard, 25)
        assert_all_once(heard, 25)


async def test_stopped_container_is_only_looked_at(site: Site) -> None:
    container = Container(site.install("docker"), "spec", "c1", status="exited")
    container.write(10)
    async with site.machine() as machine, following(docker(machine)) as heard:
        await heard.until(lambda heard: len(heard.of(Waiting)) >= 4)
        assert container.readers() == 1
        assert_all_once(heard, 10)


async def test_new_container_of_the_name_is_told(site: Site) -> None:
    root = site.install("docker")
    old = Container(root, "spec", "c1")
    old.write(10)
    async with site.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        old.set(status="exited", exit="0")
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        old.remove()
        await heard.until(lambda heard: any("no such container" in waiting.reason for waiting in heard.of(Waiting)))
        new = Container(root, "spec", "c2")
        new.write(3)
        await has_read(heard, 13)
        assert [event.reason for event in heard.of(Rotated)] == ["replaced by a new one of that name"]
        assert numbers(heard.data) == [*range(10), *range(3)]
        assert not heard.of(Gap)


async def test_container_that_is_made_anew_at_once_leaves_no_gap(site: Site) -> None:
    root = site.install("docker")
    old = Container(root, "spec", "c1")
    old.write(10)
    async with site.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        await heard.until(lambda heard: bool(old.followers()))
        old.write(5)
        old.set(status="exited", name="gone")  # the follower reads the rest and ends; then docker removes it
        Container(root, "spec", "c2").write(3)
        await heard.until(lambda heard: not old.followers())
        await has_read(heard, 18)
        assert numbers(heard.data) == [*range(15), *range(3)]
        assert not heard.of(Gap)
        assert len(heard.of(Rotated)) == 1


async def test_container_that_was_replaced_unseen_leaves_a_gap(far: Site) -> None:
    root = far.install("docker")
    old = Container(root, "spec", "c1")
    old.write(10)
    async with far.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        (root / "down").touch()
        far.drop_link()
        await heard.until(lambda heard: any("daemon does not answer" in one.reason for one in heard.of(Waiting)))
        old.write(5)
        old.remove()
        Container(root, "spec", "c2").write(3)
        (root / "down").unlink()
        await has_read(heard, 13)
        assert [event.size_bytes for event in heard.of(Gap)] == [None]
        assert len(heard.of(Rotated)) == 1


async def test_old_container_under_another_name_is_finished_first(far: Site) -> None:
    root = far.install("docker")
    old = Container(root, "spec", "c1")
    old.write(10)
    async with far.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        (root / "down").touch()
        far.drop_link()
        await heard.until(lambda heard: any("daemon does not answer" in one.reason for one in heard.of(Waiting)))
        old.write(5)
        old.set(name="spec-old", status="exited")
        Container(root, "spec", "c2").write(3)
        (root / "down").unlink()
        await has_read(heard, 18)
        assert numbers(heard.data) == [*range(15), *range(3)]
        assert not heard.of(Gap)


@pytest.mark.parametrize("kind", ["link", "reader"])
async def test_broken_reading_is_resumed_without_loss_or_repetition(far: Site, kind: str) -> None:
    container = Container(far.install("docker"), "spec", "c1")
    container.write(200)
    async with far.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 200)
        ended: set[int] = set()  # followers of readings that broke; on the far side they may live a little longer
        for breaks in range(1, 3):
            await heard.until(lambda heard: bool(set(container.followers()) - ended))
            ended.update(container.followers())
            for _ in range(10):
                container.write(5)
                await asyncio.sleep(0.01)
            if kind == "link":
                far.drop_link()
            else:
                container.kill_follower()
            await heard.until(partial(has_connected, breaks + 1))
            await heard.until(lambda heard: heard.data.count(b"\n") >= container.written)
        container.write(20)
        await has_read(heard, 320)
        assert_all_once(heard, 320)


async def test_log_that_was_rotated_away_leaves_a_gap(far: Site) -> None:
    root = far.install("docker")
    container = Container(root, "spec", "c1")
    container.write(10)
    async with far.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        (root / "down").touch()
        far.drop_link()
        await heard.until(lambda heard: any("daemon does not answer" in one.reason for one in heard.of(Waiting)))
        (container.folder / "json.log").write_text("")  # max-size was reached: docker keeps no more
        await asyncio.sleep(0.01)
        container.write(5)
        (root / "down").unlink()
        await has_read(heard, 15)
        assert numbers(heard.data) == list(range(15))
        assert len(heard.of(Gap)) == 1


async def test_line_that_docker_says_again_when_its_log_is_rotated_comes_once(site: Site) -> None:
    """Seen with docker 28.2.2, max-size and --follow: the last line of the old file twice, with the same stamp."""
    container = Container(site.install("docker"), "spec", "c1")
    at = "2026-12-01T12:42:56.00884801{}Z"
    async with site.machine() as machine, following(docker(machine)) as heard:
        await heard.until(lambda heard: bool(container.followers()))
        for number in (0, 1, 1, 2):
            entry = {"log": f"line {number:06d} of the log\n", "stream": "stderr", "time": at.format(number)}
            container.append([json.dumps(entry)])
        await has_read(heard, 3)
        assert_all_once(heard, 3)


async def test_lines_alike_within_a_millisecond_of_a_coarse_clock_all_come(site: Site) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    async with site.machine() as machine, following(docker(machine)) as heard:
        await heard.until(lambda heard: bool(container.followers()))
        entry = {"log": "Decode batch\n", "stream": "stderr", "time": "2026-12-01T12:42:56.008000000Z"}
        container.append([json.dumps(entry)] * 3)
        await has_read(heard, 3)
        assert heard.data.count(b"Decode batch\n") == 3


async def test_container_that_is_not_there_yet_is_waited_for_and_said(site: Site) -> None:
    root = site.install("docker")
    # Only new lines are wanted: of a container that comes later, all are new.
    async with site.machine() as machine, following(docker(machine), backfill_bytes=0) as heard:
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        assert heard.of(Waiting)[0].reason == "docker:spec: no such container"
        Container(root, "spec", "c1").write(3)
        await has_read(heard, 3)
        assert_all_once(heard, 3)


async def test_missing_container_of_a_report_is_no_input(site: Site) -> None:
    site.install("docker")
    async with site.machine() as machine:
        with pytest.raises(UnreadableInput, match=r"docker:spec: no such container\. Check the name\."):
            await whole(docker(machine))


@pytest.mark.parametrize(("flag", "words"), [("denied", "group docker"), ("down", "systemctl start docker")])
async def test_docker_that_does_not_answer_is_a_refusal_with_the_next_step(either: Site, flag: str, words: str) -> None:
    (either.install("docker") / flag).touch()
    async with either.machine() as machine:
        heard = Heard()
        await heard.listen(ProgramSource(docker(machine), follow=True, pace=PACE).events())
    assert [type(event) for event in heard.events] == [Refused]
    assert words in heard.of(Refused)[0].reason


async def test_daemon_that_restarts_is_waited_for(site: Site) -> None:
    root = site.install("docker")
    container = Container(root, "spec", "c1")
    container.write(10)
    async with site.machine() as machine, following(docker(machine)) as heard:
        await has_read(heard, 10)
        await heard.until(lambda heard: bool(container.followers()))
        (root / "down").touch()
        container.kill_follower()
        await heard.until(lambda heard: bool(heard.of(Waiting)))
        container.write(10)
        (root / "down").unlink()
        await has_read(heard, 20)
        assert_all_once(heard, 20)


async def test_long_line_is_put_together_from_its_pieces(site: Site) -> None:
    container = Container(site.install("docker"), "spec", "c1")
    text = "x" * 40000
    cuts = [text[:16384], text[16384:32768], text[32768:] + "\n"]
    stamp = "2026-11-30T10:00:00.123456789Z"
    container.append([json.dumps({"log": piece, "stream": "stderr", "time": stamp}) for piece in cuts])
    async with site.machine() as machine:
        heard = await whole(docker(machine))
    assert heard.data == text.encode() + b"\n"


# -- compose -----------------------------------------------------------------------------------------------------------

LABELS = "com.docker.compose.service={},com.docker.compose.project={},com.docker.compose.oneoff=False"


async def test_service_means_its_running_container(site: Site) -> None:
    root = site.install("docker")
    Container(root, "llm-spec-1", "c0", labels=LABELS.format("spec", "llm"), status="exited").write(9)
    Container(root, "llm-spec-2", "c1", labels=LABELS.format("spec", "llm")).write(4)
    Container(root, "llm-base-1", "c2", labels=LABELS.format("base", "llm")).write(7)
    async with site.machine() as machine:
        assert_all_once(await whole(docker(machine, service="spec")), 4)
        assert_all_once(await whole(docker(machine, service="llm/base")), 7)


async def test_service_with_several_containers_is_refused_with_their_names(site: Site) -> None:
    root = site.install("docker")
    Container(root, "a-spec-1", "c1", labels=LABELS.format("spec", "a"))
    Container(root, "b-spec-1", "c2", labels=LABELS.format("spec", "b"))
    async with site.machine() as machine:
        heard = await whole(docker(machine, service="spec"))
    reason = heard.of(Refused)[0].reason
    assert "docker:a-spec-1" in reason
    assert "compose:a/spec" in reason


# -- Kubernetes --------------------------------------------------------------------------------------------------------


async def test_pod_is_followed_through_a_crash_of_its_container(either: Site) -> None:
    pod = Pod(either.install("kubectl"), "spec-0")
    pod.write(10)
    async with either.machine() as machine, following(kube(machine)) as heard:
        await has_read(heard, 10)
        pod.write(5)
        pod.crash()
        await heard.until(lambda heard: any("OOMKilled" in waiting.reason for waiting in heard.of(Waiting)))
        pod.start("containerd://spec-0-1")
        pod.write(5)
        await has_read(heard, 20)
        assert_all_once(heard, 20)
        assert len(heard.of(Rotated)) == 1


async def test_crash_that_nobody_saw_is_read_from_the_previous_container(far: Site) -> None:
    root = far.install("kubectl")
    pod = Pod(root, "spec-0")
    pod.write(10)
    async with far.machine() as machine, following(kube(machine)) as heard:
        await has_read(heard, 10)
        far.script("kubectl", "echo 'Unable to connect to the server: EOF' >&2; exit 1")
        far.drop_link()
        await heard.until(lambda heard: any("cluster does not answer" in one.reason for one in heard.of(Waiting)))
        pod.write(5)
        pod.crash()
        pod.start("containerd://spec-0-1")
        pod.write(5)
        far.install("kubectl")
        await has_read(heard, 20)
        assert_all_once(heard, 20)


async def test_pod_that_was_replaced_unseen_leaves_a_gap(far: Site) -> None:
    root = far.install("kubectl")
    pod = Pod(root, "spec-0")
    pod.write(10)
    async with far.machine() as machine, following(kube(machine)) as heard:
        await has_read(heard, 10)
        far.script("kubectl", "echo 'Unable to connect to the server: EOF' >&2; exit 1")
        far.drop_link()
        await heard.until(lambda heard: any("cluster does not answer" in one.reason for one in heard.of(Waiting)))
        pod.write(5)
        pod.start("containerd://another-pod")
        pod.write(5)
        far.install("kubectl")
        await has_read(heard, 15)
        assert len(heard.of(Gap)) == 1
        assert numbers(heard.data) == [*range(10), *range(15, 20)]


async def test_log_before_a_crash_can_be_asked_for(site: Site) -> None:
    pod = Pod(site.install("kubectl"), "spec-0")
    pod.write(10)
    pod.crash()
    pod.start("containerd://spec-0-1")
    pod.write(5)
    async with site.machine() as machine:
        assert numbers((await whole(kube(machine, previous=True))).data) == list(range(10))
        assert numbers((await whole(kube(machine))).data) == list(range(10, 15))


async def test_name_of_a_deployment_means_its_newest_pod(site: Site) -> None:
    root = site.install("kubectl")
    Pod(root, "spec-7d9f8b6c5-abcde").write(4)
    Pod(root, "spec-draft-0").write(9)
    async with site.machine() as machine:
        assert_all_once(await whole(kube(machine, "spec")), 4)


@pytest.mark.parametrize("container", [None, "nosuch"])
async def test_pod_with_several_containers_is_refused_with_their_names(site: Site, container: str | None) -> None:
    Pod(site.install("kubectl"), "spec-0", "server", "proxy")
    async with site.machine() as machine:
        heard = await whole(kube(machine, container=container))
    assert "kube:prod/spec-0/server, kube:prod/spec-0/proxy" in heard.of(Refused)[0].reason


async def test_login_that_runs_out_is_refused_at_first_and_waited_for_later(site: Site) -> None:
    root = site.install("kubectl")
    pod = Pod(root, "spec-0")
    pod.write(10)
    async with site.machine() as machine, following(kube(machine)) as heard:
        await has_read(heard, 10)
        (root / "expired").touch()
        pod.crash()
        await heard.until(lambda heard: any("Renew the login" in waiting.reason for waiting in heard.of(Waiting)))
        async with following(kube(machine)) as another:
            await another.until(lambda heard: bool(heard.of(Refused)))
        (root / "expired").unlink()
        pod.start("containerd://spec-0-1")
        pod.write(5)
        await has_read(heard, 15)
        assert_all_once(heard, 15)


async def test_forbidden_pod_is_a_refusal(site: Site) -> None:
    (site.install("kubectl") / "forbidden").touch()
    async with site.machine() as machine, following(kube(machine)) as heard:
        await heard.until(lambda heard: bool(heard.of(Refused)))
    assert "right to get pods and pods/log" in heard.of(Refused)[0].reason
