"""What a start of each command imports: counted, since times depend on the machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from metashell.common.options import Argument, CommandSpec, Option
from metashell.demo import demo_directory
from metashell.quorum.embedded import EmbeddedQuorum
from tests.cli.conftest import ROOT, environment
from tests.cli.test_every_tool import tool_place

DEMO = demo_directory()
METADATA = os.path.join(DEMO, "__cluster_metadata-0")
LOG = os.path.join(METADATA, "00000000000000000251.log")
CHECKPOINT = os.path.join(METADATA, "00000000000000000329-0000000001.checkpoint")
HEAVY = {"prompt_toolkit", "rich", "pygments", "asyncio", "numpy", "pyarrow", "duckdb", "multiprocessing", "logging"}
# Our own voice has most of these from click; Kafka's needs none of them, and dataclasses alone bring 20 modules and 5 ms.
KAFKA_HEAVY = {"click", "dataclasses", "inspect", "ast", "subprocess", "pathlib"}


def imported(tool: str, *words: str) -> set[str]:
    """The modules that a command imports."""
    module, attribute = tool_place(tool)
    code = f"import sys; from {module} import {attribute} as main; sys.exit(main({list(words)!r}))"
    argv = [sys.executable, "-X", "importtime", "-c", code]
    result = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT, env=environment())
    assert result.stdout
    return set(re.findall(r"(?m)^import time: .*\| +(\S+)$", result.stderr))


@pytest.mark.parametrize(
    ("tool", "words", "heavy", "count_max"),
    [
        ("kafka-shell", ("--demo", "ls", "/image"), HEAVY, 64),
        ("kafka-shell", ("-s", CHECKPOINT, "cat", "/image/features/metadataVersion"), HEAVY, 62),
        ("dump-log", ("--cluster-metadata-decoder", LOG), HEAVY, 52),
        ("kafka-dump-log", ("--cluster-metadata-decoder", "--files", LOG), HEAVY | KAFKA_HEAVY, 40),
        ("kafka-metadata-shell", ("--snapshot", CHECKPOINT, "ls", "/"), HEAVY | {"click"}, 67),
        ("kafka-storage", ("random-uuid",), HEAVY | KAFKA_HEAVY, 18),
        ("metashell-tables", ("partition",), HEAVY, 40),
    ],
)
def test_a_one_shot_imports_what_it_needs_and_no_more(tool: str, words: tuple[str, ...], heavy: set[str], count_max: int) -> None:
    found = imported(tool, *words)
    assert not {name.partition(".")[0] for name in found} & heavy
    own = sorted(name for name in found if name.partition(".")[0] == "metashell")
    assert 0 < len(own) <= count_max, own


@pytest.mark.parametrize(
    ("tool", "words", "count_max"),
    [
        ("kafka-cluster", ("cluster-id", "-C"), 75),
        ("kafka-metadata-quorum", ("describe", "--status", "--bootstrap-controller"), 75),
        ("kafka-features", ("describe", "--bootstrap-controller"), 80),
    ],
)
def test_a_question_to_a_cluster_imports_neither_an_image_nor_a_controller(tool: str, words: tuple[str, ...], count_max: int) -> None:
    *rest, option = words
    with EmbeddedQuorum(1) as quorum:
        # In two of the three the option stands before the sub-command.
        address = (option, quorum.bootstrap_controllers)
        found = imported(tool, *((*rest, *address) if tool == "kafka-cluster" else (*address, *rest)))
    assert not {name.partition(".")[0] for name in found} & (HEAVY | {"click"}) - {"asyncio", "logging"}
    own = sorted(name for name in found if name.partition(".")[0] == "metashell")
    assert not {name.split(".")[1] for name in own if "." in name} & {"image", "live", "controller", "raft", "server", "embedded"}
    assert 0 < len(own) <= count_max, own


def test_fields_of_declared_options_are_no_text_to_compile() -> None:
    for kind in (CommandSpec, Option, Argument):
        assert "ForwardRef" not in repr(kind.__annotations__), kind
