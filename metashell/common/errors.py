"""The families of errors that cross module borders, and what each carries.

A message starts with the thing at fault and gives the value. Our own broken invariants are assertions, never one of these. `StorageError`
and `ConfigError` distinguish how Kafka's storage tool ends: with one line, or with a stack trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class MetashellError(Exception):
    """The base of every error of this package."""


class DecodeError(MetashellError):
    """Bytes that do not fit the schema.

    `field_path` names the field (`EndPoints[1].Host`), `offset` is the index in the buffer that was read, -1 if unknown.
    """

    def __init__(self, message: str, field_path: str = "", offset: int = -1) -> None:
        super().__init__(message)
        self.field_path = field_path
        self.offset = offset


class EncodeError(MetashellError):
    """A value that does not fit the schema, with the path of its field."""

    def __init__(self, message: str, field_path: str = "") -> None:
        super().__init__(message)
        self.field_path = field_path


class LogCorruptError(MetashellError):
    """A bad place in a file: the file, the byte position or log offset, and the reason."""

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(f"{file}: offset {offset}: {reason}")
        self.file = file
        self.offset = offset
        self.reason = reason

    def __reduce__(self) -> tuple[type[LogCorruptError], tuple[str, int, str]]:
        # Pickle would call the class with the message alone. Worker processes raise this error, so it must survive pickling.
        return type(self), (self.file, self.offset, self.reason)


class UnknownRecordError(LogCorruptError):
    """An undamaged record, batch or field that only a newer release knows: this release must not run on it. The message names a remedy."""

    def __init__(self, file: str, offset: int, reason: str) -> None:
        super().__init__(file, offset, f"{reason}. {_NEWER_RELEASE}")

    def __reduce__(self) -> tuple[type[LogCorruptError], tuple[str, int, str]]:
        return type(self), (self.file, self.offset, self.reason.removesuffix(f". {_NEWER_RELEASE}"))


_NEWER_RELEASE = "Start a newer release on this directory as it is: do not format it again, and do not delete its log"


class UsageError(MetashellError):
    """The operator's mistake, reported in one line without a traceback. `argument` is the word at fault."""

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class PathError(UsageError):
    """A path that does not exist or cannot be opened. The command line itself is valid, so the exit status is that of a failure."""

    @classmethod
    def of(cls, path: str, error: OSError) -> PathError:
        """Turn an error of the operating system into one about the path that the operator named."""
        return cls(f"{path}: {reason_of(error)}", path)


def reason_of(error: OSError) -> str:
    """The operating system's reason, without the words that pyarrow puts around it."""
    text = error.strerror or str(error)
    return text.partition(f"[errno {error.errno}] ")[2] or text


class StorageError(MetashellError):
    """A refusal that Kafka's tool prints as one line. The text is that line.

    `word` is an unknown name in it, and `known` are the known ones.
    """

    def __init__(self, message: str, word: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.word = word
        self.known = tuple(known)


class ConfigError(MetashellError):
    """A configuration, voter string or feature at which Kafka's tool ends with a stack trace. The text is the exception's.

    `plain` is our text where it differs. `file` is the properties file, if there is one. `directories` are the log directories that the
    configuration names, None where reading failed before they were known.
    """

    def __init__(self, message: str, plain: str = "") -> None:
        super().__init__(message)
        self.plain = plain or message
        self.file = ""
        self.directories: tuple[str, ...] | None = None
