"""The probe, installed as a user installs it, in a small server of each class layout of SGLang."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from specmon.formats.phases import PhaseReader
from tests.probe.fakes import LAYOUTS, TARGET_ONLY, Fake

PROBE = Path(__file__).resolve().parents[2] / "probe"
RANKS_LINE = "self.attn_tp_rank, self.pp_rank, self.pp_size = tp_rank, pp_rank, server_args.pp_size"
BY_NAME = {fake.name: fake for fake in LAYOUTS}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel; building needs no network."""
    folder = tmp_path_factory.mktemp("probe-wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(PROBE)], check=True, timeout=120
    )
    (found,) = folder.glob("specmon_probe-*.whl")
    return found


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a server's environment in which the probe was installed, and nothing else."""
    folder = tmp_path_factory.mktemp("server")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    (site,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, timeout=120)
    return folder / "bin" / "python"


def serve(python: Path, fake: Fake, folder: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """Run a server of that layout to its end: what it logged, line by line."""
    fake.write(folder)
    done = subprocess.run(
        [str(python), "-m", "sglang.launch_server"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), **(env or {})},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "served" in done.stdout
    return done.stdout.splitlines()


def phase_lines(lines: list[str]) -> list[str]:
    return [line[line.index("specmon-phase") :] for line in lines if "specmon-phase v1" in line]


@pytest.mark.parametrize("fake", LAYOUTS, ids=lambda fake: fake.name)
def test_each_layout_tells_its_phases(fake: Fake, python: Path, tmp_path: Path) -> None:
    lines = phase_lines(serve(python, fake, tmp_path))
    mark = " verify_is=target_forward" if fake.figures.endswith(TARGET_ONLY) else ""
    single, pair = (f" accept_len={value}" for value in fake.accept.split()) if fake.accept else ("", "")
    # 4 requests of 31 cycles less the last of each, less the first 16; then 4 pairs, less those that are still out;
    # of these one of every three is timed
    assert set(lines) == {
        f"specmon-phase v1 cycles=6 running=1 {fake.figures}{single}{mark}",
        f"specmon-phase v1 cycles=6 running=2 {fake.figures}{pair}{mark}",
    }
    assert len([line for line in lines if "running=1" in line]) == 5
    assert len([line for line in lines if "running=2" in line]) == 6


def test_lines_carry_the_prefix_of_the_engine_and_are_read_by_specmon(python: Path, tmp_path: Path) -> None:
    fake = replace(BY_NAME["0.5.16-eagle-v2"], tp_size=2, start=((0, 0, 1),))
    lines = serve(python, fake, tmp_path)
    first = next(line for line in lines if "specmon-phase v1" in line)
    assert first[0] == "["
    assert first[20:].startswith(" DP1 TP0] specmon-phase v1 ")
    events = PhaseReader().read("".join(f"{line}\n" for line in lines).encode(), 0)
    assert len(events) == len(phase_lines(lines))


@pytest.mark.parametrize("name", ["0.5.8-eagle-v2", "0.5.16-eagle-v2"])
def test_one_rank_of_each_data_parallel_group_speaks(name: str, python: Path, tmp_path: Path) -> None:
    started = ((0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1))
    lines = serve(python, replace(BY_NAME[name], tp_size=2, start=started), tmp_path)
    spoken = {line[20 : line.index("]")] for line in lines if "specmon" in line}
    assert spoken == {" DP0 TP0", " DP1 TP0"}


def test_of_pipeline_stages_the_last_speaks(python: Path, tmp_path: Path) -> None:
    fake = replace(BY_NAME["0.5.16-baseline"], pp_size=2, start=((0, 0, None), (0, 1, None)))
    assert {line[20 : line.index("]")] for line in serve(python, fake, tmp_path) if "specmon" in line} == {" PP1"}


@pytest.mark.parametrize("name", ["0.5.8-eagle-v2", "0.5.16-eagle-v2"])
def test_specmon_probe_0_switches_it_off(name: str, python: Path, tmp_path: Path) -> None:
    assert [line for line in serve(python, BY_NAME[name], tmp_path, {"SPECMON_PROBE": "0"}) if "specmon" in line] == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"has_cuda": False}, "NoDevice: torch has no CUDA device here"),
        (
            {"scheduler_lacks": RANKS_LINE},
            "UnknownPlace: its scheduler does not say which rank it is",
        ),
        ({"batch": "batch if batch.forward_mode.is_extend() else Odd()"}, "AttributeError: "),
    ],
)
@pytest.mark.parametrize("name", ["0.5.8-eagle-v1", "0.5.12-eagle-v1"])
def test_a_surprise_is_one_line_and_the_server_goes_on(
    name: str, changes: dict[str, object], said: str, python: Path, tmp_path: Path
) -> None:
    fake = replace(BY_NAME[name], **changes)  # type: ignore[arg-type]  # a table of different fields
    if "Odd" in fake.batch:
        fake = replace(fake, source=ODD)
    lines = [line for line in serve(python, fake, tmp_path) if "specmon" in line and "times decode cycles" not in line]
    assert len(lines) == 1
    assert f"specmon-probe steps aside: {said}" in lines[0]
    assert "The server is not affected" in lines[0]


