"""Brokers and controllers, finalized features, and the provenance, voters and faults of the image."""

from __future__ import annotations

from immutables import Map

from metashell.codec.registry import message_type
from metashell.metadata.image.cluster import BrokerRegistration, ClusterDelta, ClusterImage, ControllerRegistration, Listener
from metashell.metadata.image.provenance import Fault, Leader, Voter, VoterEndpoint, VoterSet, voter_set
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


LEVELS = {"transaction.version": 2, "a/b": 1}


def test_kafka_lists_the_metadata_version_and_every_other_level():
    features = at(kafka_root(metadata_version=30, levels=LEVELS, kraft_version=1), "image/features")
    assert features.child_names() == ["finalized_a/b", "finalized_transaction.version", "metadataVersion"]
    assert [leaf.kafka_text() for leaf in features.iter_children()] == ["1", "2", "Optional[4.3-IV0]"]


def test_in_kafkas_voice_any_finalized_name_resolves_to_0():
    features = at(kafka_root(levels=LEVELS), "image/features")
    assert features.child("finalized_anything").kafka_text() == "0"
    assert features.child("finalized_").kafka_text() == "0"
    assert features.child("finalized_metadata.version").kafka_text() == "0"
    assert features.child("zkMigrationState") is features.child("finalised_x") is None


def test_an_image_without_a_metadata_version():
    assert at(kafka_root(), "image/features/metadataVersion").kafka_text() == "Optional.empty"
    assert at(own_root(), "image/features/metadataVersion").value() is None


def test_our_voice_names_the_metadata_version_and_gives_its_level_beside_it():
    features = at(own_root(metadata_version=30, levels=LEVELS), "image/features")
    assert features.child("metadataVersion").value() == "4.3-IV0"
    assert features.child("metadataVersion").envelope_info == {"feature": "metadata.version", "feature_level": 30}
    assert features.child("finalized_a%2Fb").value() == 1
    assert features.child("finalized_anything") is None
    assert all(leaf.type == "feature" for leaf in features.iter_children())


def test_a_migrated_cluster_still_says_so_in_our_voice():
    features = at(own_root(zk_migration_state=3), "image/features")
    assert features.child_names() == ["metadataVersion", "zkMigrationState"]
    assert features.child("zkMigrationState").value() == "POST_MIGRATION"
    assert at(own_root(), "image/features/zkMigrationState") is None


def test_the_second_view_has_every_feature_as_its_records_json():
    root = own_root(metadata_version=30, levels=LEVELS, kraft_version=1)
    assert at(root, "features").child_names() == ["a%2Fb", "kraft.version", "metadata.version", "transaction.version"]
    assert at(root, "features/metadata.version").value() == {"name": "metadata.version", "featureLevel": 30}
    assert at(own_root(), "features").child_names() == []


VOTERS = VoterSet(138, (Voter(1, bytes(16), (VoterEndpoint("C", "h", 1),), 0, 1), Voter(10, bytes(16)), Voter(2, bytes(16))))
FAULT = Fault("x.log", 7, 99, "PARTITION_RECORD", "unknown topic")


def test_kafka_prints_the_position_in_the_file():
    assert at(kafka_root(), "image/provenance").kafka_text() == "offset 80, epoch 2, time 2026-11-21T00:21:38.6Z[UTC]"


def test_our_voice_gives_the_position_of_the_image_and_how_far_it_is_certain():
    assert at(own_root(faults=(FAULT,)), "image/provenance").value() == {
        "offset": 138,
        "epoch": 1,
        "timestamp": 1795220498440,
        "source_kind": "checkpoint",
        "source": "x.checkpoint",
        "certain_to": 139,
        "end_offset": 139,
        "faults": 1,
    }


def test_faults_are_listed_with_their_places():
    leaf = at(own_root(faults=(FAULT,)), "image/faults")
    assert leaf.value() == [{"file": "x.log", "offset": 7, "position": 99, "record_type": "PARTITION_RECORD", "reason": "unknown topic"}]
    assert at(own_root(), "image/faults").value() == []


def test_voters_are_the_json_of_their_control_record_with_its_offset():
    message = message_type("control", "VotersRecord")
    voter, endpoint = message.structs["Voter"], message.structs["Endpoint"]
    record = message.cls(
        voters=(
            voter(
                voter_id=1,
                voter_directory_id=bytes(range(16)),
                endpoints=(endpoint(name="C", host="h", port=9093),),
                k_raft_version_feature=message.structs["KRaftVersionFeature"](min_supported_version=0, max_supported_version=1),
            ),
        )
    )
    value = at(own_root(voters=voter_set(record, 5)), "image/voters").value()
    assert value.pop("offset") == 5
    json_value = message.to_json_value(record, 0)
    assert value == {"voters": json_value["voters"]}
    assert at(own_root(), "image/voters").value() is None


def test_neither_voters_nor_faults_are_in_kafkas_tree():
    names = at(kafka_root(voters=VOTERS, faults=(FAULT,)), "image").child_names()
    assert "voters" not in names and "faults" not in names


def test_the_second_view_has_the_quorum():
    root = own_root(voters=VOTERS, leader=Leader(3, 7))
    assert at(root, "metadataQuorum").child_names() == ["leader", "offset", "voters"]
    assert at(root, "metadataQuorum/offset").value() == 138
    assert at(root, "metadataQuorum/leader").value() == {"leaderId": 3, "leaderEpoch": 7}
    assert at(root, "metadataQuorum/voters").child_names() == ["1", "10", "2"]
    assert at(root, "metadataQuorum/voters/1").value()["endpoints"] == [{"name": "C", "host": "h", "port": 1}]
    assert at(own_root(), "metadataQuorum").child_names() == ["offset"]
