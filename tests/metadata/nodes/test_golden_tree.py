"""The whole tree of real files, as the shell of Kafka 4.4.0 prints it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.metadata.nodes import Directory, Leaf, LocalInfo, Node, build_root
from tests.golden_cases import Case, shell_cases, small_diff
from tests.metadata.nodes.stand_in import walk

LOCAL = LocalInfo(version="4.4.0", commit_id="1156b2752aaa28ea")
CASES = [case for case in shell_cases() if case.files and not case.stdin]
TREES = [case for case in CASES if "session" in case.tags and case.argv[2:] in (("tree", "/image"), ("tree", "/local"))]
CATS = [case for case in CASES if case.argv[2:3] == ("cat",) and case.status == 0]


def tree_lines(node: Node, indent: str = "") -> Iterator[str]:
    """The lines of Kafka's `tree`: a name without a node prints nothing below it."""
    if isinstance(node, Leaf):
        yield indent + node.kafka_text()
    elif isinstance(node, Directory):
        for name in node.child_names():
            yield f"{indent}{name}:"
            child = node.child(name)
            if child is not None:
                yield from tree_lines(child, indent + "  ")


def root_of(path: Path, voice: str) -> Directory:
    with open_source(str(path)) as source:
        return build_root(load_image(source), voice=voice, local=LOCAL)


def resolve(root: Node, path: str) -> Node | None:
    node: Node | None = root
    for component in filter(None, path.split("/")):
        node = node.child(component) if isinstance(node, Directory) else None
    return node


@pytest.mark.golden
@pytest.mark.parametrize("case", TREES, ids=lambda case: case.id)
def test_the_tree_of_a_file_is_kafkas(case: Case):
    node = resolve(root_of(case.root / case.files[0], "kafka"), case.argv[3])
    assert node is not None
    text = "".join(f"{line}\n" for line in tree_lines(node)).encode()
    assert text == case.stdout, small_diff(case.stdout, text)


@pytest.mark.golden
@pytest.mark.parametrize("case", CATS, ids=lambda case: case.id)
def test_the_text_of_a_leaf_is_kafkas(case: Case):
    paths = [path for path in case.argv[3:] if not set("*?{}\\") & set(path) and ".." not in path]
    root = root_of(case.root / case.files[0], "kafka")
    leaves = [node for node in (resolve(root, path) for path in paths) if isinstance(node, Leaf)]
    for leaf in leaves:
        assert f"{leaf.kafka_text()}\n".encode() in case.stdout


def metadata_checkpoints(golden: Path) -> list[Path]:
    return sorted(golden.glob("4.[34].*/*/data/*/*/*/__cluster_metadata-0/*.checkpoint"))


@pytest.mark.golden
def test_in_our_voice_every_listed_name_of_every_checkpoint_resolves_to_itself(golden: Path):
    for path in metadata_checkpoints(golden):
        root = root_of(path, "own")
        for names, node in walk(root):
            found = resolve(root, "/".join(names))
            assert found is not None and (found.name, found.type, found.is_directory) == (node.name, node.type, node.is_directory)
            if isinstance(node, Directory):
                assert len(set(node.child_names())) == node.child_count()
