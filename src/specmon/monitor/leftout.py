"""Why samples are left out, in words."""

from __future__ import annotations

from specmon.analysis.rules import Rule

MEANINGS = {
    Rule.FIRST_AFTER_START.word: "the first one of its rank after the start; its window holds the start",
    Rule.AFTER_PREFILL.word: "a prefill lies in its window, so it does not show decoding alone",
    Rule.AFTER_IDLE.word: "its window is far longer than its cycles take: it holds idle time",
    Rule.BATCH_CHANGED.word: "another number of requests was running than at the sample before",
    Rule.RETRACTION.word: "requests were put back, aborted or lost in its window",
    Rule.CYCLE_OUTLIER.word: "its cycle is more than 1.5 times as long as is usual at its load",
    Rule.WARM_UP.word: "it lies in the time after the start that --warm-up leaves out",
    Rule.SUPERSEDED.word: "its level has moved since to another speed; figures count what came after",
}
