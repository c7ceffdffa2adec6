"""metashell export and metashell sql from argv to status."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from metashell import tables
from metashell.cli.tables import export, report, sql
from metashell.demo import demo_directory
from metashell.tables.export.job import progress_bar
from tests.cli.conftest import Run, command_line, environment
from tests.running import run_main

DEMO = str(Path(__file__).parents[3] / "metashell" / "demo" / "data")


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


def test_sql_answers_and_gives_duckdbs_whole_error(run: Run, segment: str) -> None:
    result = run("metashell", "sql", "select count(*) > 0 as some from records", segment, "-o", "csv")
    assert (result.returncode, result.stdout) == (0, "some\ntrue\n")
    result = run("metashell", "sql", "select * from '/etc/passwd'", segment)
    assert result.returncode == 2
    assert result.stderr.startswith("metashell sql: Catalog Error") and "root:" not in result.stderr
    result = run("metashell", "sql", "select topic frm partitions where", segment)
    assert result.returncode == 2
    first, *others = result.stderr.splitlines()
    assert first.startswith("metashell sql: Parser Error: ")
    query, caret = others[-2:]
    assert query.endswith("frm partitions where") and set(caret.strip()) == {"^"}
    assert caret.index("^") == query.index("partitions")


def test_sql_has_a_line_for_each_column_of_a_row(run: Run) -> None:
    text = "select 1 as a, null as \"b\nc\", ['x'] as long_name from range(2); select 'x\ny' as a"
    result = run("metashell", "sql", "-f", "-", DEMO, "-o", "line", stdin=text)
    row = 'a          1\nb\\nc       -\nlong_name  ["x"]\n'
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{row}\n{row}\na  x\\ny\n", "")


def test_sql_reads_questions_from_a_file_and_from_standard_input(run: Run, tmp_path: Path) -> None:
    questions = "select count(*) as n from partitions; -- how many\nselect count(*) as n\nfrom topics;\n"
    (tmp_path / "q.sql").write_text(questions)
    result = run("metashell", "sql", "-f", str(tmp_path / "q.sql"), DEMO, "-o", "csv")
    assert (result.returncode, result.stdout, result.stderr) == (0, "n\n36\nn\n15\n", "")
    for words in ([DEMO], ["-f", "-", DEMO]):
        done = run("metashell", "sql", *words, "-o", "csv", stdin=questions)
        assert (done.returncode, done.stdout) == (0, result.stdout)


def test_sql_shows_the_state_as_of_an_offset_or_a_time(run: Run) -> None:
    text = "select count(*) as n from topics"
    counts = [run("metashell", "sql", text, DEMO, "--at", at, "-o", "csv").stdout for at in ("end", "517", "518")]
    assert counts == ["n\n15\n", "n\n14\n", "n\n15\n"]
    early = run("metashell", "sql", text, DEMO, "--at", "2026-11-20T00:00")
    assert early.returncode == 1 and "nothing is known of 2026-11-20T00:00" in early.stderr
    wrong = run("metashell", "sql", text, DEMO, "--at", "noon")
    assert wrong.returncode == 2 and "'noon' is no moment" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a log: a file, a checkpoint, or a directory of them"),
        (["select 1 from topics"], "name a log after the query: a file, a checkpoint, or a directory of them"),
        (["-"], "standard input cannot hold both the questions and a log"),
        (["-f", "absent.sql", "."], "absent.sql: No such file or directory"),
        (["absent"], "absent: No such file or directory"),
    ],
)
def test_sql_says_what_is_missing(words: list[str], message: str, tmp_path: Path) -> None:
    done = run_main(sql.main, words, cwd=tmp_path, stdin="select 1")
    assert done.status != 0
    assert done.stderr == f"metashell sql: {message}\n"


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
    monkeypatch.setattr(tables, "find_spec", lambda name: None if name == "pyarrow" else name)
    done = run_main(main, words, cwd=tmp_path)
    assert done.status == 1
    assert f": pyarrow is not installed; it comes with the extra '{extra}': " in done.stderr
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


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_query_that_a_signal_ends_leaves_no_folder_and_no_words(tmp_path: Path, number: signal.Signals) -> None:
    argv = command_line("metashell", "sql", "select count(*) from range(100000000000) t(a), range(1000) s(b)", demo_directory())
    process = subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(tmp_path)),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not list(tmp_path.glob("metashell-sql-*")):
        assert process.poll() is None
    begun = cpu_s(process.pid)
    while cpu_s(process.pid) < begun + 0.3:
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (out, err, list(tmp_path.iterdir())) == ("", "", [])
    assert process.returncode == 128 + number


def test_a_report_that_a_signal_ends_leaves_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(*args: object, **options: object) -> object:
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        signal.raise_signal(signal.SIGTERM)
        raise AssertionError("it goes on")

    monkeypatch.setattr("metashell.tables.reports.local.run_local", answers)
    with pytest.raises(SystemExit) as left:
        report.main(["all", demo_directory()])
    assert left.value.code == 128 + signal.SIGTERM


def cpu_s(pid: int) -> float:
    """The CPU time that a process has used: where it grows with the folder there, the query runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
