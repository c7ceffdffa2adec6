"""Brokers and controllers: Java's text, and the JSON of the record they registered with."""

from __future__ import annotations

from immutables import Map

from metashell.codec.registry import message_type
from metashell.metadata.image.cluster import BrokerRegistration, ClusterDelta, ClusterImage, ControllerRegistration, Listener
from tests.metadata.nodes.stand_in import at, kafka_root, own_root

ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"
BROKER = BrokerRegistration(
    id=4,
    epoch=17,
    incarnation_id=ID,
    listeners=(Listener("SASL", "::1", 9094, 2), Listener("PLAIN", "localhost", 9092, 0)),
    supported_features=Map({"metadata.version": (7, 30), "kraft.version": (0, 0), "open": (1, 32767)}),
    rack="rack-a",
    fenced=False,
    directories=(ID,),
)
CONTROLLER = ControllerRegistration(3, ID, True, (Listener("C", "h", 1, 1),), Map({"kraft.version": (0, 1)}))


def cluster(root_of):
    return root_of(brokers={4: BROKER, 10: BROKER._replace(id=10)}, controllers={3: CONTROLLER})


def test_a_broker_is_written_as_4_3_1_writes_it():
    assert at(cluster(kafka_root), "image/cluster/brokers/4").kafka_text() == (
        f"BrokerRegistration(id=4, epoch=17, incarnationId={ID_TEXT}"
        ", listeners=[Endpoint(listenerName='PLAIN', securityProtocol=PLAINTEXT, host='localhost', port=9092)"
        ", Endpoint(listenerName='SASL', securityProtocol=SASL_PLAINTEXT, host='::1', port=9094)]"
        ", supportedFeatures={kraft.version: 0, metadata.version: 7-30, open: 1+}, rack=Optional[rack-a], fenced=false"
        f", inControlledShutdown=false, isMigratingZkBroker=false, directories=[{ID_TEXT}], cordonedDirectories=null)"
    )


def test_a_broker_without_rack_that_told_its_cordoned_directories():
    brokers = {4: BROKER._replace(rack=None, cordoned_directories=(), listeners=(), supported_features=Map(), directories=())}
    text = at(kafka_root(brokers=brokers), "image/cluster/brokers/4").kafka_text()
    assert "listeners=[], supportedFeatures={}, rack=Optional.empty" in text
    assert text.endswith("directories=[], cordonedDirectories=[])")


def test_a_controller_is_written_as_java_writes_it():
    assert at(cluster(kafka_root), "image/cluster/controllers/3").kafka_text() == (
        f"ControllerRegistration(id=3, incarnationId={ID_TEXT}, zkMigrationReady=true"
        ", listeners=[Endpoint(listenerName='C', securityProtocol=SSL, host='h', port=1)]"
        ", supportedFeatures={kraft.version: 0-1})"
    )


def test_brokers_are_listed_as_texts_and_found_as_numbers():
    brokers = at(cluster(kafka_root), "image/cluster/brokers")
    assert brokers.child_names() == ["10", "4"]
    assert brokers.child("+4").kafka_text() == brokers.child("4").kafka_text()
    assert brokers.child("+4").name == "+4"
    assert brokers.child("5") is brokers.child("x") is None


def test_a_brokers_value_is_the_json_of_its_record():
    message = message_type("metadata", "RegisterBrokerRecord")
    end_point, feature = message.structs["BrokerEndpoint"], message.structs["BrokerFeature"]
    record = message.cls(
        broker_id=4,
        is_migrating_zk_broker=True,
        incarnation_id=ID,
        broker_epoch=17,
        end_points=(end_point(name="P", host="h", port=9092, security_protocol=3),),
        features=(feature(name="f", min_supported_version=1, max_supported_version=2),),
        rack="r",
        fenced=True,
        in_controlled_shutdown=True,
        log_dirs=(ID,),
        cordoned_log_dirs=(ID,),
    )
    delta = ClusterDelta(ClusterImage())
    delta.replay_register_broker(record)
    leaf = at(own_root(brokers=delta.apply().brokers), "image/cluster/brokers/4")
    value = leaf.value()
    assert value == message.to_json_value(record, message.versions[1])
    assert list(value) == list(message.to_json_value(record, message.versions[1]))
    assert leaf.type == "broker"


def test_a_controllers_value_is_the_json_of_its_record():
    message = message_type("metadata", "RegisterControllerRecord")
    record = message.cls(
        controller_id=3,
        incarnation_id=ID,
        zk_migration_ready=True,
        end_points=(message.structs["ControllerEndpoint"](name="P", host="h", port=9092, security_protocol=3),),
        features=(message.structs["ControllerFeature"](name="f", min_supported_version=1, max_supported_version=2),),
    )
    delta = ClusterDelta(ClusterImage())
    delta.replay_register_controller(record)
    leaf = at(own_root(controllers=delta.apply().controllers), "image/cluster/controllers/3")
    assert leaf.value() == message.to_json_value(record, message.versions[1])
    assert leaf.type == "controller"


def test_listeners_are_told_as_urls_beside_the_value():
    leaf = at(cluster(own_root), "image/cluster/brokers/4")
    assert leaf.envelope_info == {"listeners": ["PLAIN://localhost:9092", "SASL://[::1]:9094"]}


def test_the_second_view_has_the_registration_and_the_states_of_a_broker():
    brokers = {4: BROKER, 5: BROKER._replace(id=5, fenced=True, in_controlled_shutdown=True)}
    root = own_root(brokers=brokers)
    assert at(root, "brokers/4").child_names() == ["isFenced", "registration"]
    assert at(root, "brokers/4").type == "broker"
    assert at(root, "brokers/4/isFenced").value() is False
    assert at(root, "brokers/4/isFenced").kafka_text() == "false"
    assert at(root, "brokers/5").child_names() == ["inControlledShutdown", "isFenced", "registration"]
    assert at(root, "brokers/5/inControlledShutdown").value() is True
    assert at(root, "brokers/5/registration").value() == at(root, "image/cluster/brokers/5").value()
