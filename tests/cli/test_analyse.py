"""metashell export and metashell sql from argv to status."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metashell.cli import export, report, sql
from metashell.columns import packages
from metashell.columns.export.progress import progress_bar
from tests.cli.conftest import Run, command_line, environment
from tests.running import run_main


def test_export_writes_tables_and_says_how_many_rows(run: Run, segment: str, tmp_path: Path) -> None:
    result = run("metashell", "export", segment, "--out", str(tmp_path / "out"), "--format", "jsonl", "--jobs", "1")
    assert (result.returncode, result.stderr) == (0, "")
    assert "faults" in result.stdout
    rows = [json.loads(line) for line in (tmp_path / "out" / "topic.jsonl").read_text().splitlines()]
    assert {row["file"] for row in rows} == {segment}
    again = run("metashell", "export", segment, "--out", str(tmp_path / "out"), "--format", "jsonl", "--jobs", "1")
    assert "nothing has changed" in again.stdout


def test_a_corrupt_batch_is_one_line_with_file_and_offset(run: Run, segment: str, tmp_path: Path) -> None:
    damaged = tmp_path / "00000000000000000000.log"
    data = bytearray(Path(segment).read_bytes())
    data[-5] ^= 1
    damaged.write_bytes(data)
    result = run("metashell", "export", str(damaged), "--out", str(tmp_path / "out"), "--jobs", "1")
    assert result.returncode == 1
    assert result.stderr.startswith(f"metashell export: {damaged}: offset ") and result.stderr.count("\n") == 1
    assert not list((tmp_path / "out").glob("*.parquet"))
    result = run("metashell", "export", str(damaged), "--out", str(tmp_path / "out"), "--jobs", "1", "--on-error", "skip")
    assert result.returncode == 1
    assert result.stderr == "metashell export: 1 fault skipped; the table faults has the details\n"
    assert (tmp_path / "out" / "faults.parquet").exists()


def test_an_unknown_table_is_a_usage_error_with_a_suggestion(run: Run, segment: str, tmp_path: Path) -> None:
    result = run("metashell", "export", segment, "--out", str(tmp_path), "--tables", "partitoin")
    assert result.returncode == 2
    assert "no table partitoin" in result.stderr and "partition" in result.stderr


def test_sql_answers_and_refuses_in_one_line(run: Run, segment: str) -> None:
    result = run("metashell", "sql", "select count(*) > 0 as some from records", segment, "-o", "csv")
    assert (result.returncode, result.stdout) == (0, "some\ntrue\n")
    result = run("metashell", "sql", "select * from '/etc/passwd'", segment)
    assert result.returncode == 2
    assert result.stderr.startswith("metashell sql: Catalog Error") and result.stderr.count("\n") == 1


@pytest.mark.slow
def test_standard_input_and_compressed_files_are_read_once_and_whole(run: Run, segment: str, tmp_path: Path) -> None:
    packed = tmp_path / "00000000000000000251.log.gz"
    packed.write_bytes(gzip.compress(Path(segment).read_bytes()))
    text = "select count(*) as n from records"
    want = run("metashell", "sql", text, segment).stdout
    assert run("metashell", "sql", text, str(packed)).stdout == want
    line = command_line("metashell", "sql", text, "-")
    done = subprocess.run(line, input=Path(segment).read_bytes(), capture_output=True, env=environment(), timeout=60, check=True)
    assert done.stdout.decode() == want


@pytest.mark.parametrize(
    ("main", "words", "extra"),
    [
        (export.main, [".", "--out", "out"], "arrow"),
        (sql.main, ["select 1", "."], "sql"),
        (report.main, ["broker_sessions", ".", "--out", "out"], "report"),
    ],
)
def test_a_missing_package_is_one_line_that_says_what_to_install(
    main: Callable[[Sequence[str] | None], int], words: list[str], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == "pyarrow" else name)
    done = run_main(main, words, cwd=tmp_path)
    assert done.status == 1
    assert done.stderr.endswith(f": pyarrow is not installed; install it by: pip install 'metashell[{extra}]'\n")
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen_after(written: str) -> list[str]:
    """What a terminal shows after some text: carriage returns, line feeds, lines that are erased, and the cursor going up."""
    lines, row = [""], 0
    for up, erase, escape, feed, text in re.findall(r"\x1b\[(\d+)A|(\x1b\[2K)|(\x1b\[[^A-Za-z]*[A-Za-z]|\r)|(\n)|([^\x1b\r\n]+)", written):
        row += bool(feed) - int(up or 0)
        lines += [""] * (row + 1 - len(lines))
        lines[row] = "" if erase else lines[row] + text
        assert row >= 0 and (escape or up or erase or feed or text)
    return lines


def test_the_progress_bar_shows_rate_and_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out = Terminal()
    with progress_bar(out, is_shown=True) as bar:
        bar.start(100)
        bar.advance(50, 1000)
        bar.advance(50, 1000)
    assert any("100/100 bytes" in line and "rows/s" in line for line in re.split(r"[\r\n]", out.getvalue()))
    assert set(screen_after(out.getvalue())) == {""}
    assert any(screen_after(out.getvalue().rpartition("\x1b[2K")[0])), "it was there before"


def test_no_progress_bar_is_shown_where_none_is_wanted() -> None:
    out = Terminal()
    with progress_bar(out, is_shown=False) as bar:
        bar.start(100)
        bar.advance(50, 1000)
    assert out.getvalue() == ""
