"""The four assumptions of every such study, each with what is known about it.

(1) the baseline reproduces, (2) the method is sound, (3) speculation is the only difference, (4) the level that was
compared is the one that matters.
"""

from __future__ import annotations

from collections.abc import Sequence

from specmon.analysis.comparison import SAMPLES_NEEDED, Comparison
from specmon.monitor.life import Life
from specmon.monitor.method import ClientEvidence, Finding, findings_of
from specmon.monitor.snapshot import CheckPoint, Difference, Trust, TrustView
from specmon.monitor.verdict import Judged, load_of
from specmon.shares import percent

_NAMED = 6  # settings or levels that a sentence lists
_MOST = 0.5  # share of a server's samples from which a level stands for its load

_MEASURE = (
    "let a client measure while the server logs, and give its result: --client FILE (sglang.bench_serving, vllm bench, "
    "aiperf)"
)
_LOAD = "measure with as many requests at once as your users bring, or name the load that matters: --running N"
_REPRODUCE = {
    Trust.NO_REFERENCE: "record a reference of this model and load: `specmon reference record NAME SOURCE`",
    Trust.WAITING: "wait for clean samples of the baseline",
    Trust.DRIFTING: "watch it: more samples will tell whether it has left its reference",
    Trust.DIVERGED: "put back what differs from the reference (d shows it) and measure again; until then believe the "
    "ratio against the reference. If the new speed is the right one, record it as a reference",
}


def checklist_of(
    baseline: Life,
    speculative: Life,
    judged: Judged,
    *,
    trust: TrustView | None,
    differences: Sequence[Difference],
    clients: tuple[Sequence[ClientEvidence], Sequence[ClientEvidence]] = ((), ()),
    is_level_asked: bool = False,
) -> tuple[CheckPoint, ...]:
    """All four. `trust` is None when no reference was asked for; `clients` measured the baseline and the other."""
    running = judged.comparison.running
    found = findings_of(baseline, running, clients[0]), findings_of(speculative, running, clients[1])
    return (
        _reproduces(trust),
        _method(*found),
        _only_speculation(baseline, speculative, differences),
        _right_level(baseline, speculative, judged, is_level_asked=is_level_asked),
    )


def _reproduces(trust: TrustView | None) -> CheckPoint:
    if trust is None:
        return CheckPoint(
            "reproduces",
            "unknown",
            "no reference was given, so nobody knows whether this baseline is the usual one",
            "record one while the server is as it should be (`specmon reference record NAME SOURCE`), or write a known "
            "speed down (--reference-tok-s X@B), and give it with --reference NAME",
        )
    states = {Trust.MATCHES: "ok", Trust.RECOVERED: "ok", Trust.DIVERGED: "failed"}
    evidence = trust.sentence
    if trust.samples_seen and trust.state is not Trust.WAITING:
        evidence += f", {trust.samples_seen} clean samples"
    return CheckPoint("reproduces", states.get(trust.state, "unknown"), evidence, _REPRODUCE.get(trust.state, ""))


def _method(baseline: Sequence[Finding], speculative: Sequence[Finding]) -> CheckPoint:
    sides = [("baseline", baseline), ("speculative", speculative)]
    texts = [f"{side}: {'; '.join(each.text for each in _sorted(found))}" for side, found in sides if found]
    texts[1:] = [f"{text[0].upper()}{text[1:]}" for text in texts[1:]]  # a sentence behind another
    if not texts:
        evidence = "nothing independent to check the logs by: give a client's result (--client FILE)"
        return CheckPoint("method", "unknown", evidence, _MEASURE)
    if any(each.state == "failed" for _, found in sides for each in found):
        mend = "find out which of the two counts wrongly before you believe a ratio of these figures"
        return CheckPoint("method", "failed", ". ".join(texts), mend)
    is_checked = all(any(each.state == "ok" for each in found) for _, found in sides)
    missing = [side for side, found in sides if not found]
    if missing:
        texts.append(f"Nothing to check the {missing[0]} log by (--client FILE would be)")
    return CheckPoint("method", "ok" if is_checked else "unknown", ". ".join(texts), "" if is_checked else _MEASURE)


def _sorted(found: Sequence[Finding]) -> list[Finding]:
    return sorted(found, key=lambda each: ("failed", "unknown", "ok").index(each.state))


