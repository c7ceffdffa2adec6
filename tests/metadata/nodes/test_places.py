"""Every place of an image is found in the tree under the path that is told for it."""

from __future__ import annotations

import pytest

from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage, load_image
from metashell.metadata.image.differences import different_places
from metashell.metadata.nodes import Directory, LocalInfo, Node, build_root
from metashell.metadata.nodes.places import paths_of


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    with open_source(demo_directory()) as source:
        return load_image(source)


def node_at(root: Directory, path: tuple[str, ...]) -> Node | None:
    node: Node | None = root
    for name in path:
        assert isinstance(node, Directory)
        node = node.child(name)
    return node


def test_the_places_that_differ_from_nothing_are_the_leaves_and_topics_of_the_tree(image: MetadataImage):
    root = build_root(image, voice="own", local=LocalInfo())
    kinds = set()
    for place in different_places(EMPTY_IMAGE, image):
        kinds.add(place[0])
        for path in paths_of(place, image):
            node = node_at(root, path)
            assert node is not None, path
            assert node.name == path[-1]
            assert node.is_directory is (place[0] == "topic")
    assert kinds == {
        "topic",
        "partition",
        "broker",
        "controller",
        "config",
        "quota",
        "acl",
        "scram",
        "token",
        "feature",
        "producer ids",
        "voters",
    }


def test_a_topic_has_a_path_below_its_id_even_when_no_image_knows_it(image: MetadataImage):
    assert paths_of(("topic", bytes(15) + b"\x07"), image) == [("image", "topics", "byId", "AAAAAAAAAAAAAAAAAAAABw")]


def test_obsolete_and_unknown_things_have_paths_too():
    assert paths_of(("zk migration",)) == [("image", "features", "zkMigrationState")]
    assert paths_of(("scram", 9, "a/b")) == [("image", "scram", "UNKNOWN-9", "a%2Fb")]
    assert paths_of(("config", 99, "", "a")) == [("image", "configs", "UNKNOWN-99", "a")]
    assert paths_of(("voters",)) == [("image", "voters")]
