"""Bugs that the checkers of a simulated group must find: in assignors, members and coordinator, as a person might have written them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from metashell.codec.error_codes import NONE
from metashell.groups.assignors import OwnershipClaim, server, sticky
from metashell.groups.classic import rebalance
from metashell.groups.classic.group import ClassicGroup, session_key
from metashell.groups.consumer import assignment
from metashell.groups.members import member
from metashell.groups.members.classic import ClassicMember
from metashell.groups.members.strategy import CooperativeStickyStrategy, RangeStrategy
from metashell.groups.simulation import STRATEGIES, Plan, node
from metashell.groups.simulation.scenarios import SCENARIOS
from metashell.groups.simulation.world import Steps, World
from tests.simulation.bugs import Patch


def partitions_go_to_their_new_owner_at_once() -> list[Patch]:
    """The cooperative assignor does not withhold what another member still owns (KIP-429's adjustment is missing)."""
    return [(sticky, "_changing_hands", lambda members, given: {}), (server, "sticky", _without_withholding())]


def _without_withholding() -> Any:
    class Eager:
        """The module as it would be if both assignors were one."""

        assign_eager = staticmethod(sticky.assign_eager)

        @staticmethod
        def assign_cooperative(members: Any, topics: Any) -> Any:
            claims = {id: OwnershipClaim(member.owned, sticky._generation(member)) for id, member in members.items()}
            return sticky._assign(members, topics, claims)

    return Eager


def a_cooperative_member_gives_up_everything() -> list[Patch]:
    """Before it joins again it revokes all it owns, as an eager one."""
    return [(ClassicMember, "_given_up", lambda member: ("revoked", member.owned, bool(member.owned)))]


def whoever_asks_may_commit() -> list[Patch]:
    """The coordinator does not look at who commits."""
    return [(ClassicGroup, "check_commit", lambda *about: None)]


def partitions_are_free_while_another_member_has_them() -> list[Patch]:
    """The coordinator gives a member of a consumer group its whole target at once."""

    def following(member: Any, epoch: int, goal: Any) -> Any:
        return original(member, epoch, goal._replace(owners={}))

    original = assignment._next
    return [(assignment, "_next", following)]


def a_member_that_revoked_does_not_join_again() -> list[Patch]:
    """What a cooperative member gave up stays with nobody."""

    def request(member: ClassicMember, reason: str) -> None:
        if "revoke" not in reason:
            original(member, reason)

    original = ClassicMember._request_rejoin
    return [(ClassicMember, "_request_rejoin", request)]


def every_assignment_asks_for_another() -> list[Patch]:
    """A member rejoins whenever it was given something."""
    return [(CooperativeStickyStrategy, "on_assignment", lambda strategy, given, generation: "to be sure")]


def everybody_gets_of_every_topic() -> list[Patch]:
    """The leader does not look at who subscribes to what."""

    def assign(strategy: Any, topics: Any, members: Mapping[str, Any]) -> Any:
        every = tuple(sorted({name for one in members.values() for name in one.subscription.topics}))
        same = {id: one._replace(subscription=one.subscription._replace(topics=every)) for id, one in members.items()}
        return original(strategy, topics, same)

    original = RangeStrategy.assign
    return [(RangeStrategy, "assign", assign)]


def members_begin_at_the_beginning() -> list[Patch]:
    """Nobody asks for committed offsets."""

    def fetched(body: Any, topics: Any) -> Any:
        code, found = original(body, topics)
        return code, dict.fromkeys(found, 0)

    original = member.fetched
    return [(member, "fetched", fetched)]


def the_dead_stay() -> list[Patch]:
    """A heartbeat of any member keeps all sessions alive."""

    def beat(context: Any, group: ClassicGroup, request: Any, now_ms: int) -> int:
        code = original(context, group, request, now_ms)
        if code == NONE:
            for member in group.members.values():
                context.timers.restart(session_key(group.group_id, member.member_id), now_ms + member.session_timeout_ms)
        return code

    original = rebalance._beat
    return [(rebalance, "_beat", beat)]


def a_new_coordinator_forgets_commits() -> list[Patch]:
    """Only the first one reads the records of offsets."""
    first: list[Any] = []

    def replay(coordinator: Any, batch: Any, **how: Any) -> None:
        first.append(coordinator)
        if coordinator is not first[0]:
            batch = batch._replace(records=tuple(record for record in batch.records if record.type != 1))
        original(coordinator, batch, **how)

    original = node.replay
    return [(node, "replay", replay)]


class Bug(NamedTuple):
    """A bug, the rule that it breaks, and a strategy and scenario that show it; scenarios of `OWN` stand here."""

    plant: Callable[[], list[Patch]]
    rule: str
    strategy: str
    scenario: str = "join"
    patience_ms: int = 120_000


def _two_kinds_of_subscription(world: World) -> Steps:
    """A member joins that wants less than the others."""
    world.start("picky", pattern="topic-1")
    yield 0


def _back_among_nobody(world: World) -> Steps:
    """A member stands still until it is given up; those that took over leave before it goes on, so that nobody owns what it commits."""
    client, *others = world.live
    client.pause(world.clock.now_ms + 75_000)
    yield 70_000
    for other in others:
        other.leave()
    yield 10_000


OWN: Mapping[str, Callable[[World], Steps]] = {"picky": _two_kinds_of_subscription, "back-among-nobody": _back_among_nobody}
BUGS: tuple[Bug, ...] = (
    Bug(partitions_go_to_their_new_owner_at_once, "owners", "cooperative"),
    Bug(a_cooperative_member_gives_up_everything, "keeps", "cooperative"),
    Bug(whoever_asks_may_commit, "commits", "eager", "pause"),
    Bug(whoever_asks_may_commit, "commits", "eager", "back-among-nobody"),
    Bug(whoever_asks_may_commit, "commits", "cooperative", "back-among-nobody"),
    Bug(partitions_are_free_while_another_member_has_them, "owners", "consumer"),
    Bug(a_member_that_revoked_does_not_join_again, "settles", "cooperative"),
    Bug(every_assignment_asks_for_another, "rounds", "cooperative", patience_ms=30_000),
    Bug(everybody_gets_of_every_topic, "subscribed", "eager", "picky"),
    Bug(members_begin_at_the_beginning, "offsets", "eager", "bounce"),
    Bug(the_dead_stay, "settles", "eager", "crash"),
    Bug(partitions_are_free_while_another_member_has_them, "records", "consumer", "scale-out"),
    Bug(a_new_coordinator_forgets_commits, "failover", "cooperative", "failover"),
)


def rules_broken(bug: Bug) -> Iterator[str]:
    """Play what shows a bug, and say which rules did not hold."""
    steps = OWN.get(bug.scenario) or SCENARIOS[bug.scenario].steps
    plan = Plan(strategy=STRATEGIES[bug.strategy], members=4, partitions=24, patience_ms=bug.patience_ms)
    outcome = World(plan).run(bug.scenario, steps)
    return (violation.rule for violation in outcome.violations)
