"""The data dictionary: `python -m tools.gen_dictionary` lists all columns with their types and examples, and writes docs/dictionary.md.

With `--check` it only says what is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

import pyarrow as pa

from metashell.codec.schema import FieldSchema, MessageSchema
from metashell.tables.columns.typed_tables import typed_schema
from metashell.tables.dictionary import LISTED, REPORTS, STATE_TABLES, all_fields, base_of, dictionary_rows, log_of_table, meaning_of
from metashell.tables.reports import catalog
from metashell.tables.reports.local import declared_schema
from metashell.tables.schemas import tables, tables_of_log
from metashell.tables.state.schemas import SCHEMAS
from tools.dictionary_examples import examples
from tools.dictionary_page import PAGE, page
from tools.generated import ROOT

FOLDER: Final = "metashell/tables/meanings"
_NEVER: Final = "-"


def files() -> dict[str, str]:
    """What is made beside the page, by its path in the checkout."""
    return {f"{FOLDER}/{LISTED}": _lines(("table", "column", "type", "since", "example"), listed()), f"{FOLDER}/{REPORTS}": _reports()}


def _lines(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "".join("\t".join(line) + "\n" for line in (heading, *lines))


def _reports() -> str:
    return _lines(("report", "log", "holds"), ((report.name, report.log, report.summary) for report in catalog.REPORTS.values()))


@cache
def schemas() -> dict[str, pa.Schema]:
    """Every table that users see, with its schema: of the state, of events, and the answers of reports."""
    found = dict(SCHEMAS)
    found.update({name: typed_schema(name) for name in tables()})
    found.update({report.name: declared_schema(report) for report in catalog.REPORTS.values()})
    return found


def listed() -> Iterator[tuple[str, str, str, str, str]]:
    """A line for each column and each field of a struct: table, name, type, since when, example."""
    assert len(dictionary_rows("fields.tsv")) == len(all_fields()), f"{FOLDER}/fields.tsv has two lines about the same"
    real = examples()
    for table, schema in schemas().items():
        for path, kind in paths(schema):
            yield table, path, type_text(kind), since(table, path), real.get(table, {}).get(path, "")


def paths(fields: pa.Schema | pa.StructType, above: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """The columns, and after each of them the fields of the structs in it."""
    for field in fields:
        path = f"{above}{field.name}"
        yield path, field.type
        kind = field.type
        while pa.types.is_list(kind) or pa.types.is_map(kind):
            kind = kind.item_type if pa.types.is_map(kind) else kind.value_type
        if pa.types.is_struct(kind):
            yield from paths(kind, f"{path}.")


def type_text(kind: pa.DataType) -> str:
    """`list<int32>`, `map<string, struct>`, `timestamp`: Arrow's words, without what is the same everywhere."""
    if pa.types.is_list(kind):
        return f"list<{type_text(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return "struct"
    if pa.types.is_timestamp(kind):
        return f"timestamp[{kind.unit}]"
    if isinstance(kind, pa.UuidType):
        return "uuid"
    return str(kind)


def since(table: str, path: str) -> str:
    """The metadata.version or the release that first wrote a column; empty for those that every record has, and outside of events.

    A field of a struct is no older than the struct.
    """
    above = path.rpartition(".")[0]
    return max(since(table, above) if above else "", _own_since(table, path), key=_order)


def _order(release: str) -> list[int]:
    """`3.7-IV2` after `3.7-IV0`, `4.1` before `4.10`."""
    return list(map(int, re.findall("[0-9]+", release)))


def _own_since(table: str, path: str) -> str:
    beside = {name.rpartition(".")[2] for name, _ in paths(schemas()[table])}
    meaning = meaning_of(table, path, beside)
    assert meaning is not None, f"{table}.{path} has no line in {FOLDER}/fields.tsv"
    if meaning.since.startswith("@"):
        other, _, column = meaning.since[1:].partition(".")
        return since(other, column)
    if meaning.since:
        return meaning.since
    version = _first_version(table, base_of(path, beside) or path)
    return "" if version is None else first_written(table, version)


def first_written(table: str, version: int) -> str:
    """When a version of a table's record was first written."""
    (releases,) = (releases.split(" ") for name, releases, _ in dictionary_rows("tables.tsv") if name == table)
    return "" if releases[version] == _NEVER else releases[version]


def _first_version(table: str, path: str) -> int | None:
    """The first version of a record that has a field; None for columns that come from no field."""
    log = log_of_table(table)
    if log is None or table in STATE_TABLES:
        return None
    (found,) = (one for one in tables_of_log(log).values() if one.name == table)
    name, *inner = path.split(".")
    column = next((one for one in found.columns if one.name == name), None)
    if column is None:
        return None
    message = found.key if column.from_key else found.value
    assert message is not None
    return max(field.versions.low for field in _fields_along(column.field, inner, message.schema))


def _fields_along(field: FieldSchema, names: Sequence[str], schema: MessageSchema) -> Iterator[FieldSchema]:
    """The field and those that lie on the way down; what a blob was decoded to is no field."""
    yield field
    for name in names:
        if not field.is_struct:
            return
        inner = {one.attribute.rstrip("_"): one for one in schema.structs[field.type].fields}
        if name not in inner:
            name = name.removesuffix("_bytes").removesuffix("_text").removesuffix("_name")
        field = inner[name]
        yield field


def out_of_date() -> list[str]:
    """The files that differ from what would be made."""
    return [name for name, text in {**files(), PAGE: page()}.items() if not _is(name, text)]


def _is(name: str, text: str) -> bool:
    path = ROOT / name
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Write the files or, with `--check`, name those that are out of date, status 1."""
    if "--check" in sys.argv[1:]:
        stale = out_of_date()
        print("".join(f"{name} is out of date\n" for name in stale), end="")
        return 1 if stale else 0
    # The page is made from what lies in the others.
    for made in (files, lambda: {PAGE: page()}):
        for name, text in made().items():
            (ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
