"""One thing that a reader must know before believing a server's figures."""

from __future__ import annotations

from dataclasses import dataclass

# Every kind there is, about a server or about the question as a whole.
NOTICE_KINDS = (
    *("batch_unsteady", "blob_data", "client_disagrees", "clock_backwards"),
    *("conditions_unread", "cut_columns", "cycle_disagrees", "dialect_failed", "formats_clash"),
    *("gap", "kv_full", "metrics_refused", "mixed_servers", "no_clean_samples"),
    *("no_common_level", "no_date", "not_a_server_log", "outliers"),
    *("outside_window", "phases_disagree", "phases_refused", "prefill_heavy", "ranks_missing"),
    *("reference_misfit", "reference_younger", "restart", "role_conflict"),
    *("speculation_inactive", "stats_missing", "unparsed"),
)


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is part of the JSON contract, `text` is for people."""

    kind: str
    text: str
