"""Messages of magic 0 and 1 in Kafka's voice, against what dump-log of 4.4.0 prints for the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.inspect import dump_log
from tests.running import run_main

FOLDER = Path(__file__).parents[2] / "golden" / "legacy"


@pytest.mark.parametrize(
    ("flags", "output"), [([], "shallow.txt"), (["--deep-iteration"], "deep.txt"), (["--print-data-log"], "print.txt")]
)
def test_a_log_of_old_messages_prints_as_kafka_prints_it(flags: list[str], output: str) -> None:
    outcome = run_main(dump_log.kafka_main, [*flags, "--files", "00000000000000000000.log"], cwd=FOLDER)
    assert outcome.stdout == (FOLDER / output).read_bytes()
    assert outcome.status == 0
