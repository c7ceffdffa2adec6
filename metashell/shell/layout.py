"""Names in columns, as Kafka's `ls` lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Measure = Callable[[str], int]

_GAP = 2
_COLUMN_LEAST = 4


def column_lines(names: Sequence[str], width: int | None, measure: Measure = len) -> Iterator[str]:
    """Lines that show the names column by column, as many columns as fit.

    Units: `width` in columns of the terminal; None, without a terminal, gives one name a line. `measure` gives the width of a name:
    Kafka counts characters, some of which take two columns or none.
    Source: org.apache.kafka.shell.command.LsCommandHandler.
    """
    widths = column_widths(names, width, measure)
    if len(widths) == 1:
        yield from names
        return
    rows = -(-len(names) // len(widths))
    for row in range(rows):
        cells = [names[index] for index in range(row, len(names), rows)]
        last = len(widths) - 1
        yield "".join(cell if column == last else cell + " " * (widths[column] - measure(cell)) for column, cell in enumerate(cells))


def column_widths(names: Sequence[str], width: int | None, measure: Measure = len) -> list[int]:
    """The widths of the columns, gaps included, in the layout with the most columns that fits."""
    count = len(names)
    if width is not None:
        for columns in range(min(width // _COLUMN_LEAST, count), 1, -1):
            rows = -(-count // columns)
            # A layout whose last column stays empty is the same as one with fewer columns.
            if (columns - 1) * rows >= count:
                continue
            widths = _widths(names, rows, width, measure)
            if widths is not None:
                return widths
    return [0]


def _widths(names: Sequence[str], rows: int, limit: int, measure: Measure) -> list[int] | None:
    widths: list[int] = []
    left = limit
    for start in range(0, len(names), rows):
        longest = max(measure(names[index]) for index in range(start, min(start + rows, len(names))))
        widths.append(longest + _GAP)
        left -= longest + _GAP
        if left < 0:
            return None
    return widths