def _only_speculation(baseline: Life, speculative: Life, differences: Sequence[Difference]) -> CheckPoint:
    conditions = baseline.conditions, speculative.conditions
    weighty = [difference for difference in differences if difference.weight == "matters"]
    if weighty:
        shown = ", ".join(_told(each) for each in weighty[:_NAMED])
        more = f" and {len(weighty) - _NAMED} more" if len(weighty) > _NAMED else ""
        return CheckPoint(
            "only_speculation",
            "failed",
            f"besides speculation these differ: {shown}{more}",
            "start both servers with the same of these, and measure again",
        )
    flags = [each.flags for each in conditions]
    if flags[0] is None or flags[1] is None:
        side = "baseline" if flags[0] is None else "speculative"
        return CheckPoint(
            "only_speculation",
            "unknown",
            f"the {side} log holds no launch line, so its settings are not known",
            "give the whole log, or watch the server with `specmon connect`, which reads its flags from the process",
        )
    shared = len(flags[0].keys() & flags[1].keys())
    evidence = (
        f"{shared} {'flag' if shared == 1 else 'flags'} that both name {'was' if shared == 1 else 'were'} compared"
    )
    envs = [each.env for each in conditions]
    if envs[0] is not None and envs[1] is not None:
        variables = len(envs[0].keys() | envs[1].keys())
        evidence += f" and {variables} {'variable' if variables == 1 else 'variables'}"
    evidence += ": between the two servers none differs that is known to matter"
    strange = [difference.name for difference in differences if difference.weight == "unknown"]
    if strange:
        more = f" and {len(strange) - _NAMED} more" if len(strange) > _NAMED else ""
        evidence += f"; of unknown effect: {', '.join(strange[:_NAMED])}{more}"
    if envs[0] is None or envs[1] is None:
        return CheckPoint(
            "only_speculation",
            "unknown",
            f"{evidence}; the environments were not read",
            "watch both servers with `specmon connect`, which reads their environment (`specmon capture` does, too)",
        )
    same = "start both servers with the same of these, if you cannot rule out that they matter"
    return CheckPoint("only_speculation", "unknown" if strange else "ok", evidence, same if strange else "")


def _told(difference: Difference) -> str:
    return f"{difference.name} ({difference.before or 'unset'} against {difference.now or 'unset'})"


def _right_level(baseline: Life, speculative: Life, judged: Judged, *, is_level_asked: bool) -> CheckPoint:
    running = judged.comparison.running
    if running is None:
        return CheckPoint("right_level", "unknown", "no level was compared", _LOAD)
    counts = baseline.statistics.samples_by_level, speculative.statistics.samples_by_level
    span = judged.comparison.running_range or (running, running)
    shares = [_share(each, span) for each in counts]
    evidence = (
        f"compared at {load_of(judged.comparison)}, which is {percent(shares[0])} of the baseline's samples "
        f"and {percent(shares[1])} of the speculative server's"
    )
    measured = {level.baseline.running: level for level in judged.levels if level.baseline is not None}
    inside = set(range(span[0], span[1] + 1))
    others = [_with_speedup(each, level) for each, level in sorted(measured.items()) if each not in inside]
    lonely = sorted({*counts[0], *counts[1]} - measured.keys() - inside)
    if others:
        evidence += f"; also measured on both: {_listed(others)}"
    if lonely:
        evidence += f"; on one side only: {_listed([str(each) for each in lonely])}"
    if not others and not lonely:
        evidence += "; no other load was seen"
    if judged.elsewhere:
        evidence = f"{evidence}. Another level tells another story: {judged.elsewhere}"
        return CheckPoint("right_level", "failed", evidence, "decide by the load that your users bring: --running N")
    is_fine = is_level_asked or min(shares) >= _MOST
    return CheckPoint("right_level", "ok" if is_fine else "unknown", evidence, "" if is_fine else _LOAD)


def _with_speedup(running: int, level: Comparison) -> str:
    """A ratio of a few samples is none that could be set against the compared one."""
    if level.baseline is None or level.speculative is None or level.speedup is None:
        return str(running)
    if min(level.baseline.clean, level.speculative.clean) < SAMPLES_NEEDED:
        return f"{running} (too few clean samples)"
    return f"{running} ({level.speedup:.2f}×)"


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _share(counts: dict[int, int], span: tuple[int, int]) -> float:
    total = sum(counts.values())
    inside = sum(samples for running, samples in counts.items() if span[0] <= running <= span[1])
    return inside / total if total else 0.0
