"""Applications of Kafka Streams that are upgraded while they run: the matrix of KIP-268, and the ways that came later.

Whole groups live: the versions travel through joins and syncs of our coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest

from metashell.codec.codes import JOIN_GROUP, SYNC_GROUP
from metashell.codec.consumer_protocol import Assignment, read_assignment, read_subscription
from metashell.groups.members import Failed
from metashell.groups.members.strategy import Joined, StreamsStrategy, read_versions
from metashell.groups.members.version_probing import LATEST_VERSIONS, ProbingError, allowed_upgrade_from, initial_version, is_before
from metashell.groups.topics import Topics
from tests.groups.members.life import Life, topics_named
from tests.seeds import shows

OLD = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1")
PROBING = ("2.0", "2.1", "2.3", "2.4", "2.5", "2.6", "2.8", "3.0", "3.1")
TASKS = 6


class Application:
    """Three members of one Streams application. Shape: `rounds` has what each generation's leader gave: versions, commonly supported."""

    def __init__(self, release: str, upgrade_from: str | None = None) -> None:
        self.life = Life(topics_named(t=TASKS))
        self.strategies: dict[str, StreamsStrategy] = {}
        for name in "abc":
            self.start(name, release, upgrade_from)
            self.life.run(2_000)

    def start(self, name: str, release: str, upgrade_from: str | None = None, is_future: bool = False) -> None:
        self.strategies[name] = StreamsStrategy(name.encode() * 16, release, upgrade_from, is_future)
        self.life.join(name, assignors=[self.strategies[name]])

    def bounce(self, release: str, upgrade_from: str | None = None, order: str = "abc", is_future: bool = False) -> list[int]:
        """Each member in turn; gives how many generations every bounce took, beside the one in which it left."""
        taken = []
        for name in order:
            self.life.close(name)
            self.life.run(2_000)
            self.life.kill(name)
            before = self.generation()
            self.start(name, release, upgrade_from, is_future)
            self.life.run(3_000)
            taken.append(self.generation() - before)
            self.check()
        return taken

    def generation(self) -> int:
        return max((member.generation for member in self.life.members.values()), default=0)

    def check(self) -> None:
        """Everybody runs, every task is somebody's, and nothing was at two places."""
        assert [one.what for one in self.life.seen if isinstance(one.what, Failed)] == []
        assert sorted(number for numbers in self.life.owned().values() for number in numbers) == list(range(TASKS))
        assert self.life.overlaps == []

    def given(self) -> list[tuple[int, int]]:
        """Version and commonly supported version of every assignment so far."""
        found = []
        for name in {one.member for one in self.life.seen}:
            for body in self.life.requests(name, SYNC_GROUP):
                found += [read_versions(read_assignment(one.assignment).user_data or b"") for one in body.assignments]
        return found

    def sent(self) -> set[int]:
        """The versions in which members subscribed."""
        bodies = [body for name in {one.member for one in self.life.seen} for body in self.life.requests(name, JOIN_GROUP)]
        return {read_versions(read_subscription(body.protocols[0].metadata).user_data or b"")[0] for body in bodies}


def later(release: str) -> list[str]:
    return [one for one in (*OLD, "2.0") if is_before(release, one)]


@shows("KIP-268/matrix", "KIP-268/S1", "KIP-268/S2", "KIP-268/S6", "KIP-268/S7")
@pytest.mark.parametrize(("old", "new"), [(old, new) for old in OLD for new in later(old)])
def test_two_bounces_upgrade_an_application(old: str, new: str) -> None:
    """First with `upgrade.from`: all speak the old version. Then without: all speak it until the last one has been bounced."""
    application = Application(old)
    number = LATEST_VERSIONS[old]
    application.bounce(new, upgrade_from=old)
    assert {version for version, _ in application.given()} == application.sent() == {number}
    application.life.seen.clear()
    application.bounce(new)
    assert {version for version, _ in application.given()} <= {number, LATEST_VERSIONS[new]}
    application.life.seen.clear()
    application.life.enforce("a")
    application.life.run(2_000)
    assert {version for version, _ in application.given()} == application.sent() == {LATEST_VERSIONS[new]}


@shows("KIP-268/S8", "KIP-268/matrix")
@pytest.mark.parametrize("old", OLD)
def test_one_bounce_from_before_probing_fails_the_old_leader(old: str) -> None:
    application = Application(old)
    application.start("d", "2.0")
    application.life.run(2_000)
    failures = [one.what for one in application.life.seen if isinstance(one.what, Failed)]
    assert failures and "Unable to decode subscription data" in failures[0].message


@shows("KIP-268/matrix", "KIP-268/S10", "KIP-268/S12", "KIP-268/S13")
@pytest.mark.parametrize("old", PROBING)
def test_probing_upgrades_an_application_in_one_bounce(old: str) -> None:
    """An eager one is bounced twice from 2.4 on, for its consumers' sake: see the next test."""
    new = "2.3" if is_before(old, "2.3") else "4.3" if not is_before(old, "2.4") else "2.3"
    application = Application(old)
    taken = application.bounce(new)
    if LATEST_VERSIONS[old] < LATEST_VERSIONS[new]:
        assert max(taken) >= 2, "nobody probed"
    assert {one.used for one in application.strategies.values()} == {LATEST_VERSIONS[new]}
    application.life.seen.clear()
    application.life.enforce("a")
    application.life.run(2_000)
    assert {version for version, _ in application.given()} == {LATEST_VERSIONS[new]}


