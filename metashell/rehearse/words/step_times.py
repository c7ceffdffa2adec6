"""When the steps of a plan or command line begin."""

from __future__ import annotations

from metashell.amounts import duration_ms, duration_word
from metashell.errors import UsageError

AT = "at"
AFTER = "after"


class StepTimes:
    """Gives each step its time: `at` one of the rehearsal, `after` one since the step before began, else none.

    A step without a time begins as soon as nothing changes any more; the first one at once.
    """

    def __init__(self) -> None:
        self._is_first = True
        self._last_ms: int | None = 0
        self._newest_ms = 0

    def next(self, word: str | None = None, time: str = "") -> int | None:
        """The time of the next step, whose `at` or `after` is `time`. Errors: UsageError for one that cannot be, or goes back."""
        self._last_ms = self._time(word, time)
        self._is_first = False
        self._newest_ms = max(self._newest_ms, self._last_ms or 0)
        return self._last_ms

    def _time(self, word: str | None, time: str) -> int | None:
        if word is None:
            return 0 if self._is_first else None
        try:
            moment = duration_ms(time)
        except UsageError as error:
            raise UsageError(f"{word}: {error}", time) from None
        if word == AFTER:
            if self._last_ms is None:
                raise UsageError(f"{AFTER}: the previous step has no time, so this one cannot have one either", time)
            return self._last_ms + moment
        if moment < self._newest_ms:
            raise UsageError(f"{AT} is before an earlier step, which begins at {duration_word(self._newest_ms)}", time)
        return moment
