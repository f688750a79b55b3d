"""What surrounds a process: NCCL's configuration files, packages, versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.nccl_conf import ConfFile, parse_conf, settings_beneath
from specmon.sources.processes import RunningProcess
from specmon.sources.surroundings import Surroundings, parse_surroundings, prefixes, surroundings_answer


def test_settings_of_a_file_are_read_as_nccl_reads_them() -> None:
    content = b"# a comment\nNCCL_DEBUG=WARN\nNCCL_IB_HCA==mlx5\nno sign\n NCCL_X =1 \n#NCCL_Y=1\nNCCL_NTHREADS=512"
    assert list(parse_conf(content)) == [
        ("NCCL_DEBUG", "WARN"),
        ("NCCL_IB_HCA", "=mlx5"),
        (" NCCL_X ", "1 "),
        ("NCCL_NTHREADS", "512"),
    ]


def test_environment_counts_before_the_users_file_and_that_before_the_machines() -> None:
    files = (
        ConfFile("/home/u/.nccl.conf", b"NCCL_ALGO=Ring\nNCCL_PROTO=LL\n"),
        ConfFile("/etc/nccl.conf", b"NCCL_ALGO=Tree\nNCCL_BUFFSIZE=1\n"),
        ConfFile("/secret.conf", None),
    )
    assert settings_beneath({"NCCL_PROTO": "Simple"}, files) == {
        "NCCL_ALGO": ("Ring", "/home/u/.nccl.conf"),
        "NCCL_BUFFSIZE": ("1", "/etc/nccl.conf"),
    }


@pytest.mark.parametrize(
    ("program", "env", "expected"),
    [
        ("/opt/venv/bin/python3", {"PATH": "/usr/bin"}, ("/opt/venv",)),
        ("/opt/venv/bin/python3", {"VIRTUAL_ENV": "/other"}, ("/opt/venv", "/other")),
        ("python3", {"PATH": "/opt/venv/bin:/usr/local/sbin:/usr/bin:relative/bin"}, ("/opt/venv", "/usr")),
        ("./bin/python3", {"CONDA_PREFIX": "/conda", "PATH": "/usr/bin"}, ("/conda",)),
    ],
)
def test_python_is_looked_for_where_it_was_called(program: str, env: dict[str, str], expected: tuple[str, ...]) -> None:
    assert prefixes(RunningProcess(1, 0, (program, "-m", "x"), None, tuple(env.items()))) == expected


def test_first_folder_that_has_a_package_counts() -> None:
    names = ["torch-2.9.1+cu130.dist-info", "torch-2.0.dist-info", "nvidia_nccl_cu12-2.27.3.dist-info", "odd"]
    answer = b"name 76\n" + b"".join(b"package " + name.encode().hex().encode() + b"\n" for name in names)
    assert parse_surroundings(answer).packages == {"torch": "2.9.1+cu130", "nccl": "2.27.3"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)", "580.159.04"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024", "550.54.15"),
        ("something else", None),
    ],
)
def test_driver_of_the_kernel_module(text: str, version: str | None) -> None:
    assert parse_surroundings(b"driver " + text.encode().hex(" ").encode()).driver == version


@given(
    st.builds(
        Surroundings,
        st.none() | st.text(st.characters(codec="utf-8", categories=["L"]), min_size=1, max_size=8),
        st.none() | st.just("580.159.04"),
        st.dictionaries(st.sampled_from(["torch", "sglang", "nccl"]), st.sampled_from(["1.0", "2.9.1+cu130"])),
        st.none() | st.just("2.28.3"),
        st.lists(
            st.builds(ConfFile, st.text(min_size=1, max_size=9), st.none() | st.binary(max_size=30)), max_size=3
        ).map(tuple),
        st.sampled_from(["same", "other", "unknown"]),
        st.booleans(),
        st.booleans(),
    )
)
def test_surroundings_come_through_the_wire(found: Surroundings) -> None:
    assert parse_surroundings(surroundings_answer(found)) == found


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reading(answer: bytes) -> None:
    for word in (b"", b"conf ", b"conf 2f : ", b"package ", b"net ", b"driver ", b"nccl "):
        parse_surroundings(word + answer)
