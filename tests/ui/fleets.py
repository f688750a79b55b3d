"""Pictures of sessions with many servers."""

from __future__ import annotations

from dataclasses import replace

from specmon.monitor.snapshot import FleetRow, Role, Severity, Snapshot

from . import pictures


def row(number: int, **changes: object) -> FleetRow:
    """A server without anything to say: odd numbers are baselines, even ones speculate."""
    is_baseline = number % 2 == 1
    plain = FleetRow(
        key=f"{number}",
        name=f"gpu{number:02d}.lab.example:30000",
        severity=Severity.OK,
        word="ok",
        sentence="ok",
        role=Role.BASELINE if is_baseline else Role.SPECULATIVE,
        state="serving",
        engine="sglang",
        running=8,
        tok_s=503.2 if is_baseline else 608.8,
        delivered_tok_s=498.0 if is_baseline else 590.1,
        accept_len=None if is_baseline else 2.1,
        deviation=0.003 if is_baseline else None,
        age_s=0.4,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # the fields of a row, by name


def fleet(servers: int = 64) -> Snapshot:
    """A crash, a baseline that left its reference, a lost host and one without data, before many that are well."""
    special = (
        row(7, severity=Severity.ALERT, word="crashed", sentence="crashed: CUDA out of memory", state="crashed",
            is_stale=True, age_s=312.0),
        row(11, severity=Severity.ALERT, word="diverged", tok_s=356.4, deviation=-0.292,
            sentence="diverged: 29.2 % below the reference; likely cause: NCCL_PROTO set in the reference, unset now"),
        row(4, severity=Severity.WARNING, word="no link", sentence="no link: connection lost, again in 4 s",
            is_stale=True, age_s=48.0),
        row(6, severity=Severity.INFO, word="no data", sentence="no data: no decode line yet", state="ready",
            tok_s=None, delivered_tok_s=None, accept_len=None, running=None, age_s=None, engine="llama.cpp"),
    )  # fmt: skip
    numbers = {7, 11, 4, 6}
    others = [
        row(number, side={1: Role.BASELINE, 2: Role.SPECULATIVE}.get(number))
        for number in range(1, servers + 1)
        if number not in numbers
    ]
    return replace(pictures.healthy(), fleet=(*special, *others))
