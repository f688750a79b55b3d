"""The ways in which a log gets wrapped: each function takes bare lines and gives them as that carrier shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

Wrap = Callable[[Sequence[str]], str]

_FIRST = datetime(2026, 6, 24, 15, 38, 2, 436246, UTC)


def _moment(number: int) -> datetime:
    return _FIRST + timedelta(milliseconds=number)


def _each(form: Callable[[int, str], str]) -> Wrap:
    return lambda lines: "".join(form(number, line) + "\n" for number, line in enumerate(lines))


def _iso(number: int, zone: str = "Z") -> str:
    return f"{_moment(number):%Y-%m-%dT%H:%M:%S}.{436246479 + number}{zone}"


def _docker(number: int, line: str, *, most: int = 16_384) -> str:
    pieces = [line[start : start + most] for start in range(0, max(len(line), 1), most)]
    return "\n".join(
        json.dumps({"log": piece + ("\n" if piece is pieces[-1] else ""), "stream": "stderr", "time": _iso(number)})
        for piece in pieces
    )


def _cri(number: int, line: str, *, most: int = 16_384) -> str:
    pieces = [line[start : start + most] for start in range(0, max(len(line), 1), most)]
    return "\n".join(
        f"{_iso(number, '+02:00')} stderr {'F' if piece is pieces[-1] else 'P'} {piece}" for piece in pieces
    )


def _journal_json(number: int, line: str) -> str:
    # journalctl gives what holds control characters as a list of bytes.
    message: object = line if line.isprintable() else list(line.encode())
    return json.dumps(
        {
            "__CURSOR": "s=1;i=2",
            "__REALTIME_TIMESTAMP": str(int(_moment(number).timestamp() * 1e6)),
            "_HOSTNAME": "gpu01",
            "_PID": "4711",
            "_SYSTEMD_UNIT": "spec.service",
            "SYSLOG_IDENTIFIER": "python3",
            "MESSAGE": message,
        }
    )


WRAPS: dict[str, Wrap] = {
    "docker compose": _each(lambda n, line: f"spec-1      | {line}"),
    "docker compose, coloured": _each(lambda n, line: f"\x1b[36mspec-1  | \x1b[0m{line}"),
    "docker compose, colour behind the bar": _each(lambda n, line: f"\x1b[36mspec-1  |\x1b[0m {line}"),
    "docker compose v1": _each(lambda n, line: f"llm_spec_1   | {line}"),
    "docker compose -t": _each(lambda n, line: f"spec-1  | {_iso(n)} {line}"),
    "docker service": _each(lambda n, line: f"llm_spec.1.x3ha7kq0@gpu01    | {line}"),
    "docker logs -t": _each(lambda n, line: f"{_iso(n)} {line}"),
    "docker json-file": _each(_docker),
    "docker json-file, split lines": _each(lambda n, line: _docker(n, line, most=100)),
    "forwarder of a cluster": _each(
        lambda n, line: json.dumps(
            {"log": line, "stream": "stderr", "kubernetes": {"pod_name": "spec-0", "container_name": "server"}}
        )
    ),
    "CRI": _each(_cri),
    "CRI, split lines": _each(lambda n, line: _cri(n, line, most=100)),
    "kubectl --prefix": _each(lambda n, line: f"[pod/sglang-spec-6d5f/server] {line}"),
    "kubectl --prefix --timestamps": _each(lambda n, line: f"[pod/sglang-spec-6d5f/server] {_iso(n)} {line}"),
    "kubectl --timestamps": _each(lambda n, line: f"{_iso(n)} {line}"),
    "journalctl": _each(lambda n, line: f"{_moment(n):%b %d %H:%M:%S} gpu01 python3[4711]: {line}"),
    "journalctl short-precise": _each(lambda n, line: f"{_moment(n):%b %d %H:%M:%S.%f} gpu01 python3[4711]: {line}"),
    "journalctl short-iso": _each(lambda n, line: f"{_moment(n):%Y-%m-%dT%H:%M:%S}+0200 gpu01 sglang[4711]: {line}"),
    "journalctl json": _each(_journal_json),
    "Ray": _each(lambda n, line: f"(SchedulerActor pid=123, ip=10.0.0.1) {line}"),
    "Ray, coloured": _each(lambda n, line: f"\x1b[36m(SchedulerActor pid=123)\x1b[0m {line}"),
    "srun --label": _each(lambda n, line: f"0: {line}"),
    "GitHub Actions": _each(lambda n, line: f"{_moment(n):%Y-%m-%dT%H:%M:%S}.4362464Z {line}"),
    "Python logging": _each(lambda n, line: f"2026-06-24 15:38:02,531 - __main__ - INFO - {line}"),
    "loguru": _each(lambda n, line: f"2026-06-24 15:38:02.531 | INFO     | launcher:pump:12 - {line}"),
    "quoted": _each(lambda n, line: f"> {line}"),
    "bullets": _each(lambda n, line: f"- {line}"),
    "fenced": lambda lines: "```text\n" + "\n".join(lines) + "\n```\n",
    "indented with blank lines": lambda lines: "".join(f"    {line}\n\n" for line in lines),
    "CRLF and BOM": lambda lines: "\ufeff" + "".join(f"{line}\r\n" for line in lines),
    "compose in GitHub Actions": _each(lambda n, line: f"{_iso(n)} spec-1  | {line}"),
    "Ray in kubectl": _each(lambda n, line: f"[pod/ray-head/ray] {_iso(n)} (Actor pid=7) {line}"),
}
