"""Keys in the URI of a source or of an output: no stream, file or object of any command that takes one has them, and no job of Spark."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from metashell.cli.main import SUBCOMMANDS, main
from metashell.demo import demo_directory
from metashell.tables.stores import open_store
from tests.running import REPOSITORY, Outcome, command_line, run_main
from tests.s3 import KEY, REGION
from tests.secret_logs import content_of
from tests.tables.test_remote_s3 import upload

SECRET = "wJalr/XUtnFEMI+K7MDENG/bPxRfi"
TOKEN = "FwoGZXIvYXdzEBYaDHqa0AP"
NEEDLES = tuple(text.encode() for text in (KEY, SECRET, quote(SECRET, safe=""), quote(SECRET), SECRET.replace("/", "\\/"), TOKEN))


def leaks(data: bytes) -> list[bytes]:
    return [needle for needle in NEEDLES if needle in data]


class Place:
    """A folder for a command's files, a bucket for its objects, and URIs that open it."""

    def __init__(self, folder: Path, bucket: str, server: str) -> None:
        self.folder = folder
        self.bucket = bucket
        self._more = urlencode({"endpoint_override": server, "region": REGION})
        self.environment = {"TMPDIR": str(folder / "tmp"), "AWS_EC2_METADATA_DISABLED": "true"}
        (folder / "tmp").mkdir()

    def uri(self, name: str, bucket: str = "") -> str:
        place = (bucket or self.bucket).removeprefix("s3://")
        return f"s3://{KEY}:{quote(SECRET, safe='')}@{place}/{name}?{self._more}"

    def run(self, *words: str) -> Outcome:
        """What `metashell WORDS` does with the keys of its URIs alone."""
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                patch.delenv(name)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.setattr("tempfile.tempdir", None)
            return run_main(main, words, cwd=self.folder)

    def run_spark(self, *words: str, **more: str) -> Outcome:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        argv = command_line("spark_reports.main", *words)
        env = {**plain, **self.environment, "PYTHONPATH": str(REPOSITORY), **more}
        done = subprocess.run(argv, cwd=self.folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=170, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr.decode())

    def found(self, done: Outcome) -> dict[str, list[bytes]]:
        """Where keys stand: streams, files here, names and contents in the bucket."""
        shown = {"stdout": done.stdout, "stderr": done.stderr.encode()}
        shown |= {str(path): content_of(path) for path in self.folder.rglob("*") if path.is_file()}
        store = open_store(self.bucket)
        shown |= {f"{self.bucket}/{file.name}": file.name.encode() + (store.read(file.name) or b"") for file in store.files()}
        return {name: found for name, data in shown.items() if (found := leaks(data))}


@pytest.fixture
def place(tmp_path: Path, s3: str, s3_server: str) -> Place:
    upload(f"{s3}/logs", demo_directory())
    return Place(tmp_path, s3, s3_server)


SOAKS = bool(os.environ.get("METASHELL_SOAK"))
"""Then every command is tried, and jobs of Spark that end well, too."""
GOOD = [
    ("export", ["{in}", "--out", "out"]),
    ("export", ["{in}", "--out", "{out}", "-f", "csv"]),
    ("export", ["{in}", "--out", "{out}", "--append"]),
    ("report", ["topic_history", "{in}", "--out", "{out}"]),
    ("sql", ["select distinct file, t.cluster_id, path from topic t join sources on true", "{in}", "-o", "json"]),
]
BAD = [
    ("export", ["{in}&session_token=FwoGZXIvYXdzEBYaDHqa0AP", "--out", "out"]),
    ("export", ["{none}", "--out", "out"]),
    ("export", ["{in}", "--out", "{none}"]),
    ("export", ["{in}", "--append", "--out", "{none}"]),
    ("export", ["{in}", "--append", "--out", "{in}"]),
    ("export", ["{in}", "--append", "--dry-run", "--out", "{none}"]),
    ("lake", ["status", "{none}"]),
    ("lake", ["check", "{in}"]),
    ("export", ["{in}", "--out", "{out}", "--frmat", "{in}"]),
    ("export", ["{in}", "--out"]),
    ("export", ["--{in}"]),
    ("export", ["--out={in}", "-t", "{in}", "{in}"]),
    ("report", ["{in}", "{in}"]),
    ("report", ["all", "{in}", "--out", "{none}"]),
    ("lake", ["status", "{in}"]),
    ("lake", ["check", "{none}"]),
    ("sql", ["select '{in}' from nowhere", "{in}"]),
    ("sql", ["{in}"]),
    ("bundle", ["{in}", "--out", "{out}"]),
    ("bundle", [".", "--out", "{out}"]),
    ("rehearse", ["-s", "{in}", "kill-broker", "4", "--html", "{out}"]),
    ("{in}", ["{in}"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "words"), GOOD)
def test_a_command_that_reads_and_writes_stores_leaves_no_key(place: Place, tool: str, words: list[str]) -> None:
    filled = [word.replace("{in}", place.uri("logs")).replace("{out}", place.uri("out")) for word in words]
    done = place.run(tool, *filled)
    assert done.status == 0, done.stderr
    assert place.found(done) == {}


@pytest.mark.slow
def test_no_complaint_of_any_command_has_a_key(place: Place) -> None:
    names = [(name, words) for name in SUBCOMMANDS for words in (["{in}"], ["--out", "{in}"], ["-C", "{in}"])]
    uris = {"{in}": place.uri("logs"), "{out}": place.uri("out"), "{none}": place.uri("x", "no-such-bucket")}
    for tool, words in [*BAD, *(names if SOAKS else names[::6])]:
        filled = [tool, *words]
        for mark, uri in uris.items():
            filled = [word.replace(mark, uri) for word in filled]
        done = place.run(*filled)
        assert "Traceback" not in done.stderr, (tool, words, done.stderr)
        assert place.found(done) == {}, (tool, words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["topic_history", "{in}", "{odd}", "--out", "{out}"],
        *([["topic_history", "{in}", "--out", "{out}"], ["export", "{in}", "--out", "{out}"]] if SOAKS else []),
    ],
)
def test_no_job_of_spark_leaves_a_key_nor_its_event_log(place: Place, words: list[str]) -> None:
    from tests.java import java

    java()
    events = place.folder / "events"
    events.mkdir()
    logged = f"--conf spark.eventLog.enabled=true --conf spark.eventLog.dir=file://{events} pyspark-shell"
    # What is not there at all is found out before Spark starts; that there is no log, only by the job.
    open_store(place.bucket).put("odd/readme.txt", b"no log")
    uris = {"{in}": place.uri("logs"), "{out}": place.uri("out"), "{odd}": place.uri("odd")}
    filled = [uris.get(word, word) for word in words]
    done = place.run_spark(*filled, "--master", "local[1]", PYSPARK_SUBMIT_ARGS=logged)
    assert done.status == (1 if "{odd}" in words else 0), done.stderr
    assert any(events.rglob("*"))
    assert place.found(done) == {}
