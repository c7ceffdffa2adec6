"""Whatever classic members do, and whenever they, the log or the coordinator fail, a group stays whole and comes to rest."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place
from metashell.groups.state import Settings
from tests.groups.driven import Driven

GROUPS = ("g", "h")
CLIENTS = ("a", "b", "c")
INSTANCES = (None, None, None, "i", "j")
PROTOCOLS = (
    (("range", b"1"),),
    (("range", b"1"), ("sticky", b"1")),
    (("sticky", b"1"), ("range", b"1")),
    (("range", b"2"), ("sticky", b"2")),
)
EXAMPLES = max(60, settings.default.max_examples) if settings.default else 60
DAY_MS = 86_400_000


class ClassicMachine(RuleBasedStateMachine):
    """Shape: a member is (group id, member id, instance id) as some answer named it, whatever became of it since."""

    members = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        rules = Settings(initial_rebalance_delay_ms=0, max_size=4)
        self.driven = Driven(rules)
        self.generations: dict[str, int] = {}
        self.lossy: set[str] = set()
        """Groups of which the log does not know all: a write failed."""

    @property
    def groups(self) -> dict[str, Any]:
        return self.driven.shard.coordinator.state.groups

    def generation_of(self, group_id: str) -> int:
        group = self.groups.get(group_id)
        return group.generation if isinstance(group, ClassicGroup) else 0

    @rule(
        target=members,
        group_id=st.sampled_from(GROUPS),
        client=st.sampled_from(CLIENTS),
        instance_id=st.sampled_from(INSTANCES),
        protocols=st.sampled_from(PROTOCOLS),
        version=st.sampled_from((3, 9)),
    )
    def join_new(self, group_id: str, client: str, instance_id: str | None, protocols: Any, version: int) -> Any:
        instance_id = instance_id if version >= 5 else None
        ticket = self.driven.join(group_id, client=client, instance_id=instance_id, protocols=protocols, version=version)
        answer = self.driven.answers.get(ticket)
        if answer is not None and answer.member_id:
            return group_id, answer.member_id, instance_id
        live = self.groups.get(group_id)
        known = list(live.members) if isinstance(live, ClassicGroup) else []
        return group_id, known[-1] if known else "nobody", instance_id

    @rule(member=members, client=st.sampled_from(CLIENTS), protocols=st.sampled_from(PROTOCOLS))
    def join_again(self, member: Any, client: str, protocols: Any) -> None:
        group_id, member_id, instance_id = member
        self.driven.join(group_id, member_id, client=client, instance_id=instance_id, protocols=protocols)

    @rule(member=members, is_behind=st.booleans(), names=st.booleans())
    def sync(self, member: Any, is_behind: bool, names: bool) -> None:
        group_id, member_id, instance_id = member
        live = self.groups.get(group_id)
        known = list(live.members) if names and isinstance(live, ClassicGroup) else []
        generation = self.generation_of(group_id) - (is_behind and not names)
        self.driven.sync(group_id, member_id, generation, {id: id.encode() for id in known}, instance_id=instance_id)

    @rule(member=members)
    def beat(self, member: Any) -> None:
        group_id, member_id, instance_id = member
        self.driven.beat(group_id, member_id, self.generation_of(group_id), instance_id=instance_id)

    @rule(member=consumes(members))
    def leave(self, member: Any) -> None:
        group_id, member_id, _ = member
        self.driven.leave(group_id, (member_id, None))

    @rule(group_id=st.sampled_from(GROUPS), instance_id=st.sampled_from(("i", "j")))
    def remove_instance(self, group_id: str, instance_id: str) -> None:
        self.driven.leave(group_id, ("", instance_id))

    @rule(group_id=st.sampled_from(GROUPS))
    def settle(self, group_id: str) -> None:
        """Every member joins again and syncs, the leader with an assignment."""
        live = self.groups.get(group_id)
        if not isinstance(live, ClassicGroup):
            return
        for member in list(live.members.values()):
            if member.awaiting_join is None:
                self.driven.join(group_id, member.member_id, instance_id=member.instance_id, protocols=member.protocols)
        if live.state is ClassicState.PREPARING:
            self.driven.wait(live.rebalance_timeout_ms)
        for member in list(live.members.values()):
            assignments = {id: id.encode() for id in live.members} if member.member_id == live.leader else {}
            self.driven.sync(group_id, member.member_id, live.generation, assignments, instance_id=member.instance_id)

    @rule(ms=st.sampled_from((1, 5_000, 20_000, 31_000, 61_000)))
    def wait(self, ms: int) -> None:
        self.driven.wait(ms)

    @rule(code=st.sampled_from((3, 6, 10, 0, 0, 0, 0, 0)))
    def break_log(self, code: int) -> None:
        self.driven.shard.error = code
        if code:
            self.lossy.update(GROUPS)

    @rule()
    def fail_over(self) -> None:
        """Another coordinator begins with what was written: it may not know a generation that nobody had synced."""
        self.driven.restart()
        self.generations.clear()
        self.lossy.clear()

    @invariant()
    def groups_are_whole(self) -> None:
        timers = self.driven.shard.coordinator.context.timers
        for group_id, group in self.groups.items():
            check_group(group)
            for member in group.members.values():
                assert session_key(group_id, member.member_id) in timers or member.satisfies_heartbeat
            for member_id in group.pending_joins:
                assert session_key(group_id, member_id) in timers
            assert group.generation >= self.generations.get(group_id, 0)
            self.generations[group_id] = group.generation

    @invariant()
    def the_log_says_what_lives(self) -> None:
        state = make_state()
        offset = 0
        for batch in self.driven.shard.written:
            for record in batch.records:
                replay(state, record, Place(offset))
                offset += 1
        assert not state.findings
        for group_id, group in self.groups.items():
            if group_id not in self.lossy and group.state in (ClassicState.STABLE, ClassicState.EMPTY):
                folded = state.groups[group_id]
                assert isinstance(folded, ClassicGroup) and told(folded) == told(group)

    def teardown(self) -> None:
        """Once nobody is heard of any more, every group empties, and nobody waits."""
        self.driven.shard.error = 0
        self.driven.wait(DAY_MS)
        for group in self.groups.values():
            assert group.state is ClassicState.EMPTY and not group.members and not group.pending_joins
        assert {key[0] for key in self.driven.shard.coordinator.context.timers} <= {"expire-group-metadata"}


def check_group(group: ClassicGroup) -> None:
    members = group.members
    assert group.awaiting_join_count == sum(member.awaiting_join is not None for member in members.values())
    assert group._supporters == Counter(name for member in members.values() for name, _ in member.protocols)
    assert group.static_members == {member.instance_id: id for id, member in members.items() if member.instance_id is not None}
    assert (group.leader in members) if members else group.leader is None
    assert not group.pending_joins & set(members) and group.pending_syncs <= set(members)
    assert all(member.member_id == id for id, member in members.items())
    if group.state is ClassicState.EMPTY:
        assert not members and group.protocol_name is None
    elif group.state is ClassicState.STABLE:
        assert members and all(member.awaiting_sync is None and member.awaiting_join is None for member in members.values())
    elif group.state is ClassicState.COMPLETING:
        assert members and not group.awaiting_join_count
        assert members[group.leader or ""].awaiting_sync is None, "the leader's sync completes the group at once"
    else:
        assert group.state is ClassicState.PREPARING
        assert not any(member.awaiting_sync is not None for member in members.values())
        assert group.previous_state is ClassicState.EMPTY or not group.have_all_joined


def told(group: ClassicGroup) -> Any:
    """What a record says of a group."""
    name = group.protocol_name or ""
    members = {
        id: (m.instance_id, m.client_id, m.session_timeout_ms, m.rebalance_timeout_ms, m.metadata(name) or b"", m.assignment)
        for id, m in group.members.items()
    }
    return group.state, group.generation, group.protocol_type, group.protocol_name, group.leader, group.state_ms >= 0, members


TestClassicMachine = ClassicMachine.TestCase
TestClassicMachine.settings = settings(max_examples=EXAMPLES, stateful_step_count=40)
