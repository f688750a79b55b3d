"""What differs between two fingerprints, and in which order it is told."""

from __future__ import annotations

from specmon.references.diff import compare
from specmon.references.fingerprint import Fingerprint


def names(before: Fingerprint, now: Fingerprint, *, is_speculation_expected: bool = False) -> list[tuple[str, str]]:
    found = compare(before, now, is_speculation_expected=is_speculation_expected)
    return [(difference.name, difference.weight) for difference in found]


def test_lost_variables_come_first_in_the_order_of_the_reference() -> None:
    before = Fingerprint(
        env={"SGLANG_X": "1", "NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, flags={"port": 1, "tp_size": 8}
    )
    now = Fingerprint(env={}, flags={"port": 2, "tp_size": 4})
    assert names(before, now) == [
        ("NCCL_PROTO", "matters"),
        ("NCCL_ALGO", "matters"),
        ("tp_size", "matters"),
        ("SGLANG_X", "unknown"),
        ("port", "noise"),
    ]


def test_value_that_is_not_set_on_one_side_is_none() -> None:
    (lost,) = compare(Fingerprint(env={"NCCL_PROTO": "LL"}), Fingerprint(env={}))
    assert (lost.before, lost.now) == ("LL", None)


def test_flag_that_is_none_is_not_set() -> None:
    (gained,) = compare(Fingerprint(flags={"quantization": None}), Fingerprint(flags={"quantization": "fp8"}))
    assert (gained.before, gained.now, gained.weight) == (None, "fp8", "matters")


def test_environment_that_was_never_read_proves_nothing() -> None:
    assert compare(Fingerprint(env={"NCCL_PROTO": "LL"}), Fingerprint(env=None)) == ()


def test_flag_that_one_side_does_not_name_is_no_difference() -> None:
    assert compare(Fingerprint(flags={"tp_size": 8}), Fingerprint(flags={"port": 30000})) == ()


def test_speculation_is_expected_between_the_two_servers_only() -> None:
    before = Fingerprint(flags={"speculative_algorithm": None})
    now = Fingerprint(flags={"speculative_algorithm": "EAGLE3"})
    assert names(before, now, is_speculation_expected=True) == [("speculative_algorithm", "expected")]
    assert names(before, now) == [("speculative_algorithm", "matters")]


def test_equal_fingerprints_differ_in_nothing() -> None:
    one = Fingerprint(env={"NCCL_PROTO": "LL"}, flags={"tp_size": 8}, gpu={"count": 8}, versions={"nccl": "2.27.3"})
    assert compare(one, one) == ()
