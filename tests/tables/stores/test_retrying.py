"""What is asked again, how often, and what never is."""

from __future__ import annotations

import pytest

from metashell.tables.stores.store import WAITS_S, retry

PASSING = (
    "When uploading: AWS Error UNKNOWN (HTTP status 503) during PutObject operation: no",
    "AWS Error SLOW_DOWN during PutObject operation: Please reduce your request rate.",
    "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 52, Server returned nothing",
    "Connection reset by peer",
)
LASTING = (
    "AWS Error NO_SUCH_BUCKET during PutObject operation: The specified bucket does not exist",
    "AWS Error ACCESS_DENIED during HeadObject operation: No response body.",
    "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect to server",
    "No space left on device",
)


class Work:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.waits: list[float] = []

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.mark.parametrize("said", PASSING)
def test_what_may_pass_is_asked_again_a_few_times(said: str) -> None:
    for count in range(len(WAITS_S) + 1):
        work = Work(*[OSError(said)] * count)
        assert retry(work, work.waits.append) == "done"
        assert work.waits == list(WAITS_S[:count])
    work = Work(*[OSError(said)] * 99)
    with pytest.raises(OSError, match=said[:10]):
        retry(work, work.waits.append)
    assert work.calls == len(WAITS_S) + 1


@pytest.mark.parametrize(
    "error", [*map(OSError, LASTING), FileNotFoundError("503 imed out"), PermissionError("curlCode: 52"), ValueError("HTTP status 503")]
)
def test_what_lasts_is_asked_once(error: Exception) -> None:
    work = Work(error)
    with pytest.raises(type(error)):
        retry(work, work.waits.append)
    assert (work.calls, work.waits) == (1, [])
