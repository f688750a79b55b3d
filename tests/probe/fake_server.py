"""What all fakes share: torch with a virtual clock, the scheduler, the launcher, the plugin framework.

Module paths, class names and method names are SGLang's; everything inside is ours and only lets time pass.
"""

from __future__ import annotations

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

# Up to 0.5.3 a server without speculation overlaps by a thread: the scheduler hands a batch over and goes on.
OVERLAP_THREAD = """
import queue, threading
import torch
from sglang.srt.managers.batch import GenerationBatchResult
from sglang.srt.managers.tp_worker import TpModelWorker
class TpModelWorkerClient:
    def __init__(self, server_args):
        self.worker = TpModelWorker(server_args)
        self.input_queue = queue.Queue()
        threading.Thread(target=self.forward_thread_func, daemon=True).start()
    def forward_thread_func(self):
        while True:
            batch, result = self.input_queue.get()
            torch.work(0.25)
            self.worker.forward_batch_generation(batch)
            result.launched.set()
    def forward_batch_generation(self, batch):
        result = GenerationBatchResult()
        result.launched = threading.Event()
        self.input_queue.put((batch, result))
        return result
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
        SCHEDULING
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
        if (launched := getattr(result, "launched", None)) is not None:
            assert launched.wait(90)
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

# As the genuine one does, it loads the plugins before it imports what imports the scheduler.
LAUNCH = """
import argparse
if __name__ == "__main__":
    PLUGINS
    LOAD_PLUGINS
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
