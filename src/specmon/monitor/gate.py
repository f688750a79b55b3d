"""The questions of a gate: what a session must not show, each with its answer and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property

from specmon.analysis.comparison import SAMPLES_NEEDED
from specmon.errors import ConfigError
from specmon.monitor.headline import likely_cause
from specmon.monitor.notice import NOTICE_KINDS
from specmon.monitor.notices import notices_of
from specmon.monitor.session import Session
from specmon.monitor.snapshot import Role, RunState, Trust, TrustView
from specmon.monitor.verdict import Judged, load_of
from specmon.references.diff import compare

DEFAULT_WORDS = ("slower", "diverged", "crash")

# What each word fails on; the ids of the checklist and the kinds of notices are words too.
OWN_WORDS = {
    "slower": "speculation decodes slower than the measured baseline",
    "not-faster": "speculation is slower than the measured baseline, or equal to it within 2 %",
    "delivers-slower": "what clients get is less with speculation, prefill stalls included",
    "slower-than-reference": "speculation decodes slower than the reference",
    "not-comparable": "the two servers differ in something that no ratio survives (model, parallelism, CUDA graphs)",
    "diverged": "the measured baseline has left its reference",
    "drifting": "the measured baseline has left its reference, or is on its way",
    "crash": "a server crashed in the run that is judged",
    "reproduces": "point 1 of the checklist: the baseline is not the recorded one",
    "method": "point 2: an independent figure contradicts the log",
    "only-speculation": "point 3: a setting that is known to matter differs besides speculation",
    "right-level": "point 4: another load tells another story",
}
_CHECKLIST = {"reproduces", "method", "only-speculation", "right-level"}


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's outcome."""

    word: str
    state: str  # ok, failed, undecided
    evidence: str
    source: str | None = None  # the log that it is about, when it is one


def words_of(text: str) -> tuple[str, ...]:
    """The words of `--fail-on`, in their order; ConfigError naming those that look like one that is unknown."""
    known = {_plain(word): word for word in (*OWN_WORDS, *NOTICE_KINDS)}
    given = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in given if _plain(part) not in known]
    if unknown or not given:
        fault = f"{unknown[0]!r} is no question" if unknown else "it names no question"
        like = [known[word] for word in get_close_matches(_plain(unknown[0]), known, 3, 0.6)] if unknown else []
        hint = f"did you mean {' or '.join(like)}?" if like else f"such are {', '.join(DEFAULT_WORDS)}."
        raise ConfigError(f"--fail-on: {fault}: {hint} `--fail-on help` lists all.")
    return tuple(dict.fromkeys(known[_plain(part)] for part in given))


def listed_words() -> list[str]:
    """What `--fail-on` may name: each word with its meaning, then the kinds of notices."""
    width = max(map(len, OWN_WORDS))
    notices = ", ".join(NOTICE_KINDS)
    return [*(f"{word:<{width}}  {meaning}" for word, meaning in OWN_WORDS.items()), f"or a notice: {notices}"]


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def exit_code_of(answers: Iterable[Answer], *, is_input_wrong: bool) -> int:
    """2 for wrong input, else 1 when a question failed, else 3 when one has no answer, else 0."""
    states = {answer.state for answer in answers}
    if is_input_wrong:
        return 2
    if "failed" in states:
        return 1
    return 3 if "undecided" in states else 0


