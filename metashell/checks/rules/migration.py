"""The migration from ZooKeeper, which only 3.4 to 3.9 can do and end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, Found
from metashell.checks.past import evidence_of
from metashell.checks.registry import check
from metashell.codec.code_words import ZK_MIGRATION_STATES

if TYPE_CHECKING:
    from metashell.checks.facts import Facts

MIGRATION: Final = 1
PRE_MIGRATION: Final = 2


@check(
    "migration.zk_migration",
    BAD,
    "a migration from ZooKeeper that is not finished",
    IMAGE,
    endangers="Kafka 4.0 and later know no ZooKeeper: they cannot end it, and brokers that are still in ZooKeeper are lost to them",
    source="KIP-866, org.apache.kafka.metadata.migration.ZkMigrationState",
    example="PRE_MIGRATION (nothing can be changed until all brokers have registered with migration on; offset 3)",
)
def zk_migration(facts: Facts) -> Iterator[Found]:
    state = facts.image.features.zk_migration_state
    if state not in (PRE_MIGRATION, MIGRATION):
        return
    brokers = facts.image.cluster.brokers
    in_zk = sorted(id for id, broker in brokers.items() if broker.is_migrating_zk_broker)
    if state == PRE_MIGRATION:
        registered = f"registered so far: {', '.join(map(str, in_zk))}" if in_zk else "none has registered"
        cause = f"nothing can be changed until all brokers have registered with migration on; {registered}"
        steps = ["start every broker with zookeeper.metadata.migration.enable=true and the controllers' listener, under Kafka 3.9"]
    else:
        cause = "begun and not finalised"
        steps = ["finalise it with Kafka 3.9 before an upgrade to 4.x: restart controllers without zookeeper.metadata.migration.enable"]
        if in_zk:
            cause += f"; brokers still in ZooKeeper mode: {', '.join(map(str, in_zk))}"
            steps.insert(0, "restart the brokers in KRaft mode, one after the other")
    not_ready = sorted(id for id, one in facts.image.cluster.controllers.items() if not one.zk_migration_ready)
    if not_ready:
        cause += f"; controllers that are not ready for it: {', '.join(map(str, not_ready))}"
    event = None
    for one in facts.events:
        if one.name == "ZK_MIGRATION_STATE_RECORD" and (event is None or event.record.zk_migration_state != one.record.zk_migration_state):
            event = one
    yield Found(ZK_MIGRATION_STATES[state], cause, () if event is None else evidence_of(event), tuple(steps))
