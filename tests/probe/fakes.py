"""A small `sglang` (and a `torch` with a virtual clock) for each class layout, written into a folder.

Module paths, class names and method names are SGLang's; everything inside is ours and only lets time pass on a
virtual device. `python -m sglang.launch_server` spawns a scheduler as the genuine one does, and the scheduler serves
two stretches: single requests, then pairs, each request with its prefill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TORCH = """
'''Time passes only where work is queued.'''
class _Clock:
    now_ms = 0.0
    capturing = False
class _Event:
    def __init__(self, enable_timing=False):
        assert enable_timing
    def record(self, stream=None):
        assert not _Clock.capturing, "an event was recorded into a graph"
        self.at = _Clock.now_ms
    def query(self):
        return True
    def elapsed_time(self, end_event):
        return end_event.at - self.at
    def synchronize(self):
        raise AssertionError("the probe synchronised")
class cuda:
    Event = _Event
    @staticmethod
    def is_available():
        return HAS_CUDA
    @staticmethod
    def is_current_stream_capturing():
        return _Clock.capturing
    @staticmethod
    def synchronize():
        raise AssertionError("the probe synchronised")
def work(ms):
    _Clock.now_ms += ms
"""

BATCH = """
class ForwardMode:
    def __init__(self, name): self.name = name
    def is_decode(self): return self.name == "decode"
    def is_extend(self): return self.name in ("extend", "target_verify")
    def is_target_verify(self): return self.name == "target_verify"
    def is_idle(self): return self.name == "idle"
class Req:
    def __init__(self, rid): self.rid = rid
class ScheduleBatch:
    def __init__(self, reqs, mode):
        self.reqs, self.seq_lens = reqs, [1] * len(reqs)
        self.forward_mode, self.is_extend_in_batch = ForwardMode(mode), False
        self.spec_info = None
class Bare:
    '''A batch that does not tell its requests.'''
    def __init__(self, batch):
        self.seq_lens, self.forward_mode = batch.seq_lens, batch.forward_mode
        self.is_extend_in_batch = batch.is_extend_in_batch
def accepted(batch):
    '''A single request never has a draft accepted; of a pair, three are accepted each.'''
    return 0 if len(batch.seq_lens) == 1 else 3 * len(batch.seq_lens)
class GenerationBatchResult:
    accept_lens = None
"""

TP_WORKER = """
import torch
from sglang.srt.managers.batch import GenerationBatchResult
class BaseTpWorker: pass
class TpModelWorker(BaseTpWorker):
    def __init__(self, server_args, is_draft_worker=False):
        self.server_args, self.is_draft_worker = server_args, is_draft_worker
    def forward_batch_generation(self, batch=None, forward_batch=None, is_verify=False, **more):
        mode = (batch if batch is not None else forward_batch).forward_mode
        if mode.is_decode() and not is_verify:
            torch.work(3.0)
        elif mode.is_target_verify() or is_verify:
            torch.work(5.0)
        else:
            torch.work(80.0)
        return GenerationBatchResult()
"""

SCHEDULER = """
import logging, sys, types
import torch
from sglang.srt.managers.batch import Bare, GenerationBatchResult, Req, ScheduleBatch
from sglang.srt.managers.tp_worker import TpModelWorker
PLUGINS

class Scheduler:
    def __init__(self, server_args, tp_rank, pp_rank, dp_rank):
        self.server_args = server_args
        self.ps = self if RANKS == "scheduler" else None
        self.attn_tp_rank, self.pp_rank, self.pp_size = tp_rank, pp_rank, server_args.pp_size
        if RANKS == "ps":
            self.ps = types.SimpleNamespace(attn_tp_rank=tp_rank, attn_cp_rank=0, pp_rank=pp_rank,
                                            pp_size=server_args.pp_size)
            del self.attn_tp_rank
        elif RANKS == "context":
            import sglang.srt.runtime_context as context
            context.parallel = types.SimpleNamespace(attn_tp_rank=tp_rank, attn_cp_rank=0, pp_rank=pp_rank,
                                                     pp_size=server_args.pp_size)
            del self.attn_tp_rank
        self.tp_worker = TpModelWorker(server_args)
        # Graphs are captured, and the model runs once to warm up, before anything is served.
        torch._Clock.capturing = True
        self.tp_worker.forward_batch_generation(ScheduleBatch([Req("capture")], "decode"))
        torch._Clock.capturing = False
        self.tp_worker.forward_batch_generation(ScheduleBatch([Req("warm")], "decode"))
        self.worker = self.make_worker()
        self.queue = []

    def make_worker(self):
        MAKE_WORKER

    def run_batch(self, batch):
        torch.work(0.25)
        result = self.call(batch)
        if isinstance(result, tuple):
            wrapped = GenerationBatchResult()
            wrapped.num_accepted_tokens = result[3]
            result = wrapped
        # Results are handled while younger cycles run already.
        self.queue.append((batch, result))
        while len(self.queue) > OVERLAP:
            self.process_batch_result(*self.queue.pop(0))

    def call(self, batch):
        CALL

    def process_batch_result(self, batch, result, launch_done=None):
        if batch.forward_mode.is_decode() and getattr(result, "pending", None) is not None:
            result.ACCEPTED = result.pending

    def event_loop(self):
        for pair, requests in ((1, 4), (2, 4)):
            for number in range(requests):
                reqs = [Req(f"{pair}-{number}-{k}") for k in range(pair)]
                self.run_batch(ScheduleBatch(reqs, "extend"))
                for _ in range(31):
                    self.run_batch(ScheduleBatch(reqs, "decode"))

