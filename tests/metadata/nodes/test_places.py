"""Every place of an image has a path in the tree, and a path's subject is what has that path."""

from __future__ import annotations

import pytest

from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage, load_image
from metashell.metadata.image.differences import different_places
from metashell.metadata.nodes import Directory, LocalInfo, Node, build_root
from metashell.metadata.nodes.places import paths_of, resource_of, subject_of


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


def place_of(subject: tuple[object, ...], image: MetadataImage) -> tuple[object, ...]:
    """The place of the image that a subject stands for."""
    match subject:
        case ("topic" | "partition" as kind, str(name), *rest):
            return (kind, image.topics.by_name[name].id, *rest)
        case ("quota", tuple(entity), str(key)):
            return ("quota", tuple(sorted(entity)), key)
        case ("acl", acl):
            return ("acl", next(id for id, found in image.acls.by_id.items() if found == acl))
        case ("scram", mechanism, user):
            return ("scram", {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}[str(mechanism)], user)
        case _:
            return subject


def test_a_path_leads_to_its_subject_and_back(image: MetadataImage) -> None:
    root = build_root(image, voice="own", local=LocalInfo())
    kinds: dict[str, int] = {}

    def visit(node: Node, path: tuple[str, ...]) -> None:
        subject = subject_of(path, image)
        if subject is not None and subject[-1] is not None:
            assert path in paths_of(place_of(subject, image), image), path
            kinds[subject[0]] = kinds.get(subject[0], 0) + 1
        if isinstance(node, Directory):
            for child in node.iter_children():
                visit(child, (*path, child.name))

    places = root.child("image")
    assert places is not None
    visit(places, ("image",))
    assert kinds.keys() == {"topic", "partition", "broker", "controller", "config", "quota", "acl", "scram", "feature"}
    assert kinds["topic"] == 2 * len(image.topics.by_name) and kinds["acl"] == len(image.acls.by_id)


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("/image/topics/byName/new", ("topic", "new")),
        ("/topics/orders/0/data", ("partition", "orders", 0)),
        ("/topics/orders/0", ("partition", "orders", 0)),
        ("/brokers/4", ("broker", 4)),
        ("/image/cluster/brokers/0", ("broker", 0)),
        ("/image/cluster/controllers/0", ("controller", 0)),
        ("/image/configs/TOPIC:new", ("config", 2, "new", None)),
        ("/image/configs/BROKER", ("config", 4, "", None)),
        ("/image/configs/BROKER:1/log.cleaner.threads", ("config", 4, "1", "log.cleaner.threads")),
        ("/image/clientQuotas/user(alice)_clientId(<default>)", ("quota", (("user", "alice"), ("client-id", None)), None)),
        ("/image/clientQuotas/ip(10.0.0.1)/connection_creation_rate", ("quota", (("ip", "10.0.0.1"),), "connection_creation_rate")),
        ("/image/features/finalized_share.version", ("feature", "share.version")),
        ("/image/scram/SCRAM-SHA-512/a%2Fb", ("scram", "SCRAM-SHA-512", "a/b")),
    ],
)
def test_what_is_not_there_yet_has_a_subject(path: str, subject: object, image: MetadataImage) -> None:
    assert subject_of(path.strip("/").split("/"), image) == subject


@pytest.mark.parametrize(
    "path",
    [
        "/image",
        "/image/topics/byName",
        "/image/topics/byName/orders/name",
        "/image/topics/byName/orders/-1",
        "/image/topics/byId/AAAAAAAAAAAAAAAAAAAAAA",
        "/image/topics/byId/orders",
        "/image/cluster/brokers/x",
        "/image/cluster/brokers/-1",
        "/image/configs/NOTHING:x",
        "/image/configs/TOPIC:x/y/z",
        "/image/clientQuotas/alice",
        "/image/acls/byId/AAAAAAAAAAAAAAAAAAAAAA",
        "/image/features/zkMigrationState",
        "/local/version",
    ],
)
def test_what_nobody_can_change_has_none(path: str, image: MetadataImage) -> None:
    assert subject_of(path.strip("/").split("/"), image) is None


def test_who_has_settings() -> None:
    assert resource_of(("topic", "a")) == resource_of(("config", 2, "a", None)) == (2, "a")
    assert resource_of(("broker", 4)) == (4, "4")
    assert resource_of(("scram", "SCRAM-SHA-256", "a")) is None
