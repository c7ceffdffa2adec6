"""Make metashell/storage/config_keys.tsv: every key of a Kafka server's configuration, from Kafka's own definition.

    python -m tools.gen_config_keys           (needs Java; fetches Kafka's jars by Maven)
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.java import KAFKA, run_program

REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = REPOSITORY / "metashell" / "storage" / "config_keys.tsv"
PROGRAM = REPOSITORY / "tests" / "storage" / "java" / "ConfigKeys.java"


def content() -> str:
    """What the file should hold."""
    head = f"# Key, type, default and check of every setting of Kafka {KAFKA}: made by python -m tools.gen_config_keys\n"
    return head + run_program(PROGRAM).decode()


if __name__ == "__main__":
    TARGET.write_text(content(), encoding="utf-8")
    sys.exit(0)
