"""Finalized features."""

from __future__ import annotations

from tests.metadata.nodes.stand_in import at, kafka_root, own_root

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