@pytest.mark.parametrize(
    ("name", "module", "change", "said"),
    [
        (
            "0.5.8-eagle-v1",
            "speculative/eagle_worker.py",
            ("verify(", "check("),
            "specmon-probe: EAGLEWorker of this SGLang has no verify, so phase lines tell less.",
        ),
        (
            "0.5.16-eagle-v2",
            "speculative/eagle_worker_v2.py",
            ("_draft_extend_for_decode(", "_extend("),
            "specmon-probe: EagleDraftWorker of this SGLang has no _draft_extend_for_decode, so phase lines tell less.",
        ),
        (
            "0.5.16-baseline",
            "managers/scheduler.py",
            ("process_batch_result(", "handle_result("),
            "specmon-probe steps aside: Scheduler of this SGLang has no process_batch_result.",
        ),
        (
            "0.5.8-eagle-v2",
            "managers/scheduler.py",
            ("process_batch_result(", "handle_result("),
            "specmon-probe steps aside: Scheduler of this SGLang has no process_batch_result.",
        ),
    ],
)
def test_a_method_that_is_gone_is_one_line_and_the_rest_is_still_told(
    name: str, module: str, change: tuple[str, str], said: str, python: Path, tmp_path: Path
) -> None:
    fake = BY_NAME[name]
    fake.write(tmp_path)
    path = tmp_path / "sglang" / "srt" / module
    path.write_text(path.read_text().replace(*change))
    done = subprocess.run(
        [str(python), "-m", "sglang.launch_server"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    # SGLang loads plugins before it has set up its log; until then a warning goes to stderr.
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "specmon" in line]
    assert len([line for line in lines if said in line]) == 1
    told = phase_lines(lines)
    if "steps aside" in said:
        assert told == []
        assert len(lines) == 1
    elif "verify" in said:
        assert "draft_ms=0.500 verify_ms=5.000 draft_extend_ms=0.375 cycle_ms=6.875" in told[0]
        assert told[0].endswith(" verify_is=target_forward")
    else:
        assert "draft_ms=0.500 verify_ms=5.750 cycle_ms=6.875" in told[0]


# A worker whose batches have changed beyond recognition.
ODD = """
import builtins
from sglang.srt.managers.batch import GenerationBatchResult
class Odd:
    pass
builtins.Odd = Odd
class EAGLEWorker:
    def __init__(self, server_args, target_worker):
        pass
    def forward_batch_generation(self, batch):
        return GenerationBatchResult()
    def draft(self): pass
    def verify(self): pass
    def forward_draft_extend_after_decode(self): pass
"""


@pytest.mark.parametrize("name", ["0.5.8-eagle-v1", "0.5.16-baseline"])
def test_what_the_server_raises_passes_unchanged(name: str, python: Path, tmp_path: Path) -> None:
    fake = BY_NAME[name]
    fake.write(tmp_path)
    worker = tmp_path / "sglang/srt/managers/tp_worker.py"
    worker.write_text(worker.read_text().replace("torch.work(80.0)", 'raise MemoryError("CUDA out of memory")'))
    done = subprocess.run(
        [str(python), "-m", "sglang.launch_server"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "MemoryError: CUDA out of memory" in done.stderr
    assert "specmon-probe steps aside" not in done.stdout


def test_wheel_holds_both_ways_in_and_needs_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert "specmon-probe.pth" in names
        (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
        assert archive.read(entry_points).decode().split() == [
            "[sglang.srt.plugins]",
            "specmon-probe",
            "=",
            "specmon_probe:register",
        ]
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        text = archive.read(metadata).decode()
    assert "Requires-Dist" not in text
    assert "Requires-Python: >=3.10" in text
    assert "specmon_probe/py.typed" in names


PLAIN = "import sys; print(sorted(name for name in sys.modules if name.startswith('specmon')), len(sys.meta_path))"
SPAWN = f"""
import multiprocessing
def child():
    exec({PLAIN!r})
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
"""


def run(python: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(python), *words], env={**(env or {})}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_an_interpreter_that_nobody_spawned_loads_nothing_of_it(python: Path) -> None:
    assert run(python, "-c", PLAIN) == run(python, "-S", "-c", PLAIN)  # -S: no site-packages, so no .pth at all


def test_a_spawned_process_without_sglang_loads_the_watcher_alone(python: Path, tmp_path: Path) -> None:
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    loaded = [f"specmon_probe{part}" for part in ("", ".start", ".switch", ".watch")]
    assert run(python, str(script)).startswith(f"{loaded} ")
    assert run(python, str(script), env={"SPECMON_PROBE": "0"}).startswith("['specmon_probe', 'specmon_probe.start'")


@pytest.mark.parametrize("damage", ["missing", "broken"])
def test_a_damaged_installation_breaks_no_interpreter(damage: str, python: Path, tmp_path: Path) -> None:
    copy = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(copy)], check=True, timeout=60)
    (site,) = copy.glob("lib/python*/site-packages")
    (site / "specmon-probe.pth").write_text((PROBE / "specmon-probe.pth").read_text())
    if damage == "broken":
        (site / "specmon_probe").mkdir()
        (site / "specmon_probe" / "__init__.py").write_text("raise RuntimeError('half an upgrade')")
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    assert run(copy / "bin" / "python", str(script)).startswith("[]")
