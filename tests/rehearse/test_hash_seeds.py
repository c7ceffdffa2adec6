"""A rehearsal tells the same under every hash seed, though records come in another order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.golden_cases import REPOSITORY

DIGEST = """
from tests.rehearse.small_images import partition, small_image
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import CreateTopic, KillBroker, Move, Reassign, RollBrokers

racks = {id: "abc"[id % 3] for id in range(1, 7)}
topics = {f"t{n}": [partition(*(1 + (n + m + i) % 6 for i in range(3))) for m in range(4)] for n in range(20)}
image = small_image(racks, topics, voters=(3000, 3001, 3002))
steps = [KillBroker(1), Reassign(tuple(Move(f"t{n}", 0, (2, 3)) for n in range(20))), CreateTopic("new", 6, 3), RollBrokers(max_offline=2)]
outcome = rehearse_change(image, steps)
print(outcome.intervals, outcome.events, outcome.broker_spans, outcome.brokers, outcome.copied, outcome.verdict.reasons, outcome.ended_ms)
print(outcome.diff.partitions, sorted(outcome.record_counts.items()), [(step.began_ms, step.ended_ms) for step in outcome.steps])
"""


@pytest.mark.slow
def test_an_outcome_is_the_same_under_every_hash_seed() -> None:
    answers = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
        answer = subprocess.run(
            [sys.executable, "-c", DIGEST], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        answers.add(answer.stdout)
    assert len(answers) == 1
    assert "broker 6 is in sync again" in answers.pop()
