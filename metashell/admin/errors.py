"""What a question to a cluster ends in when it is not answered as hoped."""

from __future__ import annotations

from typing import Final

from metashell.admin.rights import REFUSALS
from metashell.codec import error_codes as codes
from metashell.codec.error_messages import error_message
from metashell.errors import MetashellError


class AdminError(MetashellError):
    """The cluster answered with an error: `orders: TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.`

    `code` is Kafka's number and `name` its name; `words` are the message that came with it, or Kafka's own for the code; `thing` is what it
    is about, empty for the cluster as a whole. `remark` is what is known of this very answer, often nothing: whoever knows it sets `right`,
    the right that was missing (`Admin.right_refused`), and `was_asked_again`, that the request had to be sent twice (`Admin.again`).
    What to do about an error is not known from its code: `metashell.cli.advice` asks the rulebook.
    """

    def __init__(self, code: int, message: str | None = None, thing: str = "") -> None:
        self.code = code
        self.name = codes.error_name(code)
        self.words = message or error_message(code)
        self.thing = thing
        self.right = ""
        self.was_asked_again = False
        # A controller's refusal names the whole request, as Java prints it, and nothing else.
        words = error_message(code) if self.words.startswith("Request Request(") else self.words
        super().__init__(": ".join(part for part in (thing, self.name, words) if part))

    @property
    def remark(self) -> str:
        """What is known of this answer beside its words, in a sentence."""
        if self.was_asked_again and self.code in _OWN_WORK:
            return _ASKED_AGAIN
        return f"It needs the right {self.right}." if self.right and self.code in REFUSALS else ""


def check_answer(code: int, message: str | None = None, thing: str = "") -> None:
    """Errors: AdminError for a code that is not NONE."""
    if code != codes.NONE:
        raise AdminError(code, message, thing)


class WrongListenerError(MetashellError):
    """An address is a broker's where a controller's is wanted, or the other way round."""


class UnsupportedError(MetashellError):
    """The cluster lacks an API, or a version of it; `api` is its name, `since` the first release that has it, if known.

    `java` is the message of the exception that Kafka's own client raises.
    """

    def __init__(self, message: str, *, api: str, since: str = "", java: str = "") -> None:
        super().__init__(message)
        self.api = api
        self.since = since
        self.java = java or message


class UncertainError(MetashellError):
    """The connection broke after a change was asked for: it may or may not have been done."""


_OWN_WORK: Final = frozenset(
    {
        codes.TOPIC_ALREADY_EXISTS,
        codes.UNKNOWN_TOPIC_OR_PARTITION,
        codes.INVALID_PARTITIONS,
        codes.RESOURCE_NOT_FOUND,
        codes.BROKER_ID_NOT_REGISTERED,
        codes.CONTROLLER_ID_NOT_REGISTERED,
        codes.DUPLICATE_VOTER,
        codes.VOTER_NOT_FOUND,
    }
)
"""What a change is answered with that has been made already."""
_ASKED_AGAIN: Final = "It was asked for twice, since the controller or the connection was lost: the first time may have done it. Look."
