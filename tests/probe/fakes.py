"""A small `sglang` for each class layout, written into a folder.

`python -m sglang.launch_server` spawns a scheduler as the genuine one does, and the scheduler serves two stretches:
single requests, then pairs, each request with its prefill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.probe.fake_server import (
    BATCH,
    ENGINE,
    HOOK_REGISTRY,
    LAUNCH,
    OVERLAP_THREAD,
    PLUGINS,
    SCHEDULER,
    TORCH,
    TP_WORKER,
)
from tests.probe.fake_workers import (
    EAGLE_V2,
    FROZEN_V2,
    NGRAM_V1,
    NGRAM_V2,
    STANDALONE_V1,
    STANDALONE_V2,
    UNO,
    one_method,
    v1,
    v2,
)

FULL = "draft_ms=0.500 verify_ms=5.750 draft_extend_ms=0.375 cycle_ms=6.875"
TARGET_ONLY = "verify_ms=5.000 cycle_ms=6.500"


@dataclass(frozen=True)
class Fake:
    """A version of SGLang as far as the probe can tell it from others."""

    name: str
    module: str | None  # under sglang.srt.speculative; None is a server without speculation
    owner: str = ""
    source: str = ""
    more: Mapping[str, str] = field(default_factory=dict)  # further modules there
    algorithm: str | None = "EAGLE3"
    has_plugins: bool = False
    entry: str = "forward_batch_generation"
    batch: str = "batch"  # what the scheduler hands over
    publishes: bool = False
    accepted: str = "num_correct_drafts"
    overlap: int = 0
    is_threaded: bool = False  # the target's step runs in a thread of its own
    ranks: str = "scheduler"
    has_cuda: bool = True
    tp_size: int = 1
    pp_size: int = 1
    start: tuple[tuple[int, int, int | None], ...] = ((0, 0, None),)  # TP, PP, DP ranks, one after the other
    scheduler_lacks: str = ""  # text that this version's scheduler does not have
    figures: str = FULL  # of each line that the probe writes
    accept: str = "1.00 4.00"  # of single requests and of pairs; "" where it is not told

    def write(self, folder: Path) -> None:
        """Write the package tree."""
        call = f"return self.worker.{self.entry}({self.batch}{', on_publish=print' if self.publishes else ''})"
        make = "return self.tp_worker"
        if self.module is not None:
            make = (
                f"from sglang.srt.speculative.{self.module} import {self.owner}; "
                f"return {self.owner}(self.server_args, self.tp_worker)"
            )
        if self.is_threaded:
            make = (
                "from sglang.srt.managers.tp_worker_overlap_thread import TpModelWorkerClient; "
                "return TpModelWorkerClient(self.server_args)"
            )
        has = self.has_plugins
        plugins = "from sglang.srt.plugins import load_plugins" if has else ""
        load = "load_plugins()" if has else "pass"
        arguments = {
            "speculative_algorithm": self.algorithm if self.module is not None else None,
            "decode_log_interval": 20,
            "tp_size": self.tp_size,
            "pp_size": self.pp_size,
        }
        scheduler = (
            SCHEDULER.replace("LOAD_PLUGINS", load)
            .replace("PLUGINS", plugins)
            .replace("MAKE_WORKER", make)
            .replace("SCHEDULING", "pass" if self.is_threaded else "torch.work(0.25)")
            .replace("CALL", call)
            .replace("ACCEPTED", self.accepted)
            .replace("OVERLAP", str(self.overlap))
            .replace("RANKS", repr(self.ranks))
        )
        if self.scheduler_lacks:
            assert self.scheduler_lacks in scheduler
            scheduler = scheduler.replace(self.scheduler_lacks, "pass")
        files = {
            "torch.py": TORCH.replace("HAS_CUDA", str(self.has_cuda)),
            "sglang/__init__.py": "",
            "sglang/launch_server.py": LAUNCH.replace("LOAD_PLUGINS", load)
            .replace("PLUGINS", plugins or "pass")
            .replace("RANKS_TO_START", repr(self.start))
            .replace("ARGS", repr(arguments)),
            "sglang/srt/__init__.py": "",
            "sglang/srt/runtime_context.py": "parallel = None\ndef get_parallel(): return parallel\n",
            "sglang/srt/entrypoints/__init__.py": "",
            "sglang/srt/entrypoints/engine.py": ENGINE.replace("LOAD_PLUGINS", load).replace("PLUGINS", plugins),
            "sglang/srt/managers/__init__.py": "",
            "sglang/srt/managers/batch.py": BATCH,
            "sglang/srt/managers/tp_worker.py": TP_WORKER,
            "sglang/srt/managers/scheduler.py": scheduler,
            "sglang/srt/speculative/__init__.py": "",
            # A module that the server does not use must stay unimported.
            "sglang/srt/speculative/eagle_worker_v2.py": 'raise AssertionError("imported for nothing")',
        }
        if self.is_threaded:
            files["sglang/srt/managers/tp_worker_overlap_thread.py"] = OVERLAP_THREAD
        if has:
            files["sglang/srt/plugins/__init__.py"] = PLUGINS
            files["sglang/srt/plugins/hook_registry.py"] = HOOK_REGISTRY
        for module, source in {**self.more, **({self.module: self.source} if self.module else {})}.items():
            path = module.replace(".", "/")
            if "/" in path:
                files[f"sglang/srt/speculative/{path.rsplit('/', 1)[0]}/__init__.py"] = ""
            files[f"sglang/srt/speculative/{path}.py"] = source
        for name, text in files.items():
            path_of = folder / name
            path_of.parent.mkdir(parents=True, exist_ok=True)
            path_of.write_text(text)


def _v1(name: str, module: str, owner: str, field_name: str = "num_accepted_tokens") -> Fake:
    return Fake(name, module, owner, v1(owner, field=field_name))


def _target_only(name: str, module: str, owner: str) -> Fake:
    return Fake(name, module, owner, one_method(owner), algorithm="DFLASH", figures=TARGET_ONLY)


def _of_0_5_12(fake: Fake) -> Fake:
    return replace(fake, has_plugins=True)


def _of_0_5_16(fake: Fake, *, publishes: bool = False) -> Fake:
    return replace(fake, has_plugins=True, overlap=1, ranks="ps", publishes=publishes)


def _of_0_5_23(fake: Fake, *, overlap: int = 1) -> Fake:
    return replace(fake, has_plugins=True, overlap=overlap, ranks="context", publishes=True)


_OLD_ENTRY = "forward_batch_speculative_generation"
_EAGLE = Fake("0.5.16-eagle-v2", "eagle_worker_v2", "EAGLEWorkerV2", EAGLE_V2)
_NGRAM = Fake(
    "0.5.8-ngram",
    "ngram_worker",
    "NGRAMWorker",
    NGRAM_V1,
    algorithm="NGRAM",
    figures=f"draft_ms=0.500 {TARGET_ONLY}",
)
_UNO = Fake(
    "0.5.23-uno",
    "uno_worker_v2",
    "UnoWorkerV2",
    UNO,
    algorithm="UNO",
    figures="draft_ms=0.500 verify_ms=5.750 cycle_ms=6.750",
    accept="2.00 5.00",
)
_MULTI_LAYER = ("multi_layer_eagle_worker_v2", "MultiLayerEagleWorkerV2")
_BASELINE = Fake("0.5.1-baseline", None, figures="decode_ms=3.000 cycle_ms=3.250", accept="")

LAYOUTS: tuple[Fake, ...] = (
    Fake(
        "0.5.1-eagle-v1",
        "eagle_worker",
        "EAGLEWorker",
        v1("EAGLEWorker", _OLD_ENTRY, as_tuple=True),
        entry=_OLD_ENTRY,
    ),
    _v1("0.5.8-eagle-v1", "eagle_worker", "EAGLEWorker"),
    _of_0_5_12(_v1("0.5.12-eagle-v1", "eagle_worker", "EAGLEWorker", "num_correct_drafts")),
    Fake(
        "0.5.5-standalone-v1",
        "standalone_worker",
        "StandaloneWorker",
        STANDALONE_V1,
        {"eagle_worker": v1("EAGLEWorker", field="num_accepted_tokens")},
        algorithm="STANDALONE",
    ),
    replace(_EAGLE, name="0.5.8-eagle-v2", batch="Bare(batch)", accepted="num_accepted_tokens", overlap=1),
    _of_0_5_16(_EAGLE, publishes=True),
    _of_0_5_23(replace(_EAGLE, name="0.5.23-eagle-v2"), overlap=2),
    _of_0_5_16(
        Fake(
            "0.5.16-standalone-v2",
            "standalone_worker_v2",
            "StandaloneWorkerV2",
            STANDALONE_V2,
            {"eagle_worker_v2": EAGLE_V2},
            algorithm="STANDALONE",
        ),
        publishes=True,
    ),
    _v1("0.5.8-multi-layer-v1", "multi_layer_eagle_worker", "MultiLayerEagleWorker"),
    _of_0_5_16(
        Fake("0.5.16-multi-layer-v2", *_MULTI_LAYER, v2("MultiLayerEagleWorkerV2", "MultiLayerEagleDraftWorker"))
    ),
    _of_0_5_23(
        Fake(
            "0.5.23-multi-layer-v2",
            *_MULTI_LAYER,
            v2("MultiLayerEagleWorkerV2", "MultiLayerEagleDraftWorker", plan=True),
        )
    ),
    _of_0_5_12(_v1("0.5.12-frozen-kv-v1", "frozen_kv_mtp_worker", "FrozenKVMTPWorker", "num_correct_drafts")),
    _of_0_5_16(
        Fake(
            "0.5.16-frozen-kv-v2",
            "frozen_kv_mtp_worker_v2",
            "FrozenKVMTPWorkerV2",
            FROZEN_V2,
            {"eagle_worker_v2": EAGLE_V2},
            algorithm="FROZEN_KV_MTP",
        )
    ),
    _NGRAM,
    _of_0_5_16(replace(_NGRAM, name="0.5.16-ngram", source=NGRAM_V2), publishes=True),
    _of_0_5_12(_target_only("0.5.12-dflash-v1", "dflash_worker", "DFlashWorker")),
    _of_0_5_16(_target_only("0.5.16-dflash-v2", "dflash_worker_v2", "DFlashWorkerV2")),
    _of_0_5_23(_target_only("0.5.23-dspark", "dspark_components.dspark_worker_v2", "DSparkWorkerV2")),
    _of_0_5_23(_UNO),
    replace(_UNO, name="uno-without-plugins", overlap=1),  # the other way in meets a static method too
    _of_0_5_16(replace(_target_only("a-worker-of-tomorrow", "tomorrow_worker", "TomorrowWorker"), accept="")),
    _BASELINE,
    replace(_BASELINE, name="0.5.3-baseline-in-a-thread", batch="Bare(batch)", overlap=1, is_threaded=True),
    _of_0_5_16(replace(_BASELINE, name="0.5.16-baseline")),
)
