"""Rows of assignors: JSON objects with `assignor`, `input` and `output`, as `metashell groups assign` takes and gives them."""

from __future__ import annotations

from typing import Any, Final

from metashell.errors import UsageError
from metashell.groups.assignors.client_rows import CLIENT_NAMES, answer_client
from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.json_fields import Field
from metashell.groups.assignors.server_rows import SERVER_NAMES, answer_server

ASSIGNORS: Final = (*CLIENT_NAMES, *SERVER_NAMES)


def answer(assignor: str | None, row: dict[str, Any], place: str = "") -> dict[str, Any]:
    """A row with its output: that of an assignor, or else of the one that the row names. A bare input becomes a row.

    Shape: what the row has besides stays. The output has `error` and `message` where Kafka's class throws.
    Errors: UsageError for what is no input, which names the place.
    """
    given = Field(row, place)
    is_bare = "input" not in row and "members" in row
    if assignor is None:
        if not given.has("assignor"):
            raise UsageError(f"{place + ': ' if place else ''}no assignor is named: give --assignor", "--assignor")
        field = given.at("assignor")
        assignor = field.text()
        if assignor not in ASSIGNORS:
            raise field.wrong(f"one of {', '.join(ASSIGNORS)}")
    try:
        answer_from = answer_server if assignor in SERVER_NAMES else answer_client
        output = answer_from(assignor, given if is_bare else given.at("input"))
    except AssignorError as error:
        output = {"error": error.java_class, "message": error.message}
    if is_bare:
        return {"assignor": assignor, "input": {key: value for key, value in row.items() if key != "assignor"}, "output": output}
    return {**row, "assignor": assignor, "output": output}
