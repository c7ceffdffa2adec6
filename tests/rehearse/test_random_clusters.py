"""Rehearsals hold what they promise, on any small cluster and with any steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.metadata.image import MetadataImage
from metashell.rehearse.outcome import Trouble
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import Assumptions, KillBroker, RestartBroker
from tests.rehearse.oracle import check, partitions_of
from tests.rehearse.random_clusters import images, steps_for

EXAMPLES = max(40, settings.default.max_examples) if settings.default else 40
QUICK = Assumptions(partition_bytes=1000)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=2 * EXAMPLES)
def test_records_intervals_loads_and_differences_are_what_a_slow_look_finds(data: st.DataObject) -> None:
    image = data.draw(images())
    steps = data.draw(steps_for(image))
    outcome = rehearse_change(image, steps, replace(QUICK, session_timeout_ms=data.draw(st.sampled_from([9_000, 40_000]))))
    check(outcome)
    assert len(outcome.steps) == len(steps)


@given(images(all_live=True), st.integers(1, 5))
@settings(max_examples=EXAMPLES)
def test_after_a_restart_everything_is_as_it_was(image: MetadataImage, broker: int) -> None:
    if broker not in image.cluster.brokers:
        return
    outcome = rehearse_change(image, [KillBroker(broker), RestartBroker(broker)], QUICK)
    check(outcome)
    after = partitions_of(outcome.after)
    for key, partition in partitions_of(image).items():
        assert after[key].leader >= 0 or partition.leader < 0
        assert {*after[key].isr} >= {*partition.isr}, key
    for trouble in (Trouble.OFFLINE, Trouble.FAILOVER, Trouble.STALLED):
        assert outcome.verdict.tolls[trouble].at_end == 0


@given(images(all_live=True), st.integers(1, 5))
@settings(max_examples=EXAMPLES)
def test_nothing_is_offline_while_somebody_in_sync_lives(image: MetadataImage, broker: int) -> None:
    if broker not in image.cluster.brokers:
        return
    outcome = rehearse_change(image, [KillBroker(broker)], QUICK)
    check(outcome)
    lost = {key for key, partition in partitions_of(image).items() if {*partition.isr} <= {broker}}
    bad = [*outcome.intervals_of(Trouble.OFFLINE), *outcome.intervals_of(Trouble.UNCLEAN)]
    offline = {(one.topic, one.partition) for one in bad}
    saved = {key for key, partition in partitions_of(image).items() if set(partition.elr) - {broker}}
    assert offline - saved == lost - saved
