"""kafka-metadata-shell prints what the shell of Kafka 4.4.0 printed, for every stored case that binds."""

from __future__ import annotations

import pytest

from metashell.cli.kafka.file_tools import shell_main
from tests.golden_cases import Case, own_lines, shell_cases, small_diff, with_local_paths
from tests.running import ODD_SURROUNDINGS, run_main, run_process
from tests.seeds import shows

pytestmark = pytest.mark.golden

CASES = shell_cases()
# Usage is wrapped to the width of the terminal, in Kafka's tool as in ours.
ANSWERS = [case for case in CASES if case.files and not {"-h", "-l", "--help"} & set(case.argv)]


@shows("KIP-631/metadata-shell")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_shell_prints_what_kafka_prints(case: Case) -> None:
    outcome = run_main(shell_main, case.argv, cwd=case.root, stdin=case.stdin)
    assert outcome.stdout == case.stdout, small_diff(case.stdout, outcome.stdout)
    assert outcome.status == case.status, outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert bool(outcome.stderr) >= bool(case.status and case.stderr)
    expected = own_lines(with_local_paths(case.stderr, case.root))
    assert [line for line in outcome.stderr.splitlines() if line in expected] == expected


@pytest.mark.parametrize("case", ANSWERS[:: len(ANSWERS) // 12], ids=lambda case: case.id)
def test_locale_zone_and_width_change_nothing(case: Case) -> None:
    outcome = run_process("metashell.cli.kafka.file_tools:shell_main", case.argv, cwd=case.root, stdin=case.stdin, env=ODD_SURROUNDINGS)
    assert outcome.stdout == case.stdout, small_diff(case.stdout, outcome.stdout)
    assert outcome.status == case.status, outcome.stderr


def test_most_damaged_files_are_compared_too() -> None:
    # The golden set's README counts 49 right answers among the 110 of damaged files; the rest hang, are empty or stop early.
    assert sum("damage" in case.tags for case in CASES) >= 49
