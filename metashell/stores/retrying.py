"""Asking a store again that fails now and then: a few times, longer apart each time, and only for what another try can mend."""

from __future__ import annotations

from typing import Final, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
WAITS_S: Final = (0.1, 0.4, 1.6)
"""The store's own client has tried several times before each of these."""
_PASSING: Final = (
    "HTTP status 5",
    "SLOW_DOWN",
    "THROTTLING",
    "REQUEST_TIMEOUT",
    "INTERNAL_FAILURE",
    "SERVICE_UNAVAILABLE",
    "NETWORK_CONNECTION",
    "curlCode",
    "onnection reset",
    "imed out",
    "imeout",
    "ncomplete",
)
"""What a store says of trouble that may pass."""
_HOPELESS: Final = ("curlCode: 6,", "curlCode: 7,", "curlCode: 60,", "UNKNOWN_HOST")
"""Among these: no such host, nothing listens there, a certificate that is not trusted."""


def again(work: Callable[[], T], wait: Callable[[float], None] | None = None) -> T:
    """The result of work that may be repeated. Errors: that of the last try."""
    for seconds in WAITS_S:
        try:
            return work()
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError) or not may_pass(str(error)):
                raise
        _wait(seconds) if wait is None else wait(seconds)
    return work()


def may_pass(said: str) -> bool:
    """Whether what a store said is worth another try."""
    return any(word in said for word in _PASSING) and not any(word in said for word in _HOPELESS)


def _wait(seconds: float) -> None:
    from random import uniform
    from time import sleep

    # Many workers that failed at once shall not come back at once.
    sleep(seconds * uniform(0.5, 1.5))
