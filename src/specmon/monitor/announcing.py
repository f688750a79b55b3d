"""Which changes of the verdict are worth telling somebody who looks elsewhere, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from specmon.monitor.snapshot import Headline, Severity

GAP_S = 60.0


@dataclass(frozen=True, slots=True)
class Announcement:
    """The verdict has changed to this."""

    severity: Severity
    before: str  # the word of the verdict that was announced, or seen, last
    word: str
    sentence: str
    why: str = ""

    @property
    def text(self) -> str:
        """Sentence and cause in one line."""
        return " · ".join(part for part in (self.sentence, self.why) if part)


class Announcer:
    """Tells a change of the verdict's word once, and not more often than every `gap_s`.

    What changes meanwhile is held back: when the gap is over, the verdict of that moment is told, if it still differs
    from the one told last. A change into an alert waits only for
    another alert. The verdict that is there at first is nobody's news.
    """

    def __init__(self, *, gap_s: float = GAP_S) -> None:
        self._gap_s = gap_s
        self._word: str | None = None
        self._told_at: float | None = None
        self._told_alert = False

    def see(self, headline: Headline, now: float) -> Announcement | None:
        """What has to be told of a verdict that stands at `now`, in seconds of a clock that never goes back."""
        if self._word is None:
            self._word = headline.word
            return None
        is_alert = headline.severity is Severity.ALERT
        if headline.word == self._word or (self._is_too_soon(now) and not (is_alert and not self._told_alert)):
            return None
        before, self._word = self._word, headline.word
        self._told_at, self._told_alert = now, is_alert
        return Announcement(headline.severity, before, headline.word, headline.sentence, headline.why)

    def _is_too_soon(self, now: float) -> bool:
        return self._told_at is not None and now < self._told_at + self._gap_s
