"""Numbers that JSON lacks are text in every form of every command that prints rows, and there is one line ending."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.main import main
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.common.options import SQL_FORMS
from metashell.tables.reports.catalog import REPORTS

ODD = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"), "1.5": 1.5}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of quotas, one for each odd number, each set twice."""
    cls = message_type("metadata", "ClientQuotaRecord").cls
    entity = message_type("metadata", "ClientQuotaRecord").cls.EntityData
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    values = [
        write_metadata_record(cls(entity=[entity(entity_type="user", entity_name=name)], key="producer_byte_rate", value=value))
        for name, value in ODD.items()
    ]
    records = [Record(offset, 1_790_000_000_000 + offset, None, values[offset % len(values)]) for offset in range(2 * len(values))]
    (folder / "00000000000000000000.log").write_bytes(write_batch(0, records, leader_epoch=1))
    return folder


def printed(*words: str) -> str:
    """What a command prints, which ends well."""
    out = StringIO()
    with redirect_stdout(out):
        assert main(list(words)) == 0
    return out.getvalue()


def values_of(text: str, form: str) -> Iterator[Any]:
    """The values of an answer; what is no JSON of the standard is an error."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    if form == "json":
        found = json.loads(text, parse_constant=refuse)
        yield from (value for row in (found if isinstance(found, list) else [found]) for value in row.values())
    elif form == "jsonl":
        yield from (value for line in text.split("\n")[:-1] for value in json.loads(line, parse_constant=refuse).values())
    elif form == "csv":
        yield from (value for row in csv.reader(text.splitlines()) for value in row)
    else:
        yield from text.split()


def require_lines(text: str, where: str) -> None:
    assert "\r" not in text and text.endswith("\n") and not text.endswith("\n\n"), where


@pytest.mark.parametrize("form", SQL_FORMS)
@pytest.mark.parametrize("table", ["quotas", "client_quota", "records"])
def test_answers_of_sql(log: Path, form: str, table: str) -> None:
    columns = {"quotas": "value", "client_quota": "value, [value] as many, {'v': value} as inner", "records": "payload"}[table]
    text = printed("sql", f"select {columns} from {table}", str(log), "-o", form)
    require_lines(text, form)
    seen = set(values_of(text, form)) if table == "quotas" else set(re.findall(r"-?Infinity|NaN|1\.5", text))
    assert set(ODD) <= {str(value) for value in seen}, text


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_exports(log: Path, tmp_path: Path, form: str) -> None:
    printed("export", str(log), "--out", str(tmp_path / "out"), "-f", form, "--tables", "client_quota,records")
    for table in ("client_quota", "records"):
        text = (tmp_path / "out" / f"{table}.{form}").read_bytes().decode()
        require_lines(text, table)
        seen = {str(value) for value in values_of(text, form)}
        assert set(ODD) <= seen if table == "client_quota" else "NaN" in text, table
    # There are no faults: a head in CSV, nothing in JSON lines.
    assert (tmp_path / "out" / f"faults.{form}").read_bytes().count(b"\n") == (form == "csv")


def test_reports(log: Path, tmp_path: Path) -> None:
    shown = {form: printed("report", "quota_history", str(log), "--format", form) for form in ("csv", "json")}
    for form, text in shown.items():
        require_lines(text, form)
        assert set(ODD) <= {str(value) for value in values_of(text, form)}, form
    printed("report", "all", str(log), "--out", str(tmp_path / "out"), "--format", "csv", "--format", "json", "--format", "html")
    seen = {}
    for path in (tmp_path / "out").iterdir():
        text = path.read_bytes().decode()
        require_lines(text, path.name)
        seen[path.suffix] = seen.get(path.suffix, 0) + 1
        if path.suffix in (".csv", ".json"):
            list(values_of(text, path.suffix[1:]))
    assert seen[".json"] == seen[".csv"] > 5 and seen[".html"] > 5 and len(REPORTS) > 10
