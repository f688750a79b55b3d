"""The workers of speculative decoding, one text for each class layout."""

from __future__ import annotations

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


EAGLE_V2 = v2("EAGLEWorkerV2", "EagleDraftWorker")
STANDALONE_V1 = """
from sglang.srt.speculative.eagle_worker import EAGLEWorker
class StandaloneWorker(EAGLEWorker): pass
"""
STANDALONE_V2 = """
from sglang.srt.speculative.eagle_worker_v2 import EAGLEWorkerV2, EagleDraftWorker
class StandaloneDraftWorker(EagleDraftWorker): pass
class StandaloneWorkerV2(EAGLEWorkerV2): pass
"""
FROZEN_V2 = v2(
    "FrozenKVMTPWorkerV2",
    "FrozenKVMTPDraftWorker",
    base="sglang.srt.speculative.eagle_worker_v2",
    inherits=True,
)
