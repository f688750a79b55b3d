"""Finding servers: from listings, from this machine's own /proc, and over SSH."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from pwd import getpwuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.discovery import DiscoveredServer, Discovery, discover, discover_local, find_servers
from specmon.sources.launch_flags import hide_secrets, parse_flags
from specmon.sources.log_place import Keeper, LogPlace, keeper_of, log_place
from specmon.sources.processes import OutputTarget, ProcessListing, RunningProcess, parse_processes, processes_answer
from specmon.sources.ssh import SshHost
from tests.conftest import Sshd, only_servers

LAUNCH = ("python3", "-m", "sglang.launch_server")
LOG = OutputTarget("/var/log/sglang.log", True)
PIPE = OutputTarget("pipe:[123]")


def process(
    pid: int,
    args: tuple[str, ...],
    parent: int = 1,
    environ: tuple[tuple[str, str], ...] | None = (),
    outputs: Mapping[int, OutputTarget] | None = None,
) -> RunningProcess:
    return RunningProcess(
        pid, parent, args, 1000.0 + pid, environ, outputs if outputs is not None else {1: LOG, 2: LOG}
    )


def only(*processes: RunningProcess) -> DiscoveredServer:
    servers = find_servers(ProcessListing(processes)).servers
    assert len(servers) == 1
    return servers[0]


@pytest.mark.parametrize(
    "args",
    [
        (*LAUNCH, "--tp", "8"),
        ("/opt/venv/bin/python3.12", "-u", "-m", "sglang.launch_server", "--tp", "8"),
        ("python", "/src/sglang/python/sglang/launch_server.py", "--tp", "8"),
        ("sglang", "serve", "--tp", "8"),
        ("/opt/venv/bin/python3", "/opt/venv/bin/sglang", "serve", "--tp", "8"),
    ],
)
def test_server_is_told_by_its_command_line(args: tuple[str, ...]) -> None:
    server = only(process(10, args))
    assert (server.pid, server.flags, server.engine, server.started_at) == (10, {"tp_size": 8}, "sglang", 1010.0)


@pytest.mark.parametrize(
    ("args", "engine", "role", "port", "flags"),
    [
        (
            ("/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "/m", "-tp", "8", "--enforce-eager"),
            "vllm",
            "baseline",
            8000,
            {"model": "/m", "tensor_parallel_size": 8, "enforce_eager": True},
        ),
        (
            ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m", "--port=9"),
            "vllm",
            "baseline",
            9,
            {"model": "/m", "port": 9},
        ),
        (
            ("vllm", "serve", "/m", "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}'),
            "vllm",
            "speculative",
            8000,
            {"model": "/m", "speculative_config": {"method": "ngram", "num_speculative_tokens": 4}},
        ),
        (
            ("./build/bin/llama-server", "-m", "/t.gguf", "-c", "4096", "-np", "4", "-ngl", "99", "--metrics"),
            "llama.cpp",
            "baseline",
            8080,
            {"model": "/t.gguf", "ctx_size": 4096, "parallel": 4, "n_gpu_layers": 99, "metrics": True},
        ),
        (
            ("llama-server", "-m", "/t.gguf", "-md", "/d.gguf", "--spec-draft-n-max", "4", "--port", "81"),
            "llama.cpp",
            "speculative",
            81,
            {"model": "/t.gguf", "model_draft": "/d.gguf", "n_max": 4, "port": 81},
        ),
        (
            ("python3", "/usr/local/bin/trtllm-serve", "serve", "/m", "--extra_llm_api_options", "x.yaml"),
            "tensorrt-llm",
            "unknown",
            8000,
            {"model": "/m", "extra_llm_api_options": "x.yaml"},
        ),
    ],
)
def test_servers_of_every_engine_are_found(
    args: tuple[str, ...], engine: str, role: str, port: int, flags: dict[str, object]
) -> None:
    server = only(process(10, args))
    assert (server.engine, server.role, server.port, server.flags) == (engine, role, port, flags)


def test_options_of_llama_cpp_may_stand_in_its_environment() -> None:
    server = only(process(10, ("llama-server",), environ=(("LLAMA_ARG_PORT", "81"), ("LLAMA_ARG_API_KEY", "sesame"))))
    assert (server.port, server.env) == (81, {"LLAMA_ARG_PORT": "81"})


def test_renamed_workers_of_vllm_give_their_environment() -> None:
    server = only(
        process(10, ("vllm", "serve", "/m")),
        process(11, ("VLLM::EngineCore",), 10, (("A", ""), ("VLLM_USE_V1", "1"))),
        process(12, ("VLLM::Worker_TP0",), 11, (("A", ""), ("NCCL_ALGO", "Ring"))),
        process(13, ("VLLM::APIServer_1",), 10, (("A", ""), ("VLLM_OTHER", "1"))),
    )
    assert (server.scheduler_pids, server.env) == ((11, 12), {"NCCL_ALGO": "Ring", "VLLM_USE_V1": "1"})


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("vllm", "bench", "serve"),
        ("bash", "-c", "llama-server -m x"),
        ("tail", "-f", "llama-server.log"),
        ("llama-cli", "-m", "x"),
        ("bash", "-c", "python3 -m sglang.launch_server --tp 8"),
        ("timeout", "10", *LAUNCH),
        ("sudo", *LAUNCH),
        ("vim", "sglang/launch_server.py"),
        ("tail", "-f", "/var/log/sglang.log"),
        ("sglang::scheduler_TP0",),
        ("sglang::detokenizer",),
        ("python3", "-m", "sglang.bench_serving"),
        ("python3", "-c", "sglang.launch_server"),
    ],
)
def test_other_processes_are_no_servers(args: tuple[str, ...]) -> None:
    assert find_servers(ProcessListing((process(10, args),))) == Discovery(())


def test_wrapper_and_forked_workers_make_no_second_server() -> None:
    server = only(
        process(10, ("timeout", "10", *LAUNCH)),
        process(11, LAUNCH, parent=10),
        process(12, LAUNCH, parent=11),
        process(13, ("sglang::scheduler_TP0",), parent=11),
        process(14, ("sglang::scheduler_TP1",), parent=12),
        process(15, ("sglang::scheduler_TP0",), parent=99),
    )
    assert (server.pid, server.scheduler_pids) == (11, (13, 14))


def test_processes_in_a_circle_do_not_hold_it_up() -> None:
    assert find_servers(ProcessListing((process(10, LAUNCH, parent=11), process(11, LAUNCH, parent=10)))).servers == ()


@pytest.mark.parametrize(
    ("words", "role", "port"),
    [
        ((), "baseline", 30000),
        (("--port", "30001"), "baseline", 30001),
        (("--speculative-algorithm", "EAGLE3"), "speculative", 30000),
        (("--speculative-algorithm=EAGLE3", "--port=1"), "speculative", 1),
        (("--config", "x.yaml"), "unknown", 30000),
        (("--port",), "baseline", 30000),
    ],
)
def test_role_and_port_come_from_the_flags(words: tuple[str, ...], role: str, port: int) -> None:
    server = only(process(10, LAUNCH + words))
    assert (server.role, server.port) == (role, port)


@pytest.mark.parametrize(
    ("outputs", "path", "words"),
    [
        ({1: LOG, 2: LOG}, LOG.target, ""),
        ({1: PIPE, 2: LOG}, LOG.target, ""),
        ({1: LOG, 2: PIPE}, LOG.target, "only stdout is in a file; stderr goes to a pipe"),
        ({1: PIPE, 2: PIPE}, None, "stderr goes to a pipe"),
        ({1: OutputTarget("/dev/null"), 2: OutputTarget("/dev/null")}, None, "where nothing is kept"),
        ({1: OutputTarget("socket:[1]"), 2: OutputTarget("socket:[1]")}, None, "journald"),
        ({1: OutputTarget("/dev/pts/3"), 2: OutputTarget("/dev/pts/3")}, None, "a terminal (/dev/pts/3)"),
        ({1: OutputTarget("/x (deleted)", True), 2: OutputTarget("/x (deleted)", True)}, None, "a deleted file, /x"),
        ({1: OutputTarget(None), 2: OutputTarget(None)}, None, "cannot be seen"),
        ({}, None, "cannot be seen"),
    ],
)
def test_log_is_where_the_output_goes(outputs: dict[int, OutputTarget], path: str | None, words: str) -> None:
    found = log_place(outputs)
    assert found.path == path
    assert words in found.reason
    assert bool(found.reason) == bool(words)


def test_log_behind_a_tee_is_the_file_that_it_writes() -> None:
    teed = {"pipe:[123]": "/var/log/teed.log"}
    assert log_place({1: PIPE, 2: PIPE}, teed) == LogPlace("tee", "/var/log/teed.log")
    assert log_place({1: PIPE, 2: OutputTarget("/dev/null")}, teed) == LogPlace(
        "tee",
        "/var/log/teed.log",
        "only stdout is in a file; stderr goes to /dev/null, where nothing is kept",
    )
    assert log_place({1: PIPE, 2: PIPE}, {"pipe:[9]": "/x"}).path is None


ID = "3f2a" * 16


@pytest.mark.parametrize(
    ("cgroup", "keeper"),
    [
        ("", None),
        ("0::/\n", None),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
        ("0::/system.slice/ssh.service\n", None),
        ("0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", None),
        (f"0::/system.slice/docker-{ID}.scope\n", Keeper("container", "3f2a3f2a3f2a")),
        (f"12:cpu:/docker/{ID}\n0::/docker/{ID}\n", Keeper("container", "3f2a3f2a3f2a")),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", Keeper("container", "3f2a3f2a3f2a", client="podman")),
        (
            f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n",
            Keeper("pod", "3f2a3f2a3f2a"),
        ),
        (f"4:memory:/kubepods/burstable/pod1-2/{ID}\n", Keeper("pod", "3f2a3f2a3f2a")),
        ("0::/system.slice/slurmstepd.scope/job_8842/step_0/user/task_0\n", Keeper("job", "8842")),
        ("4:cpuset:/slurm/uid_1000/job_77/step_batch\n", Keeper("job", "77")),
        ("0::/system.slice/sglang-base.service\n", Keeper("unit", "sglang-base.service")),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/eagle@2.service\n",
            Keeper("unit", "eagle@2.service", is_users=True),
        ),
    ],
)
def test_container_unit_and_job_are_told_by_the_control_group(cgroup: str, keeper: Keeper | None) -> None:
    assert keeper_of(cgroup) == keeper


@pytest.mark.parametrize(
    ("outputs", "cgroup", "kind", "words"),
    [
        (PIPE, f"0::/docker/{ID}\n", "container", "docker logs -f 3f2a3f2a3f2a"),
        (OutputTarget(None), f"0::/docker/{ID}\n", "container", "docker logs -f 3f2a3f2a3f2a"),
        (OutputTarget("socket:[4]"), "0::/system.slice/sg.service\n", "unit", "journalctl -f -u sg.service"),
        (OutputTarget(None), "0::/x/job_8/step_0\n", "job", "scontrol show job 8"),
        (OutputTarget("/dev/null"), f"0::/docker/{ID}\n", "null", ""),
        (OutputTarget("/x.log", True, True), f"0::/docker/{ID}\n", "inside", ""),
        (OutputTarget(None), "", "hidden", ""),
    ],
)
def test_log_that_a_program_keeps_is_told_with_the_command_that_shows_it(
    outputs: OutputTarget, cgroup: str, kind: str, words: str
) -> None:
    place = log_place({1: outputs, 2: outputs}, keeper=keeper_of(cgroup))
    assert (place.kind, place.path, place.by_hand) == (kind, None, words)


def test_container_that_we_are_in_ourselves_keeps_nothing_from_us() -> None:
    inside = f"0::/docker/{ID}\n"
    listing = ProcessListing((replace(process(10, LAUNCH, outputs={}), cgroup=inside),), own_cgroup=inside)
    (server,) = find_servers(listing).servers
    assert (server.keeper, server.log.kind) == (None, "hidden")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_server_that_logs_through_a_tee_is_found_with_its_file(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "launch_server.py").write_text("import time\ntime.sleep(60)\n")
    log = tmp_path / "the log"
    with only_servers(), subprocess.Popen(["tee", str(log)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as tee:
        server = subprocess.Popen(
            [sys.executable, str(package / "launch_server.py")], stdout=tee.stdin, stderr=subprocess.STDOUT
        )
        try:
            for _ in range(200):  # until tee has opened its file
                if log.exists():
                    break
                time.sleep(0.01)
            (found,) = [each for each in discover_local().servers if each.pid == server.pid]
            assert (found.log_path, found.log_reason) == (str(log), "")
        finally:
            server.kill()
            server.wait()


def test_environment_is_the_union_without_secrets() -> None:
    server = only(
        process(10, LAUNCH, environ=(("NCCL_PROTO", "LL"), ("CUDA_HOME", "/old"), ("HOME", "/root"), ("PATH", "/bin"))),
        process(
            11,
            ("sglang::scheduler_TP0",),
            parent=10,
            environ=(
                ("NCCL_X", "the rest of a longer name"),
                ("NCCL_CUMEM_ENABLE", "0"),
                ("CUDA_HOME", "/new"),
                ("SGLANG_API_KEY", "x"),
                ("SGLANG_NOTE", "hf_abcdefghijklmnop"),
            ),
        ),
    )
    assert server.env == {"NCCL_PROTO": "LL", "NCCL_CUMEM_ENABLE": "0", "CUDA_HOME": "/new"}
    assert server.env_reason == ""


def test_unreadable_environment_is_a_reason() -> None:
    server = only(
        process(10, LAUNCH, environ=None), process(11, ("sglang::scheduler",), 10, (("A", ""), ("NCCL_A", "1")))
    )
    assert server.env == {"NCCL_A": "1"}
    assert server.env_reason == "no permission to read the environment of process 10 (another user's)"


def test_host_that_hides_the_processes_of_others_says_so() -> None:
    assert "(hidepid)" in find_servers(parse_processes(b"clock 5 100\nveiled\n")).reason
    assert not find_servers(parse_processes(b"clock 5 100\n")).reason


def test_host_without_proc_says_so() -> None:
    discovery = find_servers(parse_processes(b"clock 5 100\nnoproc\n"))
    assert discovery.servers == ()
    assert "no /proc" in discovery.reason


def test_flags_are_typed_and_secrets_left_out() -> None:
    words = [
        *(
            "--model-path",
            "/m",
            "--tp",
            "8",
            "--mem-fraction-static",
            "0.85",
            "--enable-metrics",
            "--api-key",
            "sesame",
        ),
        *("--cuda-graph-bs", "1", "2", "4", "--speculative-num-draft-tokens=4", "--host", "0.0.0.0", "--seed", "-1"),
        *("--json-model-override-args", '{"api_key": "sesame"}', "--admin-api-key=sesame", "--revision", "1e5"),
    ]
    assert parse_flags(words) == {
        "model_path": "/m",
        "tp_size": 8,
        "mem_fraction_static": 0.85,
        "enable_metrics": True,
        "cuda_graph_bs": [1, 2, 4],
        "speculative_num_draft_tokens": 4,
        "host": "0.0.0.0",
        "seed": -1,
        "revision": 100000.0,
    }
    shown = hide_secrets(words)
    assert "sesame" not in " ".join(shown)
    assert len(shown) == len(words)
    assert "--api-key" in shown


@given(st.binary(max_size=400))
def test_no_answer_breaks_the_reading(answer: bytes) -> None:
    parse_processes(answer)


WORD = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20)
NAME = st.text("ABCDEFG_", min_size=1, max_size=8)


@given(
    st.lists(
        st.builds(
            RunningProcess,
            st.integers(1, 10**6),
            st.integers(0, 10**6),
            st.lists(WORD, min_size=1, max_size=4).map(tuple),
            st.integers(0, 10**6).map(float),
            st.none() | st.lists(st.tuples(NAME, WORD), max_size=3).map(tuple),
            st.just({1: OutputTarget("/a b\n", True), 2: OutputTarget(None)})
            | st.just({1: OutputTarget("/c", True, True)}),
            st.none() | st.just("eve"),
            st.text(max_size=20),
        ),
        max_size=4,
    )
)
def test_listing_comes_through_the_wire(processes: list[RunningProcess]) -> None:
    listing = ProcessListing(tuple(processes), host_time=7.0, teed={"pipe:[1]": "/a b\n"}, own_cgroup="0::/x\n")
    assert parse_processes(processes_answer(listing)) == listing


@contextmanager
def playing_server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that looks like a server; its log is a file with a space in its name."""
    package = folder / "sglang"
    package.mkdir()
    (package / "launch_server.py").write_text("import time\ntime.sleep(60)\n")
    environment = {**os.environ, "NCCL_PROTO": "LL\nx", "SGLANG_TOKEN": "hidden"}
    with only_servers(), (folder / "the log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, str(package / "launch_server.py"), "--tp", "2", "--port", "31234", "--note", "it's\na b"],
            stdout=log,
            stderr=log,
            env=environment,
        )
        try:
            yield server
        finally:
            server.kill()
            server.wait()


def check_found(discovery: Discovery, server: subprocess.Popen[bytes], folder: Path) -> None:
    (found,) = [each for each in discovery.servers if each.pid == server.pid]
    assert found.flags == {"tp_size": 2, "port": 31234, "note": "it's\na b"}
    assert found.log_path == str(folder / "the log")
    assert found.env["NCCL_PROTO"] == "LL\nx"
    assert "SGLANG_TOKEN" not in found.env
    assert found.started_at is not None
    assert abs(found.started_at - time.time()) < 60
    assert found.user == getpwuid(os.getuid()).pw_name
    assert found.log.kind == "file"


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")


@needs_proc
def test_server_of_this_machine_is_found(tmp_path: Path) -> None:
    with playing_server(tmp_path) as server:
        check_found(discover_local(), server, tmp_path)


@needs_proc
@pytest.mark.sshd
async def test_server_of_a_host_is_found(sshd: Sshd, tmp_path: Path) -> None:
    with playing_server(tmp_path) as server:
        async with SshHost("127.0.0.1", sshd.settings) as host:
            check_found(await discover(host), server, tmp_path)
