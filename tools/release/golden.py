"""Golden data of the newest release in one run: real controllers do all that tests/golden/admin asks, then Kafka's tools read their logs.

    python -m tools.release.golden FOLDER

FOLDER/VERSION/main is then a part of a golden set: copies of the controllers' directories, and files.jsonl with what dump-log and the
shell print of each file; `tools/copy_golden.py` says which parts are committed. The same is asked of ours, and what differs is shown.
Needs Java; the release is the last one in the table of releases.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from metashell.cli.inspect import dump_log
from metashell.cli.kafka import file_tools
from metashell.disk.names import METADATA_DIRECTORY
from tests.golden_cases import small_diff
from tests.interop.admin import RUNS, golden_path, host_command, start_kafka
from tests.java import KAFKA, kafka_command
from tests.running import run_main
from tools.interop.admin.place import admin_place
from tools.interop.admin.transcript import read_transcript

_QUESTIONS: Final = (
    ("dump-log", "--cluster-metadata-decoder", "--files"),
    ("dump-log", "--cluster-metadata-decoder", "--deep-iteration", "--files"),
    ("dump-log", "--print-data-log", "--files"),
    ("shell", "--snapshot"),
)
_SHELL_WORDS: Final = (("find", "/"), ("tree", "/image"), ("ls", "/image/cluster/controllers"))
_OURS: Final = {"dump-log": dump_log.kafka_main, "shell": file_tools.shell_main}
_LIMIT_S: Final = 20
_TRIES: Final = 2
"""Kafka's shell may answer before it has read the file: the longest answer of some runs counts."""


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.golden", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the set is made")
    folder = parser.parse_args(argv).folder.resolve()
    part = folder / KAFKA / "main"
    part.mkdir(parents=True)
    for number, (layout, names) in enumerate(RUNS.items(), 1):
        with tempfile.TemporaryDirectory() as made, admin_place(layout, Path(made), host_command(), start_kafka) as place:
            for step in (step for name in names for step in read_transcript(golden_path(name))):
                place.run(step)
            for source in sorted(Path(made).rglob(METADATA_DIRECTORY)):
                target = part / "data" / f"live-{number}" / source.parent.relative_to(made) / METADATA_DIRECTORY
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.index", "*.timeindex", ".lock"))
    rows = list(_rows(folder, part))
    (part / "files.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    differing = sum(_differs(folder, row) for row in rows)
    print(f"{part}: {len(rows)} cases of Kafka {KAFKA}, ours differs in {differing}")
    return 1 if differing else 0


def _rows(folder: Path, part: Path) -> Iterator[dict[str, Any]]:
    """A case for each question about each file, in the form of the golden set."""
    files = sorted(str(path.relative_to(folder)) for path in part.rglob("*") if path.suffix in (".log", ".checkpoint"))
    asked = [
        [*question, file, *more]
        for file in files
        for question in _QUESTIONS
        for more in (_SHELL_WORDS if question[0] == "shell" else ((),))
    ]
    for number, argv in enumerate(asked):
        yield {"id": f"{KAFKA}/main/files-{number:04}", **_answer(folder, argv)}


def _answer(folder: Path, argv: list[str]) -> dict[str, Any]:
    tool, *words = argv
    located = [str(folder / word) if (folder / word).is_file() else word for word in words]
    try:
        answers = [
            subprocess.run(kafka_command(KAFKA, tool, *located), capture_output=True, timeout=_LIMIT_S, check=False)
            for _ in range(_TRIES if tool == "shell" else 1)
        ]
    except subprocess.TimeoutExpired:
        answers = []
    if not any(answer.stdout for answer in answers):
        # Kafka's shell waits for ever over some files, and answers before it has read others: such a case binds nobody.
        return {"version": KAFKA, "argv": argv, "rc": None, "stdout": {"text": ""}, "stderr": {"text": ""}, "tags": []}
    done = max(answers, key=lambda answer: len(answer.stdout))
    texts = {
        stream: {"text": text.decode().replace(f"{folder}/", "")} for stream, text in (("stdout", done.stdout), ("stderr", done.stderr))
    }
    return {"version": KAFKA, "argv": argv, "rc": done.returncode, **texts, "tags": []}


def _differs(folder: Path, row: dict[str, Any]) -> bool:
    """Whether ours prints something else; shows it."""
    tool, *words = row["argv"]
    if row["rc"] is None:
        return False
    outcome = run_main(_OURS[tool], words, cwd=folder)
    expected = row["stdout"]["text"].encode()
    if outcome.stdout == expected and outcome.status == row["rc"]:
        return False
    print(f"{' '.join(row['argv'])}: status {outcome.status}, Kafka's {row['rc']}\n{small_diff(expected, outcome.stdout)}")
    return True


if __name__ == "__main__":
    sys.exit(main())
