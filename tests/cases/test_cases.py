"""Logs whose right values are known, through the public door: bytes in, JSON document out."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from specmon.monitor.summarise import Input, summarise
from specmon.reports import to_json

from .expectations import failure

_HERE = Path(__file__).parent
_FOLDERS = (_HERE / "logs", *sorted((_HERE.parent / "data").iterdir()))
_CASES = {
    name: case
    for path in sorted(_HERE.glob("expected*.json"))
    for name, case in json.loads(path.read_text(encoding="utf-8")).items()
}


def _log(name: str) -> bytes:
    for folder in _FOLDERS:
        for path in (folder / name, folder / name.removeprefix("sglang-")):
            if path.is_file():
                return path.read_bytes()
    raise FileNotFoundError(name)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


@pytest.mark.parametrize("name", _CASES)
def test_case_comes_out_as_known(name: str) -> None:
    session = summarise([Input(name, io.BytesIO(_log(name)))])
    document = json.loads(to_json(session), parse_constant=_refuse_constant)
    failures = [text for wanted in _CASES[name]["expect"] if (text := failure(document, wanted)) is not None]
    assert failures == []
