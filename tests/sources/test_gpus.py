"""What nvidia-smi says, in the form of a genuine answer (driver 580.159.04, one H200), and what it may say instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.sources.gpus import Gpus, gpus_answer, parse_gpus
from specmon.sources.remote_commands import GPU_FIELDS, OLD_GPU_FIELDS

H200 = (
    "0, GPU-835a8c48-267b-4106-47c2-2390c2ca3c93, NVIDIA H200, 580.159.04, 143771, 700.00, 1980, 3201, 1980, 3201, "
    "Enabled, Disabled, 5, 16"
)


def answer(text: str, status: int = 0, fields: str = GPU_FIELDS) -> bytes:
    return f"status {status}\nfields {fields}\nanswer {text.encode().hex(' ')}\n".encode()


def table(*rows: str, visible: str | None = None, fields: str = GPU_FIELDS) -> dict[str, object]:
    found = parse_gpus(answer("\n".join(rows), fields=fields)).table(visible)
    assert found is not None
    return dict(found)


def row(index: int, name: str = "NVIDIA A", power: str = "600.00") -> str:
    return f"{index}, GPU-{index}{index}, {name}, 550.54.15, 97887, {power}, 2600, 14001"


def test_genuine_answer_is_read() -> None:
    gpus = parse_gpus(answer(H200))
    assert (gpus.driver, gpus.reason) == ("580.159.04", "")
    assert gpus.table(None) == {
        "count": 1,
        "names": "NVIDIA H200",
        "memory_mib": 143771,
        "power_limit_w": 700.0,
        "sm_clock_max_mhz": 1980,
        "memory_clock_max_mhz": 3201,
        "sm_clock_set_mhz": 1980,
        "memory_clock_set_mhz": 3201,
        "ecc": "Enabled",
        "mig": "Disabled",
        "pcie_gen_max": 5,
        "pcie_lanes": 16,
        "uuids": ["GPU-835a8c48-267b-4106-47c2-2390c2ca3c93"],
    }


@pytest.mark.parametrize("absent", ["[N/A]", "[Not Supported]", "N/A", "[Unknown Error]", "[GPU requires reset]", ""])
def test_fields_that_a_gpu_does_not_have_are_left_out(absent: str) -> None:
    found = table(row(0, power=absent), fields=OLD_GPU_FIELDS)
    assert "power_limit_w" not in found
    assert found["sm_clock_max_mhz"] == 2600


def test_what_all_gpus_share_is_told_once() -> None:
    found = table(row(0), row(1, power="450.00"), fields=OLD_GPU_FIELDS)
    assert (found["count"], found["names"], found["power_limit_w"]) == (2, "NVIDIA A", [600.0, 450.0])


@pytest.mark.parametrize(
    ("visible", "count"),
    [(None, 3), ("0,2", 2), ("1", 1), ("GPU-22", 1), ("", 3), ("NoDevFiles", 3), ("0,9,1", 1), ("MIG-x", 3)],
)
def test_only_the_gpus_that_the_process_sees_count(visible: str | None, count: int) -> None:
    rows = [row(index) for index in range(3)]
    assert table(*rows, visible=visible, fields=OLD_GPU_FIELDS)["count"] == count


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [(None, ["GPU-00", "GPU-11", "GPU-22"]), ("2,0", ["GPU-22", "GPU-00"]), ("1,9,0", ["GPU-11"])]
    + [(word, None) for word in ("", "MIG-x", "NoDevFiles")],
)
def test_devices_are_named_in_the_order_of_the_process_or_not_at_all(
    visible: str | None, uuids: list[str] | None
) -> None:
    rows = [row(index) for index in range(3)]
    assert table(*rows, visible=visible, fields=OLD_GPU_FIELDS).get("uuids") == uuids


def test_slices_of_a_device_are_not_told_apart() -> None:
    assert "uuids" not in table(H200.replace("Enabled, Disabled", "Enabled, Enabled"))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"none\n", "there is no nvidia-smi"),
        (answer("No devices were found", 6), "nvidia-smi says: No devices were found"),
        (
            answer('Field "clocks.bogus" is not a valid field to query.\n', 2),
            'nvidia-smi says: Field "clocks.bogus" is not a valid field to query.',
        ),
        (answer("", 124), "nvidia-smi gave no answer in 8 s"),
        (answer("", 9), "nvidia-smi says: status 9"),
        (b"", "the answer about GPUs cannot be read"),
        (b"Welcome!\n", "the answer about GPUs cannot be read"),
        (answer("a, b"), "nvidia-smi says: a, b"),
    ],
)
def test_no_gpus_have_a_reason(said: bytes, reason: str) -> None:
    gpus = parse_gpus(said)
    assert (gpus.reason, gpus.table(None), gpus.driver) == (reason, None, None)


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reading(said: bytes) -> None:
    for head in (b"", b"status 0\nfields name\nanswer "):
        parse_gpus(head + said).table("0")


def test_answer_comes_through_the_wire() -> None:
    gpus = parse_gpus(answer(H200))
    assert parse_gpus(gpus_answer(gpus)) == gpus
    assert parse_gpus(gpus_answer(Gpus())).reason == "there is no nvidia-smi"
