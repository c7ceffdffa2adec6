"""Rare courses of events that seeds found, played on purpose in a world without faults."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from metashell.codec.registry import message_type
from metashell.quorum.controller.authorizer import Operation
from metashell.quorum.server.apis import _RAFT
from tests.simulation.bugs import patched
from tests.simulation.checkers import liveness
from tests.simulation.found import an_observer_keeps_faith_with_a_dead_leader
from tests.simulation.host import Host
from tests.simulation.options import Options
from tests.simulation.quorum import build
from tests.simulation.strangers import RIGHTS
from tests.simulation.violation import Violation
from tests.simulation.world import World, restart


def settled(options: Options) -> tuple[World, Host]:
    """A world at rest, and its leader."""
    world = build(options)
    world.set_faults(False)
    for host in world.hosts:
        world.push(0, restart, host, host.life)
    world.run(200, liveness.NEVER_EVENTS)
    leader = liveness.check_leader(world)
    liveness.wait(world, "V3", 5_000, lambda: liveness.has_all(world), "that all have everything")
    return world, leader


@pytest.mark.parametrize("is_mended", [True, False])
def test_who_does_not_know_that_it_votes_helps_to_elect_the_next_leader(is_mended: bool) -> None:
    world, leader = settled(Options(5, voters=3, observers=1))
    joining = world.by_id[4]
    world.work.add_voter(leader, joining)
    # The question for its versions is under way when the leader's messages to it begin to be lost.
    world.run(world.now + 1, liveness.NEVER_EVENTS)
    world.cuts.add((leader.index, joining.index))
    others = [host for host in world.hosts if host is not joining]
    liveness.wait(world, "V2", 2_000, lambda: all(joining.key in host.log.tail.voters for host in others), "the record of the new voter")
    assert joining.key not in joining.log.tail.voters
    world.crash(leader)
    leader.is_resting = True
    with nullcontext() if is_mended else patched(an_observer_keeps_faith_with_a_dead_leader()):
        if is_mended:
            assert liveness.check_leader(world) is not leader
        else:
            with pytest.raises(Violation, match="one leader for all"):
                liveness.check_leader(world)
    world.close()


def test_an_observer_that_nobody_answers_waits_between_its_questions() -> None:
    world, _ = settled(Options(5, voters=3, brokers=1))
    broker = world.by_id[100]
    world.cuts.update((broker.index, other.index) for other in world.hosts)
    events = world.events
    world.run(world.now + 20_000, liveness.NEVER_EVENTS)
    assert world.events < events + 4_000
    world.close()


def test_strangers_say_what_the_server_lets_their_right_say() -> None:
    for right, kinds in RIGHTS.items():
        for kind in kinds:
            assert _RAFT[message_type("request", kind.__name__).key] is Operation[right]
    # What is left needs ALTER, and with it anybody may remove the voters one by one.
    said = {message_type("request", kind.__name__).key for kinds in RIGHTS.values() for kind in kinds}
    assert {right for key, right in _RAFT.items() if key not in said} == {Operation.ALTER}
