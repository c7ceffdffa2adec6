"""What storage commands refuse, by what Kafka's tool does with it."""

from __future__ import annotations

from metashell.errors import MetashellError


class StorageError(MetashellError):
    """A refusal that Kafka's tool tells in one line of its own; ours repeats that line word for word."""


class ConfigError(MetashellError):
    """A configuration, voter string or feature that Kafka's tool ends on with a stack trace; the text is the exception's."""
