"""Whatever the data calls things, in our own voice every place has one path, and the path finds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.image.settings import DelegationToken, ScramCredential
from metashell.metadata.nodes import Directory, Leaf
from metashell.metadata.nodes.names import utf16_key
from tests.metadata.nodes.stand_in import at, kafka_root, own_root, topic_image, walk

HOSTILE = st.text(alphabet="a%/.:_()\\<>default\x00\x1b\x9f\u202e\uff5e\U0001f600", max_size=7)
TEXTS = HOSTILE | st.sampled_from(["", ".", "..", "%", "<default>", "%3Cdefault%3E", "id", "0", "user", "TOPIC", "UNKNOWN-9"])
VALUES = st.dictionaries(TEXTS, st.just("v"), min_size=1, max_size=3)
ENTITIES = st.dictionaries(st.sampled_from(["client-id", "ip", "user", "clientId"]) | TEXTS, st.none() | TEXTS, max_size=3)
CREDENTIAL = ScramCredential(b"s", b"k", b"k", 1)
TOKEN = DelegationToken("User:a", "User:a", (), 0, 0, 0, "t")


@st.composite
def images(draw: st.DrawFn) -> dict[str, object]:
    names = draw(st.lists(TEXTS, unique=True, max_size=4))
    entities = draw(st.lists(ENTITIES, max_size=4))
    return {
        "topics": [topic_image(name, bytes([number]) * 16, {0: None, -1: None}) for number, name in enumerate(names)],
        "configs": draw(st.dictionaries(st.tuples(st.sampled_from([0, 2, 4, 8, 9, 10, 16, 32]), TEXTS), VALUES, max_size=5)),
        "quotas": {tuple(sorted(entity.items(), key=lambda part: part[0])): {"user": 1.0, "x/y": 2.0} for entity in entities},
        "scram": draw(st.dictionaries(st.sampled_from([1, 2, 3]), st.dictionaries(TEXTS, st.just(CREDENTIAL), max_size=3))),
        "tokens": draw(st.dictionaries(TEXTS, st.just(TOKEN), max_size=3)),
        "levels": draw(st.dictionaries(TEXTS, st.integers(1, 3), max_size=3)),
    }


@given(images())
def test_every_path_of_our_voice_is_one_nodes_and_finds_it(content):
    root = own_root(**content)
    seen = set()
    for path, node in walk(root):
        assert path not in seen
        seen.add(path)
        assert all(name not in ("", ".", "..") and "/" not in name for name in path)
        found = at(root, "/".join(path)) if path else root
        assert found is not None and type(found) is type(node) and found.name == node.name
        if isinstance(node, Directory):
            names = list(node.child_names())
            assert names == sorted(set(names), key=utf16_key) == [child.name for child in node.iter_children()]
            assert node.child_count() == len(names)
        elif isinstance(node, Leaf) and node.type != "partition" and path[-1] != "data":
            assert node.value() == found.value()


@given(images())
def test_kafkas_tree_can_be_walked_whatever_it_is_called(content):
    for _, node in walk(kafka_root(**content)):
        if isinstance(node, Leaf) and node.type != "partition":
            assert isinstance(node.kafka_text(), str)
        elif isinstance(node, Directory):
            assert list(node.child_names()) == sorted(node.child_names(), key=utf16_key)
