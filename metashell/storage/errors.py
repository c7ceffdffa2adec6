"""What storage commands refuse, by what Kafka's tool does with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import MetashellError

if TYPE_CHECKING:
    from collections.abc import Iterable


class StorageError(MetashellError):
    """A refusal for which Kafka's tool has one line of its own; the text is that line.

    `word` is a name that is not known, and `known` are those that are.
    """

    def __init__(self, message: str, word: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.word = word
        self.known = tuple(known)


class ConfigError(MetashellError):
    """A configuration, voter string or feature that Kafka's tool ends on with a stack trace; the text is the exception's.

    `plain` is the text in our words, where these differ. `file` is the properties file, if the configuration is from one. `directories`
    are the log directories that the configuration names nevertheless, None where it could not be read so far.
    """

    def __init__(self, message: str, plain: str = "") -> None:
        super().__init__(message)
        self.plain = plain or message
        self.file = ""
        self.directories: tuple[str, ...] | None = None
