"""How the estimates and verdicts stand on genuine logs of SGLang 0.5.16 whose clients measured the truth.

    python benchmarks/reach.py FOLDER [STORY]

FOLDER holds sglang-0.5.16-NAME.log beside NAME.client.json, which lists phases and requests. STORY is a capture
directory with two lives of each server and references beside them (else the one that the demo plays).

* decode throughput against the client's decode speed at one concurrent request, which is the tokens of a request after
  its first chunk over the time from the first to the last: all tokens over all time, and the mean over requests (which
  counts a fast request as much as a slow one, and so lies higher where the accept length differs between requests);
* the estimated cycle against the GPU time of a cycle as the probe in the server measured it (`gpu_call`), over the
  phases in which the probe was on;
* the verdict sentences of the pairs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_STEM = "sglang-0.5.16"
_BASELINES = ("baseline", "baseline-probe", "baseline-timer", "baseline-nocudagraph")
_SPECULATIVE = ("standalone", "standalone-probe", "ngram", "ngram-probe", "eagle3-random", "eagle3-random-probe")
# Means of the probe's lines over steady phases, GPU ms a cycle, at 1 and 8 running (measured on an NVIDIA H200).
_GPU_CALL_MS = {
    "baseline-probe": {1: 3.624, 8: 3.602},
    "standalone-probe": {1: 7.122, 8: 8.195},
    "ngram-probe": {1: 7.329},
    "eagle3-random-probe": {1: 6.549, 8: 8.248},
}
_PAIRS = (
    ("baseline", "standalone", None),
    ("baseline", "standalone", 8),
    ("baseline-probe", "standalone-probe", None),
    ("baseline-probe", "standalone-probe", 8),
    ("baseline", "eagle3-random", 1),
    ("baseline", "eagle3-random", 8),
    ("baseline", "ngram", None),
    ("baseline-timer", "standalone-timer", None),
)


def summary(*arguments: str) -> dict[str, Any]:
    """The JSON document of `specmon summary`."""
    command = [sys.executable, "-m", "specmon", "summary", "--format", "json", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def level_of(log: Path, running: int, *options: str) -> dict[str, Any] | None:
    """The figures of one level of the last run."""
    levels = summary(*options, str(log))["servers"][0]["runs"][-1]["decode"]["levels"]
    return next((level for level in levels if level["running"] == running), None)


def client_decode_tok_s(content: dict[str, Any]) -> tuple[float, float] | None:
    """What one request at a time decoded at, by the client's clock: all tokens over all time, mean over requests."""
    columns = content.get("request_columns")
    requests = [dict(zip(columns, row, strict=True)) if columns else row for row in content.get("requests", [])]
    spans = [(phase["start"], phase["end"]) for phase in content["phases"] if phase["conc"] == 1]
    tokens, seconds = [], []
    for request in requests:
        first_s = request["ttft_s"] if "ttft_s" in request else request["ttft"]
        time_s = request["t1"] - request["t0"] - first_s
        if time_s > 0 and any(start - 0.01 <= request["t0"] <= end for start, end in spans):
            tokens.append((request["tokens"] if "tokens" in request else request["tok"]) - 1)
            seconds.append(time_s)
    if not tokens:
        return None
    each = [count / time_s for count, time_s in zip(tokens, seconds, strict=True)]
    return sum(tokens) / sum(seconds), sum(each) / len(each)


def probed_cycle(folder: Path, name: str, running: int) -> tuple[int, float] | None:
    """Clean samples and their mean C while the probe was on, from the levels of its phases."""
    content = json.loads((folder / f"{_STEM}-{name}.client.json").read_text())
    phases = [phase for phase in content["phases"] if phase["conc"] == running and "off" not in phase["phase"]]
    count, total = 0, 0.0
    for phase in phases:
        span = ("--since", stamp(phase["start"]), "--until", stamp(phase["end"]))
        level = level_of(folder / f"{_STEM}-{name}.log", running, *span)
        if level is not None and level["cycle_ms"] is not None:
            count += level["clean"]
            total += level["clean"] * level["cycle_ms"]
    return (count, total / count) if count else None


def stamp(moment: float) -> str:
    """A moment as --since takes it, on a log whose clock is UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def main() -> None:
    folder = Path(sys.argv[1])
    story = sys.argv[2] if len(sys.argv) > 2 else str(Path(__file__).parents[1] / "fixtures" / "story")
    print("decode throughput at 1 running: log (95 %), client over all time, client's mean request")
    for name in (*_BASELINES, *_SPECULATIVE):
        level = level_of(folder / f"{_STEM}-{name}.log", 1)
        client = client_decode_tok_s(json.loads((folder / f"{_STEM}-{name}.client.json").read_text()))
        if level is None or level["decode_tok_s"] is None or client is None:
            print(f"  {name:22} no figure")
            continue
        ours, interval = level["decode_tok_s"], level["decode_tok_s_ci95"] or (float("nan"),) * 2
        off = "  ".join(f"{theirs:7.1f} {ours / theirs - 1:+.1%}" for theirs in client)
        print(f"  {name:22} {ours:7.1f} ({interval[0]:.0f} to {interval[1]:.0f})  {off}  n={level['clean']}")
    print("cycle while the probe was on, and in the whole log: log, gpu_call of the probe")
    for name, known in _GPU_CALL_MS.items():
        for running, gpu_ms in known.items():
            probed = probed_cycle(folder, name, running)
            level = level_of(folder / f"{_STEM}-{name}.log", running)
            told = "no clean sample"
            if probed is not None and level is not None:
                told = (
                    f"{probed[1]:6.3f} against {gpu_ms:6.3f} ms  {probed[1] / gpu_ms - 1:+.1%} (n={probed[0]}); "
                    f"{level['cycle_ms'] / gpu_ms - 1:+.1%} (n={level['clean']})"
                )
            print(f"  {name:22} B={running} {told}")
    print("verdicts")
    for baseline, speculative, asked in _PAIRS:
        option = [] if asked is None else ["--running", str(asked)]
        sides = ["--baseline", f"{folder}/{_STEM}-{baseline}.log", "--spec", f"{folder}/{_STEM}-{speculative}.log"]
        found = summary(*option, *sides)["comparison"]
        print(f"  {baseline} / {speculative}: {found['sentence']}")
    print("story")
    references = sorted((Path(story) / "references").glob("*.toml"))
    for run in (1, 2):
        for reference in references:
            found = summary(story, "--run", str(run), "--reference", str(reference))
            print(f"  run {run}, {reference.stem}: {found['comparison']['sentence']}")
            print(f"    {json.dumps(found['comparison']['against_reference'], ensure_ascii=False)}")


if __name__ == "__main__":
    main()
