"""metashell groups assign: computes the assignments of assignors for rows of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.tool import parsed
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import JsonWriter, aligned, counted, standard_output, write_objects
from metashell.common.terminal import terminal_line
from metashell.disk.files import open_file
from metashell.groups.assignors.rows import answer_row, input_warnings
from metashell.groups.view import parts_text, ranges_text
from metashell.rehearse.placement.plan_file import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from metashell.common.forms import Display
    from metashell.common.options import CommandSpec

    Row = dict[str, Any]

COLUMNS = ("id", "assignor", "member", "topic", "partitions")
STDIN = "-"
_READ_SIZE = 1 << 20


def assign(command: CommandSpec, words: Sequence[str]) -> int:
    """Answer every row of the files and return the exit status. Errors: UsageError; MetashellError for a file."""
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    work = _Work(command.name, values.output, standard_output(), is_check=values.check)
    try:
        for place, row in _rows(values.files):
            work.take(place, row, values.assignor)
    except UsageError as error:
        if error.argument == "--assignor":
            raise
        # The command line is right even if a file is missing, cannot be read or holds something else.
        raise _WrongFileError(error) from None
    finally:
        work.close()
    return work.status


class _WrongFileError(MetashellError):
    """A file without valid inputs; `excerpt` shows the faulty place if it is known."""

    def __init__(self, error: MetashellError) -> None:
        super().__init__(str(error))
        self.excerpt: tuple[str, ...] = getattr(error, "excerpt", ())


class _Work:
    """The answers to the rows. Shape: `status` is the exit status for the rows so far."""

    def __init__(self, name: str, form: str, display: Display, *, is_check: bool) -> None:
        self.status = STATUS_OK
        self._name = name
        self._form = form
        self._display = display
        self._is_check = is_check
        self._writer = JsonWriter(display, form) if form in ("json", "jsonl") else None
        self._cells: list[Row] = []

    def take(self, place: str, row: Row, assignor: str | None) -> None:
        given = row.get("output")
        answered = answer_row(assignor, row, place)
        if self._is_check:
            if not isinstance(given, dict):
                self._complain(place, "there is no output to compare with")
                return
            if answered["output"] == given:
                return
            self._complain(place, f"{_called(answered)}: the output differs")
        else:
            for text in input_warnings(answered["assignor"], row):
                complain(self._name, f"{place}: {_called(answered)}: {text}")
        if not self._is_check and "error" in answered["output"]:
            self._complain(place, f"{_called(answered)}: {_error_text(answered['output'])}")
        if self._writer is not None:
            self._writer.add(answered)
        elif self._form == "text":
            _write_text(self._display, answered)
        else:
            self._cells += _cells(answered)

    def _complain(self, place: str, text: str) -> None:
        complain(self._name, f"{place}: {text}")
        self.status = STATUS_FAILED

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        elif self._cells:
            write_objects(self._display, self._form, self._cells, columns=COLUMNS)


def _rows(paths: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """Yield the objects in the files, each with the name of its place. Errors: UsageError."""
    for path in paths:
        source, text = "standard input" if path == STDIN else path, _text(path)
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        # The first line of an object that spans several lines is not JSON by itself.
        if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
            whole = parse_json(text, source)
            found = [(source, row) for row in (whole if isinstance(whole, list) else [whole])]
        else:
            found = [(f"{source}: line {number}", parse_json(line, source, number)) for number, line in lines]
        for place, row in found:
            if not isinstance(row, dict):
                raise UsageError(f"{place}: not a JSON object", path)
            yield place, row


def _text(path: str) -> str:
    with open_file(path) as file:
        pieces = []
        position = 0
        while piece := file.read_at(position, _READ_SIZE):
            pieces.append(bytes(piece))
            position += len(piece)
        if file.trouble is not None:
            raise UsageError(f"{file.name}: {file.trouble}", path)
    try:
        return b"".join(pieces).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8", path) from None


def _called(row: Row) -> str:
    """Return the name of a row for messages: its id, or its assignor."""
    return str(row.get("id") or row["assignor"])


def _error_text(output: Row) -> str:
    name = str(output["error"]).rpartition(".")[2]
    return name if output["message"] is None else f"{name}: {output['message']}"


def _parts(assigned: Any) -> list[tuple[str, list[int]]]:
    """Return a member's topics with their partitions, from pairs (clients' assignors) or an object (the broker's).

    A topic that comes in several runs is returned several times.
    """
    pairs = assigned.items() if isinstance(assigned, dict) else assigned or ()
    return [(topic, partitions) for topic, partitions in pairs]


def _write_text(display: Display, row: Row) -> None:
    """Write one line per member with the number of its partitions and their names."""
    output = row["output"]
    if "assignment" not in output:
        return
    lines = []
    for member, assigned in output["assignment"].items():
        parts = [(topic, tuple(partitions)) for topic, partitions in _parts(assigned)]
        lines.append([member, counted(sum(len(partitions) for _, partitions in parts), "partition"), parts_text(tuple(parts))])
    display.line(terminal_line(f"{_called(row)}: {counted(len(lines), 'member')}"))
    for line in aligned(lines, right=[1]):
        display.line(line)
    withheld = output.get("transferring") if row["assignor"] == "cooperative-sticky" else None
    if withheld:
        display.line(terminal_line(f"nobody's until their owners give them up: {' '.join(sorted(withheld))}"))


def _cells(row: Row) -> list[Row]:
    return [
        {"id": row.get("id"), "assignor": row["assignor"], "member": member, "topic": topic, "partitions": ranges_text(partitions)}
        for member, assigned in row["output"].get("assignment", {}).items()
        for topic, partitions in _parts(assigned)
    ]
