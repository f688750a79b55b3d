"""What differs between two fingerprints, and in which order it is told."""

from __future__ import annotations

import pytest

from specmon.references.diff import compare, compare_references
from specmon.references.difference import Difference
from specmon.references.fingerprint import Fingerprint
from tests.references.forms import level, reference, session


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


PARTIAL = Fingerprint(env={"NCCL_PROTO": "LL"}, env_is_partial=True)


def test_environment_that_is_known_in_part_proves_no_absence() -> None:
    whole = Fingerprint(env={"CUDA_MODULE_LOADING": "AUTO", "NCCL_PROTO": "LL"})
    assert compare(PARTIAL, whole) == ()
    assert compare(whole, PARTIAL) == ()


def test_variable_that_is_known_to_have_been_set_is_missed_in_a_whole_environment() -> None:
    assert names(PARTIAL, Fingerprint(env={})) == [("NCCL_PROTO", "matters")]
    assert names(PARTIAL, Fingerprint(env={"NCCL_PROTO": "Simple"})) == [("NCCL_PROTO", "matters")]


def test_none_within_a_flag_is_as_good_as_no_entry() -> None:
    live = Fingerprint(flags={"config": {"backend": "full", "limit": None}, "names": ["a", None]})
    read = Fingerprint(flags={"config": {"backend": "full"}, "names": ["a", "None"]})
    assert compare(read, live) == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"engine": "vllm"}, [("engine", "matters")]),
        ({"engine_version": "0.5.10"}, [("engine_version", "matters")]),
        ({"model": "/models/other"}, [("model", "matters")]),
        ({"model": "/elsewhere/m"}, [("model", "noise")]),
        ({"host": "gpu02"}, [("host", "unknown")]),
        ({"host": None, "model": None, "engine": None}, []),  # what is not known differs in nothing
        ({"note": "x", "tolerance": 0.1}, []),
    ],
)
def test_references_differ_in_their_engine_model_and_host_too(
    change: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    one = reference(session(level(88.8)))
    found = compare_references(one, one.model_copy(update=change))
    assert [(difference.name, difference.weight) for difference in found] == expected


def test_model_that_a_flag_names_too_is_told_once() -> None:
    one = reference(session(level(88.8)))
    sides = [
        one.model_copy(update={"model": path, "fingerprint": Fingerprint(flags={"model_path": path})})
        for path in ("/models/a", "/models/b")
    ]
    assert [difference.name for difference in compare_references(*sides)] == ["model_path"]


def test_partial_environment_proves_what_is_in_it_and_no_absence() -> None:
    before = Fingerprint(env={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"})
    now = Fingerprint(env={"NCCL_ALGO": "Tree", "NCCL_NTHREADS": "512"}, env_is_partial=True)
    assert names(before, now) == [("NCCL_ALGO", "matters"), ("NCCL_NTHREADS", "matters")]
    assert names(now, before) == [("NCCL_ALGO", "matters"), ("NCCL_NTHREADS", "matters")]


def test_cause_names_the_file_that_sets_it() -> None:
    now = Fingerprint(env={"NCCL_PROTO": "Simple"}, env_from={"NCCL_PROTO": "/etc/nccl.conf"})
    (changed,) = compare(Fingerprint(env={"NCCL_PROTO": "LL"}), now)
    assert changed.origin == "now from /etc/nccl.conf"
    assert changed.reason.startswith("the protocol of every all-reduce")
    (lost,) = compare(now, Fingerprint(env={}))
    assert lost.origin == "before from /etc/nccl.conf"


def test_same_value_from_a_file_and_from_the_environment_is_no_difference() -> None:
    file = Fingerprint(env={"NCCL_PROTO": "LL"}, env_from={"NCCL_PROTO": "/etc/nccl.conf"})
    assert compare(Fingerprint(env={"NCCL_PROTO": "LL"}), file) == ()


def test_list_of_one_is_what_a_command_line_shows_of_it() -> None:
    assert compare(Fingerprint(flags={"cuda_graph_bs": [1]}), Fingerprint(flags={"cuda_graph_bs": 1})) == ()


def test_log_counts_before_the_command_line_and_a_process_before_the_log() -> None:
    read = Fingerprint(
        flags={"speculative_algorithm": "NEXTN", "port": 1}, env={"NCCL_PROTO": "LL"}, env_is_partial=True
    )
    both = read.with_log({"speculative_algorithm": "EAGLE"}, {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"}, "0.5.16")
    assert both.flags == {"speculative_algorithm": "EAGLE", "port": 1}
    assert (both.env, both.env_is_partial) == ({"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, True)
    assert both.versions == {"engine": "0.5.16"}


def test_log_alone_proves_no_absence() -> None:
    log = Fingerprint().with_log(None, {"NCCL_ALGO": "Ring"}, None)
    assert names(Fingerprint(env={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}), log) == []
    assert Fingerprint().with_log(None, {}, None).is_empty


def test_environment_of_a_process_that_was_read_whole_is_not_added_to() -> None:
    whole = Fingerprint(env={}).with_log(None, {"NCCL_ALGO": "Ring"}, None)
    assert (whole.env, whole.env_is_partial) == ({}, False)


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        ("LL", None, ("LL", None)),
        ("x" * 60, "LL", ("x" * 60, "LL")),
        ("x" * 61, "LL", ("x" * 60 + "…", "LL")),
        ("a" * 50 + "full", "a" * 50 + "off" + "b" * 90, ("…aaaaaaaaaafull", "…aaaaaaaaaaoff" + "b" * 46 + "…")),
    ],
    ids=["short", "at the limit", "beyond it", "alike at the beginning"],
)
def test_long_values_are_cut_to_where_they_differ(
    before: str | None, now: str | None, shown: tuple[str | None, str | None]
) -> None:
    assert Difference("flag", "x", before, now, "matters").shortened() == shown