@shows("KIP-268/matrix")
@pytest.mark.parametrize("old", ["2.0", "2.3"])
def test_from_eager_to_cooperative_it_takes_upgrade_from_and_two_bounces(old: str) -> None:
    application = Application(old)
    application.bounce("3.9", upgrade_from=old)
    assert not any(one.is_cooperative for one in application.strategies.values())
    application.bounce("3.9")
    assert all(one.is_cooperative for one in application.strategies.values())
    assert {one.used for one in application.strategies.values()} == {11}


@shows("KIP-268/matrix")
@pytest.mark.parametrize("old", ["3.2", "3.9", "4.0"])
def test_where_the_version_stays_nobody_probes(old: str) -> None:
    application = Application(old)
    application.life.seen.clear()
    application.bounce("4.3")
    assert set(application.given()) == {(11, 11)} and application.sent() == {11}


@shows("KIP-268/S13", "KIP-268/S15", "KIP-268/matrix")
@pytest.mark.parametrize("order", ["".join(one) for one in permutations("abc")])
def test_to_simulated_code_of_the_future_in_every_order(order: str) -> None:
    application = Application("4.3")
    application.bounce("4.3", order=order, is_future=True)
    assert {one.used for one in application.strategies.values()} == {12}
    application.life.seen.clear()
    application.life.enforce("a")
    application.life.run(2_000)
    assert set(application.given()) == {(12, 12)}


@shows("KIP-268/S15")
@pytest.mark.parametrize("order", ["".join(one) for one in permutations("abc")])
def test_members_that_die_in_the_middle_of_a_bounce_come_back(order: str) -> None:
    application = Application("4.3")
    for number, name in enumerate(order):
        application.life.kill(name)
        application.life.run(50 * number)
        application.start(name, "4.3", is_future=True)
        application.life.run(20 + 7 * number)
    application.life.run(12_000)
    application.check()
    assert {one.used for one in application.strategies.values()} == {12}


@shows("KIP-268/S14")
def test_all_at_once_needs_one_rebalance_and_no_probing() -> None:
    application = Application("4.3")
    for name in "abc":
        application.life.close(name)
    application.life.run(3_000)
    for name in "abc":
        application.life.kill(name)
    application.life.seen.clear()
    for name in "abc":
        application.start(name, "4.3", is_future=True)
    application.life.run(5_000)
    application.check()
    assert set(application.given()) == {(12, 12)} and application.sent() == {12}
    versions = [read_versions(body.protocols[0].metadata) for name in "abc" for body in application.life.requests(name, JOIN_GROUP)]
    assert versions and {strategy.used for strategy in application.strategies.values()} == {12}
    # Who has joined by then shares the generation in which the last one comes; nobody asks for one more.
    reasons = [body.reason for name in "abc" for body in application.life.requests(name, JOIN_GROUP)]
    assert not [reason for reason in reasons if reason and "version" in reason]


@shows("KIP-268/S16")
@pytest.mark.parametrize("release", [*OLD, *PROBING, "3.9", "4.3"])
def test_a_member_lists_one_assignor_whatever_its_release(release: str) -> None:
    """Versions are in the user data: no member lists an assignor for each version, and all of a group can join under one name."""
    froms = [None, *(one for one in allowed_upgrade_from(release) if is_before(one, release))] if release not in OLD else [None]
    joins = []
    for upgrade_from in froms:
        life = Life(topics_named(t=TASKS))
        life.join("a", assignors=[StreamsStrategy(b"a" * 16, release, upgrade_from)])
        life.run(1_000)
        joins += life.requests("a", JOIN_GROUP)
    assert joins and {tuple(protocol.name for protocol in body.protocols) for body in joins} == {("stream",)}


@shows("KIP-268/S1", "KIP-268/S2", "KIP-268/S3")
def test_what_upgrade_from_takes_by_release() -> None:
    assert allowed_upgrade_from("2.0") == list(OLD)
    assert allowed_upgrade_from("0.10.1") == ["0.10.0"], "the back-port"
    assert allowed_upgrade_from("4.0")[0] == "2.4" and allowed_upgrade_from("3.9")[0] == "0.10.0"
    for release in OLD:
        assert initial_version("2.0", release).version == LATEST_VERSIONS[release] <= 2
    assert initial_version("3.9", "2.3") == (11, False, True, True) and initial_version("3.9", "3.4") == (11, True, False, True)
    assert initial_version("3.9", "3.5") == (11, True, False, False)
    with pytest.raises(ProbingError, match=r"Invalid value 1\.1 for configuration upgrade\.from"):
        initial_version("4.0", "1.1")


def test_an_assignment_of_another_assignor_fails_the_member_and_nothing_is_raised() -> None:
    """Its leader runs something else under the name of Kafka Streams."""
    life = Life(topics_named(t=TASKS))
    life.join("a", assignors=[Impostor(b"a" * 16)])
    life.run(2_000)
    failure = life.members["a"].failure
    assert failure is not None and failure.message == "Failed to decode AssignmentInfo"


class Impostor(StreamsStrategy):
    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        return {member_id: Assignment((("t", 0),), b"\x00\x00\x00\x0b\x00") for member_id in members}
