"""Exact times: when a session ends, when a shutdown is given up, and when a copy is complete."""

from __future__ import annotations

from itertools import pairwise

import pytest

from metashell.rehearse.outcome import BrokerState, Outcome, Trouble
from metashell.rehearse.rehearsal import rehearse_change
from metashell.rehearse.steps import Assumptions, KillBroker, LoseController, Move, Reassign, RestartBroker
from tests.rehearse.oracle import check
from tests.rehearse.small_images import partition, small_image

VOTERS = (3000, 3001, 3002)


def test_a_session_is_counted_from_the_last_heartbeat() -> None:
    image = small_image({1: None, 2: None}, {"t": [partition(1, 2)]}, voters=VOTERS)
    ends = {}
    for at_ms in range(4_000, 8_000, 250):
        [failover] = rehearse_change(image, [KillBroker(1, at_ms=at_ms)]).intervals_of(Trouble.FAILOVER)
        assert failover.to_ms is not None
        ends[at_ms] = failover.to_ms

    def fits(phase_ms: int) -> bool:
        """Whether each end is a session of nine seconds, and at most a sweep, after a heartbeat at this phase of every two seconds."""
        return all(9_000 <= end - (at_ms - (at_ms - phase_ms) % 2_000) <= 10_125 for at_ms, end in ends.items())

    assert any(fits(phase_ms) for phase_ms in range(2_000))


def test_a_shutdown_is_given_up_by_its_own_timeout_and_not_by_that_of_an_earlier_one() -> None:
    image = small_image({1: None, 2: None}, {"t": [partition(1, 2)]}, voters=VOTERS)
    # The second shutdown begins before the timeout of the first, and no controller hears of it for a long time.
    steps = [RestartBroker(1, down_ms=0, at_ms=0), LoseController(at_ms=20_000), RestartBroker(1, at_ms=20_000)]
    outcome = rehearse_change(image, steps, Assumptions(shutdown_timeout_ms=30_000, quorum_failover_ms=200_000))
    begun = [event.at_ms for event in outcome.events if event.text == "broker 1 begins its controlled shutdown"]
    given_up = [event.at_ms for event in outcome.events if event.text == "broker 1 was not let go in time, and exits all the same"]
    assert (begun, given_up) == ([0, 20_000], [50_000])


def joined_ms(outcome: Outcome) -> dict[int, int]:
    """When the new replica of each partition had joined the ISR."""
    found: dict[int, int] = {}
    for batch in outcome.batches:
        for record, _ in batch.records:
            if type(record).__name__ == "PartitionChangeRecord" and record.isr is not None:
                found.setdefault(record.partition_id, batch.at_ms)
    return found


@pytest.mark.parametrize(
    ("moves", "throttle", "expected"),
    [
        # One after the other to one broker, each counted up to the next second.
        ([(1, 2, 1500), (1, 2, 1500), (1, 2, 1)], None, [2000, 3000, 4000]),
        ([(1, 2, 3000)], None, [3000]),
        ([(1, 2, 3001)], None, [4000]),
        ([(1, 2, 0)], None, [5]),
        # Beside each other to two brokers: only a throttle makes their common leader send one after the other.
        ([(1, 2, 1500), (1, 3, 1500)], None, [2000, 2000]),
        ([(1, 2, 1500), (1, 3, 1500)], 1000, [2000, 3000]),
        ([(1, 2, 1500), (4, 3, 1500)], 1000, [2000, 2000]),
        # The lower one counts.
        ([(1, 2, 1500)], 500, [3000]),
        ([(1, 2, 1500)], 5000, [2000]),
    ],
)
def test_a_copy_takes_its_bytes_at_the_rate(moves: list[tuple[int, int, int]], throttle: int | None, expected: list[int]) -> None:
    image = small_image(dict.fromkeys((1, 2, 3, 4)), {"big": [partition(source) for source, _, _ in moves]}, voters=VOTERS)
    asked = Reassign(tuple(Move("big", number, (target,)) for number, (_, target, _) in enumerate(moves)), throttle_bytes=throttle)
    sizes = {("big", number): size for number, (_, _, size) in enumerate(moves)}
    found = joined_ms(rehearse_change(image, [asked], Assumptions(copy_rate=1000, commit_ms=5), sizes))
    assert [found[number] for number in range(len(moves))] == expected


def test_a_copy_that_a_restart_interrupts_goes_on_with_the_bytes_that_are_left() -> None:
    image = small_image(dict.fromkeys((1, 2)), {"big": [partition(1)]}, voters=VOTERS)
    times = []
    for kill in (False, True):
        steps = [Reassign((Move("big", 0, (2,)),)), *([KillBroker(2, at_ms=40_000), RestartBroker(2, at_ms=40_000)] if kill else [])]
        outcome = rehearse_change(image, steps, Assumptions(copy_rate=1000, commit_ms=5, boot_ms=100, recovery_ms=0), {("big", 0): 60_000})
        serving = [event.at_ms for event in outcome.events if event.text == "broker 2 is unfenced"]
        times.append((joined_ms(outcome)[0], serving))
    (whole, []), (interrupted, [back]) = times
    assert whole == 60_000
    # 40 of 60 seconds had passed.
    assert back + 20_000 <= interrupted <= back + 21_000


def test_nothing_to_copy_is_copied_at_once_and_a_broker_may_die_in_that_moment() -> None:
    image = small_image(dict.fromkeys((1, 2)), {"big": [partition(1)]}, voters=VOTERS)
    steps = [Reassign((Move("big", 0, (2,)),)), KillBroker(2, at_ms=0), RestartBroker(2, at_ms=0)]
    outcome = rehearse_change(image, steps, Assumptions(copy_rate=1000), {("big", 0): 0})
    assert outcome.after.topics.by_name["big"].partitions[0].isr == (2,)


def test_a_broker_that_starts_while_no_controller_leads_waits_for_the_next_one() -> None:
    image = small_image(dict.fromkeys((1, 2)), {"t": [partition(1, 2)]}, voters=VOTERS)
    assumed = Assumptions(boot_ms=1_000, recovery_ms=0, quorum_failover_ms=3_000)
    calm = rehearse_change(image, [RestartBroker(1, down_ms=0, at_ms=0)], assumed)
    [registered] = [event.at_ms for event in calm.events if event.text.startswith("broker 1 registers")]
    for lost_ms in (0, *range(registered - 60, registered + 140, 5)):
        outcome = rehearse_change(image, [RestartBroker(1, down_ms=0, at_ms=0), LoseController(at_ms=lost_ms)], assumed)
        check(outcome)
        states = [span.state for span in outcome.broker_spans if span.broker == 1]
        assert states[-1] is BrokerState.SERVING and states.count(BrokerState.STARTING) == 1, lost_ms
        assert set(outcome.after.topics.by_name["t"].partitions[0].isr) == {1, 2}, lost_ms
        assert not [event for event in outcome.events if lost_ms < event.at_ms < lost_ms + 3_000 and "unfenced" in event.text], lost_ms


def test_heartbeats_of_two_brokers_are_not_at_once() -> None:
    image = small_image(dict.fromkeys(range(1, 7)), {"t": [partition(id) for id in range(1, 7)]}, voters=VOTERS)
    steps = [KillBroker(id, at_ms=5_000) for id in range(1, 7)]
    outcome = rehearse_change(image, steps)
    fenced = sorted(event.at_ms for event in outcome.events if event.text.startswith("the controller fences broker"))
    assert len(fenced) == 6 and any(later > earlier for earlier, later in pairwise(fenced))
