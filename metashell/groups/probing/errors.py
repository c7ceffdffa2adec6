"""What Kafka Streams throws at bytes, versions and assignments that it cannot take."""

from __future__ import annotations

from metashell.errors import MetashellError


class ProbingError(MetashellError):
    """Shape: `java_class` is the exception's simple name, `message` its text; None where Java has none."""

    def __init__(self, java_class: str, message: str | None) -> None:
        super().__init__(message or java_class)
        self.java_class = java_class
        self.message = message


def task_assignment_error(message: str) -> ProbingError:
    return ProbingError("TaskAssignmentException", message)
