"""How an assignor fails."""

from __future__ import annotations

from metashell.errors import MetashellError

ASSIGNOR_EXCEPTION = "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"


class AssignorError(MetashellError):
    """What Kafka's class throws. Shape: `java_class` is the exception's name; `message` may be missing."""

    def __init__(self, java_class: str, message: str | None = None) -> None:
        super().__init__(message or java_class)
        self.java_class = java_class
        self.message = message