def configure_logger(prefix):
    logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s{prefix}] %(message)s",
                        datefmt="%Y-%m-%d %H:%M:%S", force=True, stream=sys.stdout)

def run_scheduler_process(server_args, tp_rank, pp_rank, dp_rank):
    LOAD_PLUGINS
    prefix = "" if dp_rank is None else f" DP{dp_rank}"
    prefix += f" PP{pp_rank}" if server_args.pp_size > 1 else ""
    prefix += f" TP{tp_rank}" if server_args.tp_size > 1 else ""
    configure_logger(prefix)
    Scheduler(server_args, tp_rank, pp_rank, dp_rank).event_loop()
    logging.info("served")
"""

ENGINE = """
import multiprocessing, sys, types
from sglang.srt.managers.scheduler import run_scheduler_process
PLUGINS
def launch(server_args, ranks):
    LOAD_PLUGINS
    spawn = multiprocessing.get_context("spawn")
    for rank in ranks:
        process = spawn.Process(target=run_scheduler_process, args=(server_args, *rank))
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)
"""

LAUNCH = """
import argparse
if __name__ == "__main__":
    import types
    from sglang.srt.entrypoints.engine import launch
    launch(types.SimpleNamespace(**ARGS), RANKS_TO_START)
"""

PLUGINS = """
from importlib.metadata import entry_points
_loaded = False
def load_plugins():
    global _loaded
    if _loaded:
        return
    _loaded = True
    from sglang.srt.plugins.hook_registry import HookRegistry
    for plugin in entry_points(group="sglang.srt.plugins"):
        plugin.load()()
    HookRegistry.apply_hooks()
"""

HOOK_REGISTRY = """
import functools, importlib
from enum import Enum
from typing import NamedTuple
class HookSource(NamedTuple):
    plugin_name: str
    dist_name: str
class HookType(Enum):
    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    REPLACE = "replace"
class HookRegistry:
    hooks, patched = {}, set()
    @classmethod
    def register(cls, target, hook, hook_type=HookType.AFTER, *, source=None):
        assert hook_type is HookType.AROUND and source.plugin_name == "specmon-probe"
        cls.hooks.setdefault(target, []).append(hook)
    @classmethod
    def apply_hooks(cls):
        for target, hooks in cls.hooks.items():
            if target in cls.patched:
                continue
            cls.patched.add(target)
            path, method = target.rsplit(".", 1)
            module, owner = path.rsplit(".", 1)
            owner = getattr(importlib.import_module(module), owner)
            wrapped = getattr(owner, method)
            is_static = isinstance(vars(owner)[method], staticmethod)
            for hook in hooks:
                wrapped = cls.around(wrapped, hook)
            setattr(owner, method, staticmethod(wrapped) if is_static else wrapped)
    @staticmethod
    def around(original, hook):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            return hook(original, *args, **kwargs)
        return wrapper
"""

WORKER_HEAD = """
import torch
from sglang.srt.managers.batch import ForwardMode, GenerationBatchResult, accepted
from sglang.srt.managers.tp_worker import TpModelWorker
"""


def v1(owner: str, entry: str = "forward_batch_generation", *, as_tuple: bool = False, field: str = "") -> str:
    """The worker that waits for its own verify: EAGLE, multi-layer MTP and FROZEN_KV_MTP of the old schedule."""
    result = (
        "return None, None, 7, accepted(batch), True"
        if as_tuple
        else f"result = GenerationBatchResult(); result.{field} = accepted(batch); return result"
    )
    return f"""{WORKER_HEAD}
