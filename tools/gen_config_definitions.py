"""The settings of topics, brokers, groups and client metrics as Kafka defines them; needs Java, and fetches Kafka's jars by Maven.

    python -m tools.gen_config_definitions

makes metashell/quorum/controller/config_keys/{topic,broker,group,client_metrics}.tsv: a line for each key with its type, default, check,
flags (internal; dynamic: a broker takes it without a restart), synonyms (with the factor of their value) and documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.java import KAFKA, run_program

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "metashell" / "quorum" / "controller" / "config_keys"
PROGRAM = REPOSITORY / "tests" / "quorum" / "controller" / "java" / "ConfigDefinitions.java"
KINDS = ("topic", "broker", "group", "client_metrics")

TAB = "\t"
NAMES = FOLDER.parents[2] / "codec" / "schemas" / "resource-configs.txt"
NAMES_HEAD = (
    "# Configuration keys of topics, groups and client metrics from Kafka 3.3 to 4.4.0, one a line after its kind; none is a password.\n"
    "# Made by python -m tools.gen_config_definitions, which keeps the keys that older releases had."
)


def definitions(version: str = KAFKA, kinds: Sequence[str] = KINDS) -> dict[str, str]:
    """The text of each kind's file. Errors: AssertionError with what Java says where a release does not know one of the kinds."""
    _, *printed = run_program(PROGRAM, *kinds, version=version).decode().split("\f")
    head = f"# Settings of Kafka {version}, kind {{}}: made by python -m tools.gen_config_definitions\n"
    return {kind: head.format(kind) + lines for kind, _, lines in (text.partition("\n") for text in printed)}


def names() -> str:
    """The keys of topics, groups and client metrics that any release has: those that are known, and those of the tables."""
    known = NAMES.read_text(encoding="utf-8").splitlines() if NAMES.exists() else []
    rows = {
        f"{kind} {line.partition(TAB)[0]}"
        for kind in ("topic", "group", "client_metrics")
        for line in (FOLDER / f"{kind}.tsv").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    }
    return "".join(f"{line}\n" for line in [NAMES_HEAD, *sorted(rows | {line for line in known if not line.startswith("#")})])


def main(version: str = KAFKA) -> int:
    """Make all files."""
    FOLDER.mkdir(exist_ok=True)
    for kind, text in definitions(version).items():
        (FOLDER / f"{kind}.tsv").write_text(text, encoding="utf-8")
    NAMES.write_text(names(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
