"""Commands that read, on each log that real servers were started on: what is newer ends none, and start-safe says what the servers did."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from metashell.cli.inspect.checks import verify_main as verify
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.main import tool_of
from metashell.disk.source import open_directory
from metashell.metadata.image import MetadataImage, load_image
from metashell.metadata.image.image import damage_of, lacks_some
from tests.running import Outcome, run_main
from tests.unknown_rows import CONTROL_ROWS, DATA_ROWS, ROWS, make_directory, servers

KAFKA = {(one["row"], one["release"]): one["did"] for one in servers()}
LOGS = (*DATA_ROWS, *CONTROL_ROWS)


def run(folder: Path, noun: str, *words: str) -> Outcome:
    main = kafka_shell if noun == "kafka-shell" else tool_of(noun)
    done = run_main(main, words, cwd=folder)
    assert "Traceback" not in done.stderr
    assert all(line.startswith((noun, f"metashell {noun}")) for line in done.stderr.splitlines()), done.stderr
    return done


def image_of(place: Path) -> MetadataImage:
    with open_directory(str(place)) as source:
        return load_image(source)


@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
@pytest.mark.parametrize("row", ROWS)
def test_start_safe_says_of_each_release_what_its_server_did(tmp_path: Path, row: str, release: str) -> None:
    place = make_directory(tmp_path / "d", row).directory
    done = run_main(verify, ["--start-safe", "--release", release[:3], "-o", "json", str(place)], cwd=tmp_path)
    [verdict] = json.loads(done.stdout)["starts"]
    assert verdict["starts"] == (KAFKA[row, release] == "serves"), verdict["reason"]
    assert (release[:3] in verdict["releases"]) <= verdict["starts"]


@pytest.mark.parametrize("row", LOGS)
def test_the_shell_goes_on_and_its_status_says_whether_it_may_lack_something(tmp_path: Path, row: str) -> None:
    place = make_directory(tmp_path / "d", row).directory
    done = run(tmp_path, "kafka-shell", str(place), "ls", "/image/topics/byName")
    assert b"topic-1" in done.stdout
    assert done.status == lacks_some(image_of(place))
    assert bool(done.stderr) >= lacks_some(image_of(place))


@pytest.mark.parametrize("row", LOGS)
def test_sql_over_state_and_dump_log_show_all_that_is_there(tmp_path: Path, row: str) -> None:
    pytest.importorskip("duckdb")
    made = make_directory(tmp_path / "d", row)
    done = run(tmp_path, "sql", "select topic from topics", str(made.directory))
    image = image_of(made.directory)
    # Of damage it shows nothing unless it is asked to.
    assert (b"topic-1" in done.stdout) == (not damage_of(image)) and done.status == lacks_some(image)
    rows = [json.loads(line) for line in run(tmp_path, "dump-log", "--cluster-metadata-decoder", str(made.directory)).stdout.splitlines()]
    assert [one["offset"] for one in rows] == list(range(made.end_offset))


@pytest.mark.slow
@pytest.mark.parametrize("row", LOGS)
def test_export_and_bundle_go_on_too(tmp_path: Path, row: str) -> None:
    pytest.importorskip("pyarrow")
    place = str(make_directory(tmp_path / "d", row).directory)
    image = image_of(Path(place))
    run(tmp_path, "export", place, "--out", "out")
    assert (tmp_path / "out" / "topic.parquet").exists() or damage_of(image)
    run(tmp_path, "bundle", place, "--out", "b.tar.gz")
    with tarfile.open(tmp_path / "b.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    assert b"topic-1" in run(tmp_path, "kafka-shell", str(unpacked), "ls", "/image/topics/byName").stdout
