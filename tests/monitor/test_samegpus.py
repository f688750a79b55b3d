"""Two servers that work on the same GPUs at the same time are told, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from specmon.monitor.session import Session
from specmon.references.fingerprint import Fingerprint

from .lines import decodes, feed, launch

HOST = [f"GPU-{number}" for number in range(8)]
ELSEWHERE = [f"GPU-{number}" for number in range(8, 16)]
CAUTION = "worked on the same"


def session_of(
    base: tuple[list[str] | None, dict[str, Any]],
    spec: tuple[list[str] | None, dict[str, Any]],
    *,
    spec_at: float = 1.0,
) -> Session:
    """A baseline of 40 s from second 1 on, and a speculative server from `spec_at` on."""
    session = Session()
    for key, (uuids, flags), accept, first in (("1", base, None, 1.0), ("2", spec, 2.0, spec_at)):
        algorithm = None if accept is None else "EAGLE"
        session.add(key, f"/logs/{key}.log")
        feed(
            session,
            key,
            launch(first - 1, speculative_algorithm=algorithm, **flags)
            + decodes(first, 100, 100.0 if accept is None else 150.0, accept=accept),
        )
        gpu: dict[str, Any] | None = None if uuids is None else {"count": len(uuids), "uuids": uuids}
        session.attach_fingerprint(key, Fingerprint(flags=flags, env={}, gpu=gpu))
    session.finish()
    return session


def reasons(session: Session) -> list[str]:
    judged = session.judge()
    assert judged is not None
    assert judged.comparison.verdict in ("faster", "slower", "equal"), judged.sentence
    return [reason for reason in judged.reasons if CAUTION in reason]


TP2: dict[str, Any] = {"tp_size": 2}


@pytest.mark.parametrize(
    ("base", "spec", "which"),
    [
        ((HOST[:1], {}), (HOST[:1], {}), "the same GPU of one host"),
        ((HOST, TP2), (HOST, TP2), "the same 2 GPUs of one host"),
        ((HOST, TP2), (HOST, {"tp_size": 2, "base_gpu_id": 1}), "the same GPU of one host"),
        ((HOST[:2], TP2), (HOST[1:3], TP2), "the same GPU of one host"),
    ],
)
def test_work_on_the_same_gpus_at_the_same_time_stands_beside_the_verdict(
    base: tuple[list[str], dict[str, Any]], spec: tuple[list[str], dict[str, Any]], which: str
) -> None:
    session = session_of(base, spec)
    (reason,) = reasons(session)
    assert which in reason
    assert "each slows the other" in reason
    headline = session.snapshot(0.0).headline
    assert headline.why.startswith("! both on the same GPUs at the same time")


@pytest.mark.parametrize(
    ("base", "spec", "spec_at"),
    [
        ((HOST, TP2), (HOST, {"tp_size": 2, "base_gpu_id": 2}), 1.0),
        ((HOST[:2], TP2), (HOST[2:4], TP2), 1.0),
        ((HOST, TP2), (ELSEWHERE, TP2), 1.0),  # another host
        ((HOST, TP2), (HOST, TP2), 60.0),  # one after the other
        ((HOST, TP2), (None, TP2), 1.0),  # nobody knows
        ((HOST, {"device": "cpu"}), (HOST, {"device": "cpu"}), 1.0),
    ],
)
def test_servers_that_do_not_share_gpus_and_time_have_no_caution(
    base: tuple[list[str] | None, dict[str, Any]], spec: tuple[list[str] | None, dict[str, Any]], spec_at: float
) -> None:
    assert reasons(session_of(base, spec, spec_at=spec_at)) == []


def test_same_devices_are_no_difference_that_matters_and_others_neither() -> None:
    session = session_of((HOST[:2], TP2), (HOST[2:4], TP2))
    found = [each for each in session.snapshot(0.0).differences if each.name == "uuids"]
    assert [each.weight for each in found] == ["noise"]
