"""The one-file archive is built from this environment, and runs with nothing but the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.demo import demo_directory
from tools.generated import ROOT
from tools.onefile import built_for, main_module, make, scripts

pytestmark = pytest.mark.slow

DEMO = demo_directory()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("packaging", reason="packaging is not installed, which reads requirements")
    out = tmp_path_factory.mktemp("onefile") / "metashell.pyz"
    make(out, from_installed=True)
    return out


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def run(archive: Path, cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The file on a host with the bare interpreter: no environment, nothing on the path of modules."""
    base = getattr(sys, "_base_executable", sys.executable)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cache), "METASHELL_PYTHON": base, "PYTHONPATH": "/nonexistent", "TZ": "UTC"}
    return subprocess.run([str(archive), *words], cwd=cache, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("health", DEMO), "reassigning"),
        (("verify", DEMO), ": fine\n"),
        (("dump-log", DEMO, "--type", "TOPIC_RECORD"), '"last-topic"'),
        (("kafka", "storage", "version-mapping"), "metadata.version"),
        (("shell", DEMO, "pwd"), "/\n"),
        (("completion", "bash"), "complete -F _metashell"),
    ],
)
def test_a_command_runs_with_nothing_but_python(archive: Path, cache: Path, words: tuple[str, ...], shown: str) -> None:
    done = run(archive, cache, *words)
    assert shown in done.stdout, done.stderr
    assert done.stderr == "" and done.returncode in (0, 1)


def test_all_is_unpacked_once_and_only_its_owner_may_change_it(archive: Path, cache: Path) -> None:
    assert run(archive, cache, "--version").returncode == 0
    (folder,) = (cache / ".cache" / "metashell").iterdir()
    before = folder.stat().st_mtime_ns
    assert folder.stat().st_mode & 0o077 == 0
    assert run(archive, cache, "--version").returncode == 0
    assert folder.stat().st_mtime_ns == before


def test_a_folder_that_others_may_write_is_not_trusted(archive: Path, tmp_path: Path) -> None:
    assert run(archive, tmp_path, "--version").returncode == 0
    (folder,) = (tmp_path / ".cache" / "metashell").iterdir()
    folder.chmod(0o777)
    (folder / "metashell" / "__init__.py").write_text("raise SystemExit('planted')\n")
    for compiled in (folder / "metashell" / "__pycache__").glob("__init__.*"):
        compiled.unlink()
    done = run(archive, tmp_path, "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_home_that_cannot_be_written_is_no_hindrance(archive: Path, tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("no directory")
    done = run(archive, tmp_path, "--version")
    assert done.stdout.startswith("metashell ") and done.stderr == ""


def test_a_link_by_the_name_of_a_command_is_that_command(archive: Path, cache: Path, tmp_path: Path) -> None:
    link = tmp_path / "kafka-storage"
    link.symlink_to(archive)
    assert len(run(link, cache, "random-uuid").stdout) == 23


def test_what_the_base_install_lacks_says_that_this_is_one_file(archive: Path, cache: Path) -> None:
    done = run(archive, cache, "sql", "select 1", DEMO)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "one-file archive" in done.stderr


def test_another_python_is_refused_in_one_line() -> None:
    text = main_module("0").replace(repr(built_for()), repr("cpython-30 Linux none"))
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 1
    assert done.stderr.startswith("metashell: this file was built for cpython-30 Linux none, and this is ")
    assert done.stderr.count("\n") == 1


def test_every_command_of_the_base_install_is_in_it() -> None:
    assert "spark-reports" not in scripts()
    assert {"metashell", "kafka-shell", "dump-log", "kafka-storage"} <= set(scripts())
