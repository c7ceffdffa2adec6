"""The keys of every command's JSON objects, on the directory that ships with the package: new ones may come, none may go."""

from __future__ import annotations

import json
from io import StringIO

import pytest

from metashell.common.forms import Display
from metashell.demo import demo_directory
from metashell.disk.source import open_source
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import load_image
from metashell.metadata.nodes import LocalInfo, build_root
from metashell.shell import Context, run_line
from metashell.shell.commands import command_names

NODE = {"path", "type", "certain_to", "end_offset"}
LEAF = NODE | {"value"}
ENTRY = NODE | {"name"}

KEYS: dict[str, set[str]] = {
    "cat /image/topics/byName/orders/name": LEAF,
    "cat /image/cluster/brokers/4": LEAF | {"listeners"},
    "cat /image/cluster/controllers/1": LEAF | {"listeners"},
    "cat /image/topics/byName/orders/0": LEAF | {"topic"},
    "cat /image/configs/TOPIC:orders/cleanup.policy": LEAF | {"resource_type", "resource_name", "sensitive"},
    "cat /image/acls/byId/*": LEAF | {"resource_type", "pattern_type", "operation", "permission_type"},
    "cat /image/clientQuotas/user(alice)/*": LEAF | {"entity"},
    "cat /image/scram/SCRAM-SHA-256/carol": LEAF | {"mechanism", "sensitive"},
    "cat /image/delegationToken/*": LEAF,
    "cat /image/provenance": LEAF,
    "cat /image/voters": LEAF,
    "cat /image/faults": LEAF,
    "cat /local/version": LEAF,
    "at 300": NODE | {"offset", "epoch", "timestamp", "is_newest"},
    "diff 300 310": {"path", "type", "kind", "before", "after", "from_offset", "to_offset"},
    "diff --stat 300 310": {"type", "kind", "count", "from_offset", "to_offset"},
    "find /image/cluster": NODE,
    "find /image/topics/byName/orders -type partition": NODE | {"topic_id"},
    "grep -r rack-a /image/cluster": NODE | {"line", "text"},
    "grep -rl rack-a /image/cluster": NODE,
    "grep -rc rack-a /image/cluster": NODE | {"lines"},
    "log /image/topics/byName/orders": {"path", "type", "kind", "offset", "epoch", "timestamp", "record", "before", "after"},
    "why /image/topics/byName/orders": NODE | {"kind", "what"},
    "pwd": NODE,
    "ls /": ENTRY,
    "ls -l /image": ENTRY,
    "ls -l /image/topics/byName": ENTRY | {"partitions", "id"},
    "ls -ld /image/topics/byName/reassigned-1": ENTRY | {"partitions", "id", "reassigning"},
    "ls -l /image/topics/byName/orders/0": ENTRY | {"leader", "isr", "replicas"},
    "ls -l /image/cluster/brokers": ENTRY | {"state", "epoch", "listeners"},
    "ls -l /image/cluster/brokers/4": ENTRY | {"state", "rack", "epoch", "listeners"},
    "ls -l /image/cluster/controllers": ENTRY | {"listeners"},
    "ls -l /image/acls/byId": ENTRY | {"permission", "principal", "host", "operation", "resource", "pattern"},
    "ls -l /image/scram/SCRAM-SHA-256": ENTRY | {"iterations"},
    "ls -l /image/delegationToken": ENTRY | {"owner", "expiration_timestamp"},
    "ls -l /image/configs": ENTRY | {"entries"},
    "ls -l /image/provenance": ENTRY | {"offset", "epoch", "faults"},
    "ls -l /image/voters": ENTRY | {"ids"},
    "ls -l /image/faults": ENTRY | {"entries"},
    "tree /image/configs/TOPIC:orders": NODE,
    "status": NODE
    | {"source", "source_kind", "offset", "epoch", "timestamp", "metadata_version", "leader", "voters", "counts", "fault_count", "faults"},
    "stat /image/cluster/brokers/4": NODE | {"created", "changed", "records", "known_from"},
    "du": NODE | {"by", "name", "log_bytes", "snapshot_bytes", "records"},
    "count --by leader": NODE | {"by", "of", "value", "count"},
    "health --allow unclean": NODE
    | {"severity", "kind", "count", "description", "names", "found", "follows_from", "endangers", "next", "timestamp"},
    "help": {"name", "summary"},
    "history": {"number", "line"},
    "timing": {"timing"},
    "man ls": {"name", "summary", "text"},
}

# Those of `follow` and `watch`, which do not end by themselves, are in test_changes.py.
CHANGES = {"alter", "create", "delete", "elect", "set", "unregister", "unset"}
"""What administration commands print: tests/cli."""
SILENT = {"cd", "clear", "exit", "follow", "time", "watch"} | CHANGES


@pytest.fixture(scope="module")
def answer():
    with open_source(demo_directory()) as source:
        image = load_image(source)
    past = Past(opener_of(demo_directory()))

    def run(line: str) -> list[dict[str, object]]:
        out, err = StringIO(), StringIO()
        root = build_root(image, voice="own", local=LocalInfo())
        ctx = Context(root=root, image=image, display=Display(out), err=err, output="jsonl", past=lambda: past)
        ctx.make_root = lambda image, before: build_root(image, voice="own", local=LocalInfo(), before=before)
        # Status 1 of `diff` says that there are differences.
        assert run_line(ctx, line) == line.startswith("diff"), err.getvalue()
        return [json.loads(text) for text in out.getvalue().splitlines()]

    return run


@pytest.mark.parametrize("line", KEYS)
def test_an_object_has_the_keys_of_its_command(line, answer):
    objects = answer(line)
    assert objects
    for item in objects:
        if item.get("type") == "verdict":  # comes after the findings of `health`
            assert item.keys() >= {"path", "ran", "found", "not_run", "complete", "missing"}
        else:
            assert KEYS[line] - item.keys() == set()


def test_every_command_that_answers_is_in_the_table():
    assert {line.split()[0] for line in KEYS} == set(command_names()) - SILENT


def test_every_object_about_a_node_of_the_whole_tree_has_path_and_type(answer):
    for item in answer("tree /image /local"):
        assert item.keys() >= LEAF
