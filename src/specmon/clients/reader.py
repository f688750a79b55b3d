"""Reads the result files of load generators; which of them a file is from follows from its keys.

`sglang.bench_serving --output-file` appends one JSON object a benchmark. `vllm bench serve --save-result` writes one
object (`--append-result` one a line). aiperf's `profile_export_aiperf.json` is one object whose metrics are objects
with a unit and an average. Keys as in SGLang 0.5, vLLM 0.9 to 0.20 and aiperf 0.1 to 0.10.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from specmon.clients.result import ClientResult
from specmon.errors import ConfigError

_LARGEST = 1 << 30  # bytes; with all answers in it such a file has some hundred megabytes
_BEGINNING = 1 << 16  # bytes, by which a file that is no JSON is known
_KNOWN = (
    "the JSON lines of `python -m sglang.bench_serving --output-file`, the JSON of `vllm bench serve --save-result`, "
    "and aiperf's profile_export_aiperf.json"
)
_Record = Mapping[str, object]


def read_client(path: str) -> ClientResult:
    """What a result file says; ConfigError, naming the file and the fault, when it says nothing of use."""
    records = _records(path)
    first = records[0]
    if isinstance(first.get("output_token_throughput"), Mapping):
        if len(records) > 1:
            raise ConfigError(f"client result {path}: it holds {len(records)} aiperf results. Give one file each.")
        return _aiperf(path, first)
    if "output_throughput" in first:
        return _bench_serving(path, records)
    if "metadata" in first and "metrics" in first:
        raise ConfigError(
            f"client result {path}: it holds aiperf's single requests. Give profile_export_aiperf.json, which lies "
            "beside it."
        )
    raise ConfigError(f"client result {path}: none of the known results is like this. Known are {_KNOWN}.")


def _records(path: str) -> list[_Record]:
    try:
        text = _whole_text(path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"client result {path}: it is not UTF-8 text. Is this a result file?") from error
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise ConfigError(f"client result {path}: {reason}. Check the path.") from error
    try:
        found: list[object] = [json.loads(text)]
    except (ValueError, RecursionError) as whole:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise ConfigError(f"client result {path}: it is not valid JSON: {whole}. Was the file cut?") from whole
        found = [_line(path, number, line) for number, line in enumerate(lines, 1)]
    records = [record for record in found if isinstance(record, Mapping)]
    if not records or len(records) != len(found):
        raise ConfigError(f"client result {path}: it holds no JSON object. Known are {_KNOWN}.")
    return records


def _whole_text(path: str) -> str:
    """The whole file; only its beginning when that shows that it is no result, however long it may be."""
    with Path(path).open("rb") as file:
        content = file.read(_BEGINNING)
        if content.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
            content += file.read(_LARGEST + 1 - len(content))
    if len(content) > _LARGEST:
        raise ConfigError(f"client result {path}: it is larger than a gibibyte. Is this a result file?")
    return content.decode("utf-8-sig")


def _line(path: str, number: int, line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"client result {path}: line {number} is not valid JSON: {error}. Was the file cut?"
        ) from error


def _bench_serving(path: str, records: Sequence[_Record]) -> ClientResult:
    """vLLM's benchmark and SGLang's, which began as the same script."""
    first = records[0]
    is_vllm = "total_token_throughput" in first and "model_id" in first
    speeds, times, tokens = [], [], []
    for record in records:
        speed = _positive(path, record, "output_throughput")
        duration = _number(record.get("duration"))
        generated = _number(record.get("total_output_tokens"))
        speeds.append(speed)
        times.append(duration)
        tokens.append(generated if generated else (speed * duration if duration else None))
    seconds = _total(times)
    generated_all = _total(tokens)
    if len(records) > 1 and (not seconds or not generated_all):
        raise ConfigError(
            f"client result {path}: its {len(records)} records lack `duration` or `total_output_tokens`, so they "
            "cannot be taken together. Give a file with the one record that belongs to the log."
        )
    output_tok_s = speeds[0] if len(records) == 1 else (generated_all or 0) / (seconds or 1)
    started_at = ended_at = None
    if is_vllm and len(records) == 1 and seconds is not None:
        ended_at = _moment_of_saving(first.get("date"))
        started_at = None if ended_at is None else ended_at - seconds
    limits = {_whole(record.get("max_concurrency")) for record in records}
    rates = [rate for record in records if (rate := _number(record.get("request_rate"))) is not None]
    info = first.get("server_info")
    info = info if isinstance(info, Mapping) else {}
    return ClientResult(
        tool="vllm bench serve" if is_vllm else "sglang.bench_serving",
        path=path,
        output_tok_s=output_tok_s,
        duration_s=seconds,
        benchmarks=len(records),
        concurrency=limits.pop() if len(limits) == 1 else None,
        request_rate=min(rates, default=None),
        model=_text(first.get("model_id")) or _text(info.get("model_path")),
        port=_whole(info.get("port")),
        started_at=started_at,
        ended_at=ended_at,
    )


def _aiperf(path: str, record: _Record) -> ClientResult:
    metric = record["output_token_throughput"]
    assert isinstance(metric, Mapping)
    config = _inner(record, "input_config")
    endpoint, load = _inner(config, "endpoint"), _inner(config, "loadgen")
    started_at, ended_at = _iso(record.get("start_time")), _iso(record.get("end_time"))
    duration = _inner(record, "benchmark_duration").get("avg")
    return ClientResult(
        tool="aiperf",
        path=path,
        output_tok_s=_positive(path, metric, "avg", "output_token_throughput.avg"),
        duration_s=_number(duration),
        concurrency=_whole(load.get("concurrency")),
        request_rate=_number(load.get("request_rate")),
        model=_first_text(endpoint.get("model_names")),
        port=_port(_text(endpoint.get("url")) or _first_text(endpoint.get("urls"))),
        started_at=started_at if ended_at is not None else None,
        ended_at=ended_at if started_at is not None else None,
    )


def _positive(path: str, record: Mapping[object, object] | _Record, key: str, shown: str | None = None) -> float:
    value = record.get(key)
    number = _number(value)
    if number is None or number <= 0:
        raise ConfigError(
            f"client result {path}: `{shown or key}` is {json.dumps(value, default=str)}, not a speed above 0. "
            "Did any request succeed?"
        )
    return number


def _number(value: object) -> float | None:
    """A finite number. bench_serving writes Infinity for a request rate without a limit, vLLM the word inf."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 1 and number == int(number) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _first_text(value: object) -> str | None:
    return _text(value[0]) if isinstance(value, list) and value else _text(value)


def _inner(record: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = record.get(key)
    return value if isinstance(value, Mapping) else {}


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and value > 0]
    return math.fsum(known) if known and len(known) == len(values) else None


def _moment_of_saving(value: object) -> float | None:
    """vLLM's `date`: local time, 20261130-155948, when the result was made up, shortly after the last answer."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.strptime(value, "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _iso(value: object) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    # Logs are read as if their own clock were UTC; so is a client's.
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _port(url: str | None) -> int | None:
    if url is None:
        return None
    try:
        return urlsplit(url if "//" in url else f"//{url}").port
    except ValueError:
        return None
