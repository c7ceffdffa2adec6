"""What the log of a running Kafka tells of its groups is what that node itself answers.

Random conversations leave groups in all states. What a classic group does between two generations is in no record, so those are compared
where they are Stable or Empty.
"""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.groups import committed_offsets, describe_group, list_groups
from metashell.cli.admin.protocol import Kind
from metashell.groups.log.log_dir import topic_names
from metashell.groups.log.queries import LoadedLogs, describe_found_group, find_group, group_summaries, load_logs, offset_rows
from metashell.groups.topics import KnownTopics, Topic
from metashell.groups.view import GroupDescription, MemberDescription, Parts, parts_of
from metashell.net.addresses import Address
from tests.interop.group_walks import Walk
from tests.interop.real_groups import RealGroups, Talk

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("METASHELL_SEED", "0"))
WALKS = 20 if os.environ.get("METASHELL_SOAK") else 3
WALKS_MAX = 10 * WALKS
"""Few walks leave a classic group where it can be compared."""
STEPS = 40
KINDS = ("classic", "consumer", "mixed")


@pytest.mark.parametrize("kinds", KINDS)
def test_the_log_tells_what_the_node_answers(groups: RealGroups, topics: dict[str, tuple[str, int]], kinds: str) -> None:
    compared = 0
    with contextlib.closing(Admin(Kind.BROKERS, [Address("localhost", groups.port)], timeout_ms=20_000)) as admin:
        for number in range(WALKS_MAX):
            if number >= WALKS and compared:
                break
            name = f"log-{kinds}-{SEED}-{number}"
            groups.log.read()
            with contextlib.closing(Talk(groups, name, topics)) as talk:
                Walk(talk, random.Random(name), topics, kinds).run(STEPS)
                compared += compare(admin, groups.data)
    assert compared


def compare(admin: Admin, data: Path) -> int:
    """Compare each group that has left no record while it was asked about; how many were compared."""
    loaded = load_logs([str(data)])
    assert not loaded.fault_count, loaded.faults
    listed, failed = list_groups(admin)
    assert not failed
    live = [summary for summary in listed if summary.group_id.startswith("log-")]
    known = KnownTopics(Topic(id, name, ()) for id, name in topic_names([str(data)]).items())
    compared = 0
    for summary in live:
        answered, offsets = describe_group(admin, summary.group_id), committed_offsets(admin, summary.group_id)
        if records_of(load_logs([str(data)]), summary.group_id) != records_of(loaded, summary.group_id):
            continue
        (found,) = find_group(loaded, summary.group_id)
        told = describe_found_group(found, known)
        if told.summary.kind == "classic" and answered.summary.state not in ("Stable", "Empty"):
            continue
        assert facts(told) == facts(answered), summary.group_id
        mine = [(row.topic, row.partition, row.offset, row.leader_epoch, row.metadata) for row in offset_rows(found, known, {})]
        theirs = [(row.topic, row.partition, row.offset, row.leader_epoch, row.metadata) for row in offsets]
        assert mine == sorted(theirs), summary.group_id
        compared += 1
    logged = {summary.group_id for summary in group_summaries(load_logs([str(data)]))}
    assert {summary.group_id for summary in live} <= logged
    return compared


def records_of(loaded: LoadedLogs, group_id: str) -> tuple[object, ...]:
    """What would differ if the group had changed meanwhile."""
    found = find_group(loaded, group_id)
    return tuple((facts(describe_found_group(one, KnownTopics())), one.log.fold.offset_counts()[one.raw]) for one in found)


def facts(description: GroupDescription) -> dict[str, object]:
    """What logs and answers both tell. In an answer a member still has what it was told to give up; the log tells the two apart."""
    summary = description.summary
    members = [
        (
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.topics,
            held(member),
            member.target,
            member.epoch,
        )
        for member in description.members
    ]
    epochs = (None, None) if summary.kind == "classic" else (summary.epoch, description.assignment_epoch)
    return {
        "kind": summary.kind,
        "state": summary.state,
        "protocol_type": summary.protocol_type,
        "epochs": epochs,
        "members": sorted(members, key=lambda member: member[0]),
    }


def held(member: MemberDescription) -> Parts:
    """What a member has, and has still to give up."""
    return parts_of((topic, number) for topic, numbers in (*member.assigned, *member.revoking) for number in numbers)