class {owner}(TpModelWorker):
    def __init__(self, server_args, target_worker):
        super().__init__(server_args, is_draft_worker=True)
        self.target_worker = target_worker
    def {entry}(self, batch):
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            self.target_worker.forward_batch_generation(batch)
            self.forward_draft_extend(batch)
            return {"None, None, 7, 0, False" if as_tuple else "GenerationBatchResult()"}
        spec_info = self.draft(batch)
        self.verify(batch, spec_info)
        if len(batch.seq_lens) > 0:
            self.forward_draft_extend_after_decode(batch)
        {result}
    def draft(self, batch):
        torch.work(0.5)
    def verify(self, batch, spec_info=None):
        batch.forward_mode = ForwardMode("target_verify")
        self.target_worker.forward_batch_generation(batch, is_verify=True)
        torch.work(0.75)
        batch.forward_mode = ForwardMode("decode")
    def forward_draft_extend(self, batch):
        torch.work(4.0)
    def forward_draft_extend_after_decode(self, batch):
        torch.work(0.375)
"""


def v2(worker: str, drafter: str, *, plan: bool = False, base: str = "", inherits: bool = False) -> str:
    """The worker of the overlap schedule: the accepted counts come to the host later."""
    head = f"from {base} import EAGLEWorkerV2\n" if base else ""
    parent = "(EAGLEWorkerV2)" if base else ""
    verify = (
        ""
        if inherits
        else """
    def verify(self, batch, grammar_barrier=None):
        before, batch.forward_mode = batch.forward_mode, ForwardMode("target_verify")
        self.target_worker.forward_batch_generation(None, forward_batch=batch, is_verify=True)
        batch.forward_mode = before
        torch.work(0.75)
"""
    )
    return f"""{WORKER_HEAD}{head}
class {drafter}:
    def __init__(self, server_args):
        self.draft_worker = TpModelWorker(server_args, is_draft_worker=True)
    def draft(self, batch):
        torch.work(0.5)
    def _draft_extend_for_prefill(self, batch):
        torch.work(4.0)
    {"def _draft_extend_plan_for_decode(self, batch): torch.work(0.125)" if plan else ""}
    def _draft_extend_for_decode(self, batch, batch_result):
        torch.work({0.25 if plan else 0.375})
class {worker}{parent}:
    def __init__(self, server_args, target_worker):
        self.target_worker, self.draft_worker = target_worker, {drafter}(server_args)
    def forward_batch_generation(self, batch, on_publish=None):
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            self.target_worker.forward_batch_generation(batch)
            self.draft_worker._draft_extend_for_prefill(batch)
            return GenerationBatchResult()
        self.draft_worker.draft(batch)
        {"self.draft_worker._draft_extend_plan_for_decode(batch)" if plan else "pass"}
        self.verify(batch)
        result = GenerationBatchResult()
        result.accept_lens, result.pending = object(), accepted(batch)
        self.draft_worker._draft_extend_for_decode(batch, result)
        return result
{verify}"""


NGRAM = f"""{WORKER_HEAD}
class NGRAMWorker:
    def __init__(self, server_args, target_worker):
        self.target_worker = target_worker
    def _prepare_for_speculative_decoding(self, batch):
        if batch.forward_mode.is_extend():
            return
        torch.work(0.5)
        batch.forward_mode = ForwardMode("target_verify")
    def _update_ngram_corpus(self, batch):
        pass
    def forward_batch_generation(self, batch, on_publish=None):
        self._prepare_for_speculative_decoding(batch)
        result = GenerationBatchResult()
        if batch.forward_mode.is_target_verify():
            self.target_worker.forward_batch_generation(batch, is_verify=True)
            torch.work(0.75)
            batch.forward_mode = ForwardMode("decode")
            result.ACCEPT
        else:
            self.target_worker.forward_batch_generation(batch)
        self._update_ngram_corpus(batch)
        return result
"""
NGRAM_V1 = NGRAM.replace("ACCEPT", "num_accepted_tokens = accepted(batch)")
NGRAM_V2 = NGRAM.replace("ACCEPT", "accept_lens, result.pending = object(), accepted(batch)")


def one_method(owner: str, inner: str = "") -> str:
    """A worker without methods for its phases: only the target model's forward can be told."""
    return f"""{WORKER_HEAD}
class {owner}:
    def __init__(self, server_args, target_worker):
        self.target_worker = target_worker
    def forward_batch_generation(self, batch, on_publish=None):
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            self.target_worker.forward_batch_generation(batch)
            return GenerationBatchResult()
        return self._forward_decode(batch)
    def _forward_decode(self, batch):
        torch.work(0.5)
        self.target_worker.forward_batch_generation(batch, is_verify=True)
        torch.work(0.75)
        result = GenerationBatchResult()
        result.accept_lens, result.pending = object(), accepted(batch)
        return result
"""


