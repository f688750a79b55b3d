"""Which server is behind a program's log: in the same container, unit or job, or at the same terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specmon.feeds.trails import FileTrail, only_server
from specmon.sources.discovery import DiscoveredServer, Discovery
from specmon.sources.docker import DockerLog
from specmon.sources.kubernetes import KubernetesLog
from specmon.sources.log_place import Keeper, keeper_of_log, kept_by
from specmon.sources.machine import ThisMachine
from specmon.sources.whereabouts import Whereabouts, of_container, of_job, of_pod, of_unit

from .programs import Container, Pod, Site, site_at

ID = "3f2a" * 16
SHORT = ID[:12]
POD = Keeper("pod", SHORT)
CONTAINER = Keeper("container", SHORT)
UNIT = Keeper("unit", "sg.service")


def server(
    pid: int = 1,
    keeper: Keeper | None = None,
    *,
    port: int = 30000,
    log: str | None = None,
    terminal: str | None = None,
    started_at: float = 0.0,
) -> DiscoveredServer:
    return DiscoveredServer(
        pid, "sglang", (), {}, "baseline", port, None, started_at, log, "", keeper=keeper, terminal=terminal
    )


@pytest.mark.parametrize(
    ("where", "found", "is_it"),
    [
        (Whereabouts("x", CONTAINER), server(keeper=CONTAINER), True),
        (Whereabouts("x", CONTAINER), server(keeper=Keeper("container", "0" * 12)), False),
        (Whereabouts("x", CONTAINER), server(keeper=POD), True),  # docker may run a cluster's containers
        (Whereabouts("x", CONTAINER), server(keeper=Keeper("job", SHORT)), False),
        (Whereabouts("x", CONTAINER), server(), False),
        (of_unit("sg"), server(keeper=UNIT), True),
        (of_unit("sg.service"), server(keeper=UNIT), True),
        (of_unit("s*"), server(keeper=UNIT), True),
        (of_unit("sg2"), server(keeper=UNIT), False),
        (Whereabouts("x", paths=("/a",)), server(log="/a"), True),
        (Whereabouts("x", paths=("/a",)), server(log="/b"), False),
        (Whereabouts("x", paths=("/a",)), server(), False),
        (Whereabouts("x", terminal="/dev/pts/3"), server(terminal="/dev/pts/3"), True),
        (Whereabouts("x", terminal="/dev/pts/3"), server(terminal="/dev/pts/4"), False),
        (Whereabouts("x", terminal="/dev/pts/3"), server(), False),
        # A container has terminals of its own, with the same names.
        (Whereabouts("x", terminal="/dev/pts/3"), server(keeper=CONTAINER, terminal="/dev/pts/3"), False),
        (Whereabouts("x", terminal="/dev/pts/3"), server(keeper=UNIT, terminal="/dev/pts/3"), True),
    ],
)
def test_server_is_found_where_its_output_is_kept(where: Whereabouts, found: DiscoveredServer, is_it: bool) -> None:
    assert where.servers_among([found]) == ([found] if is_it else [])


def test_newest_of_a_place_counts_and_two_servers_of_one_place_are_no_guess() -> None:
    where = Whereabouts("container x", CONTAINER)
    old, new = server(2, CONTAINER, started_at=1.0), server(1, CONTAINER, started_at=2.0)
    assert only_server(where, ThisMachine(), Discovery((new, old))) == new
    other = server(3, CONTAINER, port=30001, started_at=3.0)
    told = only_server(where, ThisMachine(), Discovery((new, other)))
    assert told == (
        "not read: launch flags, environment, versions and GPUs: 2 servers write to container x "
        "(ports 30000, 30001). Give each a log of its own."
    )


@pytest.mark.parametrize(
    ("where", "found", "words"),
    [
        (Whereabouts("unit x"), Discovery(()), "no server process that can be seen on this machine"),
        (Whereabouts("unit x"), Discovery((), "The host has no /proc."), "unit x: The host has no /proc."),
        (
            Whereabouts("slurm job 7", node="gpu03", named_there="slurm:7"),
            Discovery(()),
            "It runs on gpu03: name gpu03:slurm:7",
        ),
    ],
)
def test_place_without_a_server_has_a_next_step(where: Whereabouts, found: Discovery, words: str) -> None:
    told = only_server(where, ThisMachine(), found)
    assert isinstance(told, str)
    assert words in told


@pytest.mark.parametrize(
    "path",
    [
        f"/var/lib/docker/containers/{ID}/{ID}-json.log",
        f"/var/log/containers/spec-0_prod_server-{ID}.log",
        f"/var/log/containers/*-{SHORT}*.log",
    ],
)
async def test_file_that_a_runtime_writes_leads_to_its_container(path: str) -> None:
    assert keeper_of_log(path) == CONTAINER
    found = server(keeper=POD)
    assert await FileTrail(path).find(ThisMachine(), Discovery((found,))) == found


@pytest.mark.parametrize("path", ["/srv/run-3f2a3f2a3f2a.log", "/var/log/containers/x.log", f"/containers/{ID}.txt"])
def test_other_files_are_no_containers(path: str) -> None:
    assert keeper_of_log(path) is None


def test_log_of_a_pod_is_the_kubelet_s_link() -> None:
    assert str(kept_by(POD)) == f"/var/log/containers/*-{SHORT}*.log"
    assert kept_by(Keeper("container", SHORT, client="podman")) is None


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_at(tmp_path / "site", is_far=False) as site:
        yield site


async def test_container_and_service_are_known_by_their_id(site: Site) -> None:
    labels = "com.docker.compose.service=spec,com.docker.compose.oneoff=False"
    Container(site.install("docker"), "a-name", ID, labels=labels)
    async with site.machine() as machine:
        by_name = await of_container(DockerLog("docker:a-name", machine, container="a-name"))
        by_service = await of_container(DockerLog("compose:spec", machine, service="spec"))
    assert by_name.keeper == by_service.keeper == CONTAINER


async def test_pod_is_known_by_its_container_and_its_node(site: Site) -> None:
    Pod(site.install("kubectl"), "spec-0", node="gpu07").start(f"containerd://{ID}")
    async with site.machine() as machine:
        where = await of_pod(KubernetesLog("kube:prod/spec-0", machine, "prod", "spec-0"))
    assert where.keeper == POD
    assert only_server(where, ThisMachine(), Discovery(())) == (
        "not read: launch flags, environment, versions and GPUs: container server of pod spec-0 has no server process "
        f"on this machine. It runs on gpu07: name gpu07:'/var/log/containers/*-{SHORT}*.log' to read them there."
    )


async def test_job_is_known_by_its_number_its_files_and_its_node(site: Site) -> None:
    told = "JobId=4712 ArrayJobId=4711 ArrayTaskId=1 JobName=x NodeList=gpu[03-05] WorkDir=/w StdErr=/w/%A_%a.err"
    site.script("scontrol", f"echo '{told} StdOut=/w/%A_%a.out'")
    async with site.machine() as machine:
        where = await of_job(machine, "slurm:4711_1", "4711_1")
    assert (where.keeper, where.node) == (Keeper("job", "4712"), "gpu03")
    assert where.paths == ("/w/4711_1.err", "/w/4711_1.out")
