"""Answers that go to files and into commands of the system."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from metashell.demo import demo_directory
from metashell.disk.file_system import open_output
from metashell.shell import run_line
from metashell.shell.context import Context
from tests.cli.conftest import Run, command_line, environment
from tests.shell.fake_nodes import TREE, complaints, fake_context, printed

HOSTILE = "a\x1b[31mb\u202ec"


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A context over the fake tree that may write files in a folder of the test, in which it runs."""
    monkeypatch.chdir(tmp_path)
    return fake_context(open_output=lambda path, append, others: open_output(path, append=append, sources=others))


def test_an_answer_goes_to_a_file_and_more_is_appended(ctx: Context, tmp_path: Path) -> None:
    assert run_line(ctx, "cat /local/version > out; pwd >> out && cat /nope /local/version >> 'o u t'") == 1
    assert (tmp_path / "out").read_text() == "4.3.1\n/\n"
    assert (tmp_path / "o u t").read_text() == "4.3.1\n"
    assert (printed(ctx), complaints(ctx)) == ("", "cat: /nope: No such file or directory.\n")


@pytest.mark.parametrize("line", ["nope > out", "ls --nope > out", "cat > out", "ls -l > out > more", "ls > out; 'ls", "help nope > out;;"])
def test_a_line_that_is_wrong_touches_no_file(ctx: Context, tmp_path: Path, line: str) -> None:
    (tmp_path / "out").write_text("kept")
    assert run_line(ctx, line) == 2
    assert (tmp_path / "out").read_text() == "kept"
    assert complaints(ctx)


def test_a_file_that_cannot_be_written_is_named_and_the_command_not_run(ctx: Context) -> None:
    assert run_line(ctx, "cd /image > missing/out") == 1
    assert complaints(ctx) == "cd: missing/out: No such file or directory\n"
    assert ctx.cwd == "/"


def test_a_full_disk_is_one_line_and_the_next_step_runs(ctx: Context) -> None:
    assert run_line(ctx, "ls / > /dev/full && pwd") == 1
    assert complaints(ctx) == "ls: /dev/full: No space left on device\n"
    assert printed(ctx) == ""
    assert run_line(ctx, "find / > /dev/full; pwd") == 1
    assert printed(ctx) == "/\n"


def test_a_file_that_may_not_grow_keeps_what_fitted(tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        command_line("kafka-shell", "--demo"),
        input=f"find / > {tmp_path}/out\npwd\n",
        capture_output=True,
        encoding="utf-8",
        # What Python caches would be cut off too.
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        preexec_fn=limit,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"find: {tmp_path}/out: File too large\n"
    assert os.path.getsize(tmp_path / "out") == 100


@pytest.mark.slow
def test_a_file_gets_the_bytes_that_a_command_line_would_write_there(run: Run, tmp_path: Path) -> None:
    for number, words in enumerate((["ls", "-l", "/image/cluster/brokers"], ["find", "/image/features", "-o", "table"], ["status"])):
        out = tmp_path / f"out{number}"
        done = run("kafka-shell", "--demo", stdin=f"{' '.join(words)} > {out}\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert out.read_text() == run("kafka-shell", "--demo", *words).stdout != ""


def test_an_answer_goes_through_a_command_of_the_system_whose_status_counts(run: Run) -> None:
    lines = "ls /image/topics/byName | wc -l\nls /nope | cat && pwd\nls / | grep nothing || echo none\n"
    done = run("kafka-shell", "--demo", stdin=lines)
    count, *rest = done.stdout.split("\n")
    assert int(count) > 1
    assert rest == ["/", "none", ""]
    assert done.stderr == "ls: /nope: No such file or directory.\n"
    assert done.returncode == 0
    assert run("kafka-shell", "--demo", stdin="pwd | exit 7\npwd\n").returncode == 7
    assert run("kafka-shell", "--demo", stdin="pwd | kill -9 $$\n").returncode == 128 + 9


def test_a_reader_that_has_seen_enough_ends_the_command_silently(run: Run) -> None:
    done = run("kafka-shell", "--demo", stdin="find / | head -1; find / | true; pwd\n")
    assert (done.stdout, done.stderr, done.returncode) == ("/\n/\n", "", 0)


def test_nothing_of_the_data_reaches_the_systems_shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [f"$(touch {tmp_path}/x1)", f"; touch {tmp_path}/x2", f"|touch {tmp_path}/x3 #", f"`touch {tmp_path}/x4`"]
    ctx = fake_context({"image": dict.fromkeys(names, "v")})
    for line in ("ls -1 /image | cat", "find / | cat", "cat /image/* | cat"):
        assert run_line(ctx, line) == 0
    shown = capfd.readouterr().out
    assert all(name in shown for name in names)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_comes_through_a_pipe_is_as_safe_as_the_screen_it_comes_to(is_terminal: bool, capfd: pytest.CaptureFixture[str]) -> None:
    ctx = fake_context({"image": {"name": HOSTILE}}, terminal=is_terminal, color=is_terminal)
    assert run_line(ctx, "cat /image/name | cat") == 0
    assert capfd.readouterr().out == (r"a\x1b[31mb\u202ec" if is_terminal else HOSTILE) + "\n"
    assert run_line(ctx, "ls -l / | cat") == 0
    assert "\x1b" not in capfd.readouterr().out


def test_a_command_that_asks_has_no_pipe(ctx: Context, tmp_path: Path) -> None:
    for line in ("delete /image/topics/byName/orders > out", "delete /image/topics/byName/orders | touch out"):
        assert run_line(ctx, line) == 2
        assert complaints(ctx) == "delete: its questions and answers need the terminal: no pipe, no file\n"
    assert not list(tmp_path.iterdir())


def test_where_no_files_are_written_it_is_said(tmp_path: Path) -> None:
    ctx = fake_context(TREE)
    assert run_line(ctx, f"pwd > {tmp_path}/out") == 1
    assert complaints(ctx) == f"pwd: {tmp_path}/out: files cannot be written here\n"


def test_a_source_is_not_written_to(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(demo_directory(), copy)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    done = run("kafka-shell", "-s", str(copy), "-k", stdin=f"ls > {copy}/out\nls >> {copy}/__cluster_metadata-0/quorum-state\n")
    assert done.returncode == 1
    assert done.stderr.count("lies in a metadata directory, which is only read") == 2
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


def test_nor_is_another_one_that_a_command_reads(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    log = Path(demo_directory()) / "__cluster_metadata-0" / "00000000000000000251.log"
    (other / log.name).write_bytes(log.read_bytes())
    done = run("kafka-shell", "--demo", stdin=f"diff -s {other} > {other}/out\n")
    assert done.stderr == f"diff: {other}/out: lies in a metadata directory, which is only read\n"
    assert [path.name for path in other.iterdir()] == [log.name]


def test_time_says_how_long_it_took_and_timing_keeps_saying_it(ctx: Context) -> None:
    assert run_line(ctx, "time pwd") == 0
    assert printed(ctx) == "/\n"
    assert complaints(ctx).startswith("time: ")
    assert run_line(ctx, "cd /") == 0
    assert complaints(ctx) == ""
    assert run_line(ctx, "timing on; pwd; timing; timing off; pwd") == 0
    assert printed(ctx) == "/\ntiming is on\n/\n"
    assert complaints(ctx).count("time: ") == 3
