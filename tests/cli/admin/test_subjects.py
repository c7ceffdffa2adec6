"""Questions and changes, asked of a quorum of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.cluster import (
    Change,
    describe_cluster,
    describe_features,
    describe_quorum,
    remove_voter,
    unregister_broker,
    update_features,
)
from metashell.cli.admin.protocol import AdminError, Kind
from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED, VOTER_NOT_FOUND
from metashell.common.values import ReplicaKey
from metashell.net.addresses import parse_addresses
from metashell.quorum.embedded import EmbeddedQuorum


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(2, fake_brokers=2) as running:
        yield running


@pytest.fixture
def admin(quorum: EmbeddedQuorum) -> Iterator[Admin]:
    with Admin(Kind.CONTROLLERS, parse_addresses(quorum.bootstrap_controllers), timeout_ms=20_000) as made:
        yield made


def test_the_cluster_has_its_id_its_controllers_and_who_is_active(quorum: EmbeddedQuorum, admin: Admin) -> None:
    found = describe_cluster(admin)
    assert (found.cluster_id, found.active_id) == (quorum.cluster_id, quorum.leader_id)
    assert {node.id for node in found.nodes} == set(quorum.controller_ids)


def test_a_broker_is_unregistered_once(quorum: EmbeddedQuorum, admin: Admin) -> None:
    with pytest.raises(AdminError) as caught:
        unregister_broker(admin, 999)
    assert caught.value.code == BROKER_ID_NOT_REGISTERED
    assert str(caught.value) == "broker 999: BROKER_ID_NOT_REGISTERED: Broker ID 999 is not currently registered"
    assert caught.value.remark == ""


def test_the_quorum_has_its_voters_with_directories_and_endpoints(quorum: EmbeddedQuorum, admin: Admin) -> None:
    found = describe_quorum(admin)
    assert found.leader_id == quorum.leader_id
    assert {voter.id for voter in found.voters} == set(quorum.controller_ids)
    assert found.leader is not None and found.lag_of(found.leader) == 0
    addresses = {str(endpoint.address) for voter in found.voters for endpoint in voter.endpoints}
    assert addresses == set(quorum.bootstrap_controllers.split(","))
    with pytest.raises(AdminError) as caught:
        remove_voter(admin, ReplicaKey(77, b"\1" * 16))
    assert caught.value.code == VOTER_NOT_FOUND


def test_features_are_told_and_changed_together_or_not_at_all(quorum: EmbeddedQuorum, admin: Admin) -> None:
    levels = {feature.name: feature.level for feature in describe_features(admin).features}
    assert levels["metadata.version"] == quorum.image.features.metadata_version
    errors = update_features(admin, {"group.version": 0, "nope.version": 0}, Change.SAFE_DOWNGRADE, dry_run=True)
    assert set(errors) == {"group.version", "nope.version"} and all(errors.values())
    assert update_features(admin, {"group.version": 0}, Change.SAFE_DOWNGRADE, dry_run=True) == {"group.version": None}