UNO = f"""{WORKER_HEAD}
class UnoWorkerV2:
    def __init__(self, server_args, target_worker):
        self.target_worker = target_worker
    def forward_batch_generation(self, batch, on_publish=None):
        if batch.forward_mode.is_extend():
            self.target_worker.forward_batch_generation(batch)
            return GenerationBatchResult()
        return self._forward_decode(batch)
    def _forward_decode(self, batch):
        self._run_draft_block(batch)
        self._run_target_block(batch)
        torch.work(0.25)
        self._accept_and_pack(forward_batch=batch)
        result = GenerationBatchResult()
        result.accept_lens, result.pending, result.num_non_draft_tokens_per_req = object(), accepted(batch), 2
        return result
    def _run_draft_block(self, batch):
        torch.work(0.5)
    def _run_target_block(self, batch):
        self.target_worker.forward_batch_generation(batch, is_verify=True)
    @staticmethod
    def _accept_and_pack(*, forward_batch):
        torch.work(0.75)
"""


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
    ranks: str = "scheduler"
    has_cuda: bool = True
    tp_size: int = 1
    pp_size: int = 1
    start: tuple[tuple[int, int, int | None], ...] = ((0, 0, None),)  # TP, PP, DP ranks, one after the other
    scheduler_lacks: str = ""  # text that this version's scheduler does not have

    def write(self, folder: Path) -> None:
        """Write the package tree."""
        call = f"return self.worker.{self.entry}({self.batch}{', on_publish=print' if self.publishes else ''})"
        make = "return self.tp_worker"
        if self.module is not None:
            make = (
                f"from sglang.srt.speculative.{self.module} import {self.owner}; "
                f"return {self.owner}(self.server_args, self.tp_worker)"
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
            "sglang/launch_server.py": LAUNCH.replace("RANKS_TO_START", repr(self.start)).replace(
                "ARGS", repr(arguments)
            ),
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


_EAGLE_V2 = "sglang.srt.speculative.eagle_worker_v2"
_STANDALONE_V1 = """
from sglang.srt.speculative.eagle_worker import EAGLEWorker
class StandaloneWorker(EAGLEWorker): pass
"""
_STANDALONE_V2 = """
from sglang.srt.speculative.eagle_worker_v2 import EAGLEWorkerV2, EagleDraftWorker
class StandaloneDraftWorker(EagleDraftWorker): pass
class StandaloneWorkerV2(EAGLEWorkerV2): pass
"""
_EAGLE = v2("EAGLEWorkerV2", "EagleDraftWorker")

FULL = {1: "draft_ms=0.500 verify_ms=5.750 draft_extend_ms=0.375 cycle_ms=6.875"}
TARGET_ONLY = "verify_ms=5.000 cycle_ms=6.500"

# Each layout with the figures of a line: phases, cycle, and accept length of one request and of a pair.
LAYOUTS: tuple[tuple[Fake, str, str], ...] = (
    (
        Fake(
            "0.5.1-eagle-v1",
            "eagle_worker",
            "EAGLEWorker",
            v1("EAGLEWorker", "forward_batch_speculative_generation", as_tuple=True),
            entry="forward_batch_speculative_generation",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake("0.5.8-eagle-v1", "eagle_worker", "EAGLEWorker", v1("EAGLEWorker", field="num_accepted_tokens")),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.12-eagle-v1",
            "eagle_worker",
            "EAGLEWorker",
            v1("EAGLEWorker", field="num_correct_drafts"),
            has_plugins=True,
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.5-standalone-v1",
            "standalone_worker",
            "StandaloneWorker",
            _STANDALONE_V1,
            {"eagle_worker": v1("EAGLEWorker", field="num_accepted_tokens")},
            algorithm="STANDALONE",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.8-eagle-v2",
            "eagle_worker_v2",
            "EAGLEWorkerV2",
            _EAGLE,
            batch="Bare(batch)",
            accepted="num_accepted_tokens",
            overlap=1,
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-eagle-v2",
            "eagle_worker_v2",
            "EAGLEWorkerV2",
            _EAGLE,
            has_plugins=True,
            publishes=True,
            overlap=1,
            ranks="ps",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.23-eagle-v2",
            "eagle_worker_v2",
            "EAGLEWorkerV2",
            _EAGLE,
            has_plugins=True,
            publishes=True,
            overlap=2,
            ranks="context",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-standalone-v2",
            "standalone_worker_v2",
            "StandaloneWorkerV2",
            _STANDALONE_V2,
            {"eagle_worker_v2": _EAGLE},
            algorithm="STANDALONE",
            has_plugins=True,
            publishes=True,
            overlap=1,
            ranks="ps",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.8-multi-layer-v1",
            "multi_layer_eagle_worker",
            "MultiLayerEagleWorker",
            v1("MultiLayerEagleWorker", field="num_accepted_tokens"),
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-multi-layer-v2",
            "multi_layer_eagle_worker_v2",
            "MultiLayerEagleWorkerV2",
            v2("MultiLayerEagleWorkerV2", "MultiLayerEagleDraftWorker"),
            has_plugins=True,
            overlap=1,
            ranks="ps",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.23-multi-layer-v2",
            "multi_layer_eagle_worker_v2",
            "MultiLayerEagleWorkerV2",
            v2("MultiLayerEagleWorkerV2", "MultiLayerEagleDraftWorker", plan=True),
            has_plugins=True,
            overlap=1,
            ranks="context",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.12-frozen-kv-v1",
            "frozen_kv_mtp_worker",
            "FrozenKVMTPWorker",
            v1("FrozenKVMTPWorker", field="num_correct_drafts"),
            algorithm="FROZEN_KV_MTP",
            has_plugins=True,
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-frozen-kv-v2",
            "frozen_kv_mtp_worker_v2",
            "FrozenKVMTPWorkerV2",
            v2("FrozenKVMTPWorkerV2", "FrozenKVMTPDraftWorker", base=_EAGLE_V2, inherits=True),
            {"eagle_worker_v2": _EAGLE},
            algorithm="FROZEN_KV_MTP",
            has_plugins=True,
            overlap=1,
            ranks="ps",
        ),
        FULL[1],
        "1.00 4.00",
    ),
    (
        Fake("0.5.8-ngram", "ngram_worker", "NGRAMWorker", NGRAM_V1, algorithm="NGRAM"),
        "draft_ms=0.500 " + TARGET_ONLY,
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-ngram",
            "ngram_worker",
            "NGRAMWorker",
            NGRAM_V2,
            algorithm="NGRAM",
            has_plugins=True,
            publishes=True,
            overlap=1,
            ranks="ps",
        ),
        "draft_ms=0.500 " + TARGET_ONLY,
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.12-dflash-v1",
            "dflash_worker",
            "DFlashWorker",
            one_method("DFlashWorker"),
            algorithm="DFLASH",
            has_plugins=True,
        ),
        TARGET_ONLY,
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.16-dflash-v2",
            "dflash_worker_v2",
            "DFlashWorkerV2",
            one_method("DFlashWorkerV2"),
            algorithm="DFLASH",
            has_plugins=True,
            overlap=1,
            ranks="ps",
        ),
        TARGET_ONLY,
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.23-dspark",
            "dspark_components.dspark_worker_v2",
            "DSparkWorkerV2",
            one_method("DSparkWorkerV2"),
            algorithm="DSPARK",
            has_plugins=True,
            overlap=1,
            ranks="context",
        ),
        TARGET_ONLY,
        "1.00 4.00",
    ),
    (
        Fake(
            "0.5.23-uno",
            "uno_worker_v2",
            "UnoWorkerV2",
            UNO,
            algorithm="UNO",
            has_plugins=True,
            overlap=1,
            ranks="context",
        ),
        "draft_ms=0.500 verify_ms=5.750 cycle_ms=6.750",
        "2.00 5.00",
    ),
    (
        Fake("uno-without-plugins", "uno_worker_v2", "UnoWorkerV2", UNO, algorithm="UNO", overlap=1),
        "draft_ms=0.500 verify_ms=5.750 cycle_ms=6.750",
        "2.00 5.00",
    ),
    (
        Fake(
            "a-worker-of-tomorrow",
            "tomorrow_worker",
            "TomorrowWorker",
            one_method("TomorrowWorker"),
            algorithm="TOMORROW",
            has_plugins=True,
            overlap=1,
            ranks="ps",
        ),
        TARGET_ONLY,
        "",
    ),
    (Fake("0.5.1-baseline", None), "decode_ms=3.000 cycle_ms=3.250", ""),
    (
        Fake("0.5.16-baseline", None, has_plugins=True, overlap=1, ranks="ps"),
        "decode_ms=3.000 cycle_ms=3.250",
        "",
    ),
)
