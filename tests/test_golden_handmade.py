"""kafka-dump-log prints what dump-log of Kafka 4.4.0 prints for files that no real cluster left: legacy messages, remote-log
metadata, transaction indexes, damaged keys and values of coordinators, indexes that do not fit their log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.inspect.dump_log import kafka_main
from metashell.cli.inspect.dump_log import main as own_main
from tests.golden_cases import has_trace, own_lines, small_diff
from tests.running import run_main

FOLDER = Path(__file__).parent / "golden" / "handmade"
CASES: list[dict[str, Any]] = [json.loads(line) for line in (FOLDER / "cases.jsonl").read_text().splitlines()]

pytestmark = pytest.mark.golden


def case_id(case: dict[str, Any]) -> str:
    return " ".join(word.removeprefix("data/").removesuffix(".log") for word in case["argv"] if word != "--files")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_kafka_dump_log_prints_what_kafka_prints(case: dict[str, Any]) -> None:
    outcome = run_main(kafka_main, case["argv"], cwd=FOLDER)
    expected = case["stdout"].replace("{cwd}", str(FOLDER)).encode()
    assert outcome.stdout == expected, small_diff(expected, outcome.stdout)
    assert outcome.status == case["rc"], outcome.stderr
    stderr = case["stderr"].replace("{cwd}", str(FOLDER))
    said = outcome.stderr.splitlines()
    if has_trace(stderr):
        assert "Traceback" not in outcome.stderr
        assert said.pop(), "a fault ends in silence"
    assert [line for line in said if line] == own_lines(stderr)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_own_voice_ends_with_a_status_and_lines_of_json(case: dict[str, Any]) -> None:
    outcome = run_main(own_main, case["argv"], cwd=FOLDER)
    assert outcome.status in (0, 1, 2), outcome.stderr
    assert "Traceback" not in outcome.stderr
    for line in outcome.stdout.splitlines():
        assert {"kind", "file"} <= json.loads(line).keys()
    if outcome.status:
        assert outcome.stderr.startswith("dump-log: ")


def test_nothing_that_is_read_is_created_or_changed() -> None:
    def everything() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (FOLDER / "data").rglob("*") if path.is_file()}

    before = everything()
    for flags in ((), ("--index-sanity-check",), ("--verify-index-only",)):
        for name in before:
            for tool in (kafka_main, own_main):
                run_main(tool, [*flags, "--files", name], cwd=FOLDER)
    assert everything() == before
