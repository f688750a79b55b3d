"""Which methods of SGLang are hooked, and what each one is in a cycle.

Names as they stand in SGLang 0.5.0 to 0.5.23. A module that a server does not use is never imported, and a method
that a version does not have is passed over; a worker that is not listed here leaves the target model's forward.
"""

from __future__ import annotations

from dataclasses import dataclass

_SPECULATIVE = "sglang.srt.speculative."

DRAFT, VERIFY, DRAFT_EXTEND, DECODE = "draft", "verify", "draft_extend", "decode"
V1_ENTRIES = ("forward_batch_generation", "forward_batch_speculative_generation")  # the second up to 0.5.2
_ENTRY = ("forward_batch_generation",)
_PLAN = "_draft_extend_plan_for_decode"  # multi-layer MTP from 0.5.23 on, before verify
OPTIONAL = frozenset({_PLAN})


@dataclass(frozen=True)
class Layout:
    """One class: the methods that hold a whole cycle (or a prefill), and those that hold a phase."""

    module: str
    owner: str
    entries: tuple[str, ...] = ()
    phases: tuple[tuple[str, str], ...] = ()  # method, phase; without a verify, the target's forward stands for it

    def path(self, method: str) -> str:
        """The dotted path that SGLang's hook registry takes."""
        return f"{self.module}.{self.owner}.{method}"


def _v1(module: str, owner: str) -> Layout:
    phases = (("draft", DRAFT), ("verify", VERIFY), ("forward_draft_extend_after_decode", DRAFT_EXTEND))
    return Layout(_SPECULATIVE + module, owner, V1_ENTRIES, phases)


def _v2(module: str, worker: str, drafter: str) -> tuple[Layout, Layout]:
    return (
        Layout(_SPECULATIVE + module, worker, _ENTRY, (("verify", VERIFY),)),
        Layout(
            _SPECULATIVE + module,
            drafter,
            phases=(
                ("draft", DRAFT),
                (_PLAN, DRAFT_EXTEND),
                ("_draft_extend_for_decode", DRAFT_EXTEND),
            ),
        ),
    )


def _target_only(module: str, owner: str, *phases: tuple[str, str]) -> Layout:
    return Layout(_SPECULATIVE + module, owner, _ENTRY, phases)


# Subclasses that override nothing (STANDALONE of both kinds, FROZEN_KV_MTP's verify) are covered by their base.
WORKERS: tuple[Layout, ...] = (
    _v1("eagle_worker", "EAGLEWorker"),
    _v1("multi_layer_eagle_worker", "MultiLayerEagleWorker"),
    _v1("frozen_kv_mtp_worker", "FrozenKVMTPWorker"),
    *_v2("eagle_worker_v2", "EAGLEWorkerV2", "EagleDraftWorker"),
    *_v2("multi_layer_eagle_worker_v2", "MultiLayerEagleWorkerV2", "MultiLayerEagleDraftWorker"),
    *_v2("frozen_kv_mtp_worker_v2", "FrozenKVMTPWorkerV2", "FrozenKVMTPDraftWorker"),
    _target_only("ngram_worker", "NGRAMWorker", ("_prepare_for_speculative_decoding", DRAFT)),  # a lookup of the CPU
    _target_only("dflash_worker", "DFlashWorker"),
    _target_only("dflash_worker_v2", "DFlashWorkerV2"),
    _target_only("dspark_components.dspark_worker_v2", "DSparkWorkerV2"),
    Layout(
        _SPECULATIVE + "uno_worker_v2",
        "UnoWorkerV2",
        _ENTRY,
        (("_run_draft_block", DRAFT), ("_run_target_block", VERIFY), ("_accept_and_pack", VERIFY)),
    ),
)
TARGET = Layout("sglang.srt.managers.tp_worker", "TpModelWorker", _ENTRY)
SCHEDULER = Layout("sglang.srt.managers.scheduler", "Scheduler", ("process_batch_result",))
