"""Registrations of brokers and controllers."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_type
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, ReplayError
from metashell.metadata.image.cluster import in_uuid_order
from tests.metadata.image.batches import record
from tests.seeds import shows

DIRECTORY = bytes(range(16))


def registered(**fields: object) -> MetadataImage:
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(record("RegisterBrokerRecord", **{"broker_id": 1, "broker_epoch": 5, **fields}))
    return delta.apply()


def changed(image: MetadataImage, **fields: object):
    delta = MetadataDelta(image)
    delta.replay(record("BrokerRegistrationChangeRecord", **{"broker_id": 1, "broker_epoch": 5, **fields}))
    return delta.apply().cluster.brokers[1]


def test_a_change_says_only_what_it_sets():
    image = registered(fenced=True, log_dirs=(DIRECTORY,), cordoned_log_dirs=(DIRECTORY,))
    broker = image.cluster.brokers[1]
    assert changed(image) == broker
    assert changed(image, fenced=-1) == broker._replace(fenced=False)
    assert changed(image, in_controlled_shutdown=1) == broker._replace(in_controlled_shutdown=True)
    assert changed(image, log_dirs=(bytes(16),)) == broker._replace(directories=(bytes(16),))
    assert changed(image, cordoned_log_dirs=()) == broker._replace(cordoned_directories=())


@shows("KIP-631/membership")
def test_unfencing_does_not_end_a_controlled_shutdown():
    assert changed(registered(in_controlled_shutdown=True), fenced=-1).in_controlled_shutdown


@shows("KIP-631/register-record")
def test_a_new_registration_forgets_what_the_former_one_told():
    image = registered(cordoned_log_dirs=(DIRECTORY,))
    delta = MetadataDelta(image)
    delta.replay(record("RegisterBrokerRecord", broker_id=1, broker_epoch=6))
    assert delta.apply().cluster.brokers[1].cordoned_directories is None
    assert image.cluster.brokers[1].cordoned_directories == (DIRECTORY,)


@pytest.mark.parametrize("fields", [{"broker_id": 2}, {"broker_epoch": 6}, {"fenced": 2}, {"in_controlled_shutdown": 2}])
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(fields: dict[str, int]):
    image = registered()
    delta = MetadataDelta(image)
    with pytest.raises(ReplayError):
        delta.replay(record("BrokerRegistrationChangeRecord", **{"broker_id": 1, "broker_epoch": 5, **fields}))
    assert delta.apply().has_same_metadata(image)


def test_only_a_controller_that_is_registered_can_be_removed():
    delta = MetadataDelta(EMPTY_IMAGE)
    for id in (8, 9):
        delta.replay(record("RegisterControllerRecord", controller_id=id))
    delta.replay(record("UnregisterControllerRecord", controller_id=9))
    with pytest.raises(ReplayError, match="controller 9 is not registered"):
        delta.replay(record("UnregisterControllerRecord", controller_id=9))
    assert list(delta.apply().cluster.controllers) == [8]


def test_directories_are_in_javas_order_of_uuids():
    negative, small, large = b"\xff" * 16, bytes(16), b"\x7f" * 16
    assert in_uuid_order([large, small, negative]) == (negative, small, large)


def test_of_two_listeners_of_one_name_the_later_counts():
    make = message_type("metadata", "RegisterBrokerRecord").structs["BrokerEndpoint"]
    listeners = registered(end_points=(make(name="B", port=1), make(name="A", port=2), make(name="B", port=3))).cluster.brokers[1].listeners
    assert [(listener.name, listener.port) for listener in listeners] == [("A", 2), ("B", 3)]
