"""kafka-dump-log prints what dump-log of Kafka 4.4.0 printed, for every stored case on logs and checkpoints."""

from __future__ import annotations

import pytest

from metashell.cli.inspect.dump_log import kafka_main
from tests.golden_cases import Case, dump_log_cases, has_trace, own_lines, small_diff, with_local_paths
from tests.running import ODD_SURROUNDINGS, run_main, run_process

pytestmark = pytest.mark.golden

CASES = dump_log_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_dump_log_prints_what_kafka_prints(case: Case) -> None:
    outcome = run_main(kafka_main, case.argv, cwd=case.root)
    assert outcome.stdout == case.stdout, small_diff(case.stdout, outcome.stdout)
    assert outcome.status == case.status, outcome.stderr
    assert_same_diagnostics(case, outcome.stderr)


def assert_same_diagnostics(case: Case, stderr: str) -> None:
    """Standard error is Kafka's without log lines; instead of a stack trace there is one line of ours."""
    said = stderr.splitlines()
    if has_trace(case.stderr):
        assert said, "a fault ends in silence"
        assert "Traceback" not in stderr
        said.pop()
    assert [line for line in said if line] == own_lines(with_local_paths(case.stderr, case.root))


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 12], ids=lambda case: case.id)
def test_locale_zone_and_width_change_nothing(case: Case) -> None:
    outcome = run_process("metashell.cli.inspect.dump_log:kafka_main", case.argv, cwd=case.root, env=ODD_SURROUNDINGS)
    assert outcome.stdout == case.stdout, small_diff(case.stdout, outcome.stdout)
    assert outcome.status == case.status, outcome.stderr