@dataclass
class Gate:
    """Asks a finished session. `min_samples`: clean samples a side below which nothing about speed is answered."""

    session: Session
    min_samples: int = SAMPLES_NEEDED

    def answers(self, words: Iterable[str]) -> tuple[Answer, ...]:
        """An answer to each word."""
        own: dict[str, Callable[[], Answer]] = {
            "slower": lambda: self._by_verdict("slower", ("slower",)),
            "not-faster": lambda: self._by_verdict("not-faster", ("slower", "equal")),
            "delivers-slower": self._delivers_slower,
            "slower-than-reference": self._slower_than_reference,
            "not-comparable": self._not_comparable,
            "diverged": lambda: self._by_trust("diverged", (Trust.DIVERGED,)),
            "drifting": lambda: self._by_trust("drifting", (Trust.DIVERGED, Trust.DRIFTING)),
            "crash": self._crash,
        }
        return tuple(
            self._with_conflict(own[word]())
            if word in own
            else self._with_conflict(self._assumption(word))
            if word in _CHECKLIST
            else self._notice(word)
            for word in words
        )

    def _with_conflict(self, answer: Answer) -> Answer:
        """An answer about a side is worth nothing to somebody who mixed the two up."""
        if answer.word == "crash" or not self._conflict:
            return answer
        return replace(answer, evidence=f"{answer.evidence}. {self._conflict}")

    @cached_property
    def _conflict(self) -> str:
        """Where a log contradicts the side that it was given for."""
        names = self.session.names()
        return " ".join(
            f"{names[server.key]}: {notice.text}"
            for server in self.session.servers
            for notice in notices_of(server, is_finished=True)
            if notice.kind == "role_conflict"
        )

    @cached_property
    def _judged(self) -> Judged | None:
        return self.session.judge()

    @property
    def _no_pair(self) -> str:
        """Why there is no comparison, and what to do."""
        for role, option in ((Role.BASELINE, "--baseline"), (Role.SPECULATIVE, "--spec")):
            side = self.session.side(role)
            if not side:
                return f"no {role.value} server among the logs: give its log too, or leave the question out (--fail-on)"
            if len(side) > 1:
                return f"{len(side)} {role.value} servers: choose one with {option}"
        return "one of the servers has not written anything yet"

    def _too_few(self, judged: Judged) -> str | None:
        found = judged.comparison
        counts = [side.clean if side is not None else 0 for side in (found.baseline, found.speculative)]
        if found.running is None or min(counts) >= self.min_samples:
            return None
        return (
            f"{counts[0]} and {counts[1]} clean samples (baseline, speculative) at {load_of(found)}, "
            f"--min-samples asks for {self.min_samples}"
        )

    def _by_verdict(self, word: str, failing: tuple[str, ...]) -> Answer:
        judged = self._judged
        if judged is None:
            return Answer(word, "undecided", self._no_pair)
        verdict = judged.comparison.verdict
        evidence = judged.sentence
        if judged.against_sentence and verdict != "not comparable":
            evidence += f"; {judged.against_sentence}"
        if verdict in ("cannot tell", "not comparable"):
            return Answer(word, "undecided", evidence)
        if (few := self._too_few(judged)) is not None:
            return Answer(word, "undecided", f"{few}; so far {evidence}")
        return Answer(word, "failed" if verdict in failing else "ok", evidence)

    def _delivers_slower(self) -> Answer:
        word, judged = "delivers-slower", self._judged
        if judged is None:
            return Answer(word, "undecided", self._no_pair)
        found = judged.comparison
        if found.verdict == "not comparable" or found.delivered_speedup is None:
            return Answer(word, "undecided", judged.sentence)
        evidence = f"delivers {found.delivered_speedup:.2f}× at {load_of(found)}, prefill stalls included"
        interval = found.delivered_ci95
        if interval is not None:
            evidence += f" (95 % {interval[0]:.2f} to {interval[1]:.2f})"
        if interval is None or interval[0] <= 1 <= interval[1]:
            return Answer(word, "undecided", f"{evidence}: the runs are too short to tell")
        return Answer(word, "failed" if interval[1] < 1 else "ok", evidence)

    def _slower_than_reference(self) -> Answer:
        word, judged = "slower-than-reference", self._judged
        if self.session.reference is None:
            return Answer(word, "undecided", _NO_REFERENCE)
        if judged is None:
            return Answer(word, "undecided", self._no_pair)
        if judged.against is None:
            name = self.session.reference.name
            return Answer(word, "undecided", f"reference {name} has no speed at the level that was compared")
        if (few := self._too_few(judged)) is not None:
            return Answer(word, "undecided", few)
        states = {"slower": "failed", "faster": "ok", "equal": "ok"}
        return Answer(word, states.get(judged.against.verdict, "undecided"), judged.against_sentence)

    def _not_comparable(self) -> Answer:
        word, judged = "not-comparable", self._judged
        if judged is None:
            return Answer(word, "undecided", self._no_pair)
        is_failed = judged.comparison.verdict == "not comparable"
        return Answer(word, "failed" if is_failed else "ok", judged.sentence)

    def _by_trust(self, word: str, failing: tuple[Trust, ...]) -> Answer:
        session = self.session
        if session.reference is None:
            return Answer(word, "undecided", _NO_REFERENCE)
        baselines = session.side(Role.BASELINE)
        if len(baselines) != 1:
            count = f"{len(baselines)} baseline servers: choose one with --baseline"
            return Answer(word, "undecided", count if baselines else "no baseline server among the logs: give its log")
        baseline = baselines[0]
        if (misfit := session.reference_misfit(baseline)) is not None:
            return Answer(word, "undecided", misfit, baseline.source)
        view = session.trust_view(baseline, is_exact=True)
        younger = [notice.text for notice in session.notices() if notice.kind == "reference_younger"]
        evidence = ". ".join([_trust_evidence(view), *younger])
        if view.state in (Trust.WAITING, Trust.NO_REFERENCE):
            return Answer(word, "undecided", evidence, baseline.source)
        if view.state in failing:
            return Answer(word, "failed", evidence, baseline.source)
        if view.samples_seen < self.min_samples:
            few = f"{view.samples_seen} clean samples, {self.min_samples} are asked for; so far {evidence}"
            return Answer(word, "undecided", few, baseline.source)
        return Answer(word, "ok", evidence, baseline.source)

    def _crash(self) -> Answer:
        session = self.session
        names = session.names()
        silent = []
        for server in session.servers:
            life = server.life
            if life is None or server.engine is None:
                silent.append(names[server.key])
            elif life.state is RunState.CRASHED:
                detail = next((each.detail for each in reversed(life.happenings) if each.kind == "crash"), "")
                words = f"{names[server.key]} crashed" + (f": {detail}" if detail else "")
                return Answer("crash", "failed", words, server.source)
        if silent or not session.servers:
            evidence = f"{', '.join(silent)}: not the log of an LLM server" if silent else "no server was given"
            return Answer("crash", "undecided", evidence)
        count = len(session.servers)
        evidence = f"{count} server{'s' if count > 1 else ''}, none crashed"
        earlier = [
            names[server.key]
            for server in session.servers
            if server.history.lives.gone_crashed
            or any(life.state is RunState.CRASHED for life in server.lives if life is not server.life)
        ]
        if earlier:
            evidence += f" in the run that is judged; another run of {', '.join(earlier)} did"
        return Answer("crash", "ok", evidence)

    def _assumption(self, word: str) -> Answer:
        judged = self._judged
        baseline, speculative = self.session.pair()
        if judged is None or baseline is None or speculative is None:
            return Answer(word, "undecided", self._no_pair)
        assert baseline.life is not None
        assert speculative.life is not None
        differences = compare(baseline.life.conditions, speculative.life.conditions, is_speculation_expected=True)
        points = {_plain(point.id): point for point in self.session.checklist(judged, differences)}
        point = points[_plain(word)]
        return Answer(word, "undecided" if point.state == "unknown" else point.state, point.evidence)

    def _notice(self, kind: str) -> Answer:
        names = self.session.names()
        found = [(None, notice) for notice in self.session.notices() if notice.kind == kind]
        told = [f"{notice.text}" for _, notice in found]
        source = None
        for server in self.session.servers:
            for notice in notices_of(server, is_finished=True):
                if notice.kind == kind:
                    told.append(f"{names[server.key]}: {notice.text}")
                    source = source or server.source
        if told:
            return Answer(kind, "failed", " ".join(told), source)
        return Answer(kind, "ok", "no server has this notice")


_NO_REFERENCE = "no reference was given: give --reference NAME, or leave the question out (--fail-on slower,crash)"


def _trust_evidence(view: TrustView) -> str:
    evidence = view.sentence
    if view.samples_seen and view.state is not Trust.WAITING:
        evidence += f", {view.samples_seen} clean samples"
    cause = likely_cause(view.causes)
    return f"{evidence}; likely cause: {cause}" if cause else evidence
