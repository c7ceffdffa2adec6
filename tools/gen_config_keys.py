"""What Kafka itself says about configurations; needs Java, and fetches Kafka's jars by Maven.

    python -m tools.gen_config_keys

makes metashell/disk/config_keys.tsv, every key of a server's configuration from Kafka's own definition, adds the new ones to
metashell/codec/schemas/broker-configs.txt, which has those of every release, and makes tests/golden/storage/configs.txt.xz, Kafka's answer
to each configuration of tests/disk/config_table.py.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

from tests.java import KAFKA, run_program

REPOSITORY = Path(__file__).resolve().parents[1]
KEYS = REPOSITORY / "metashell" / "disk" / "config_keys.tsv"
NAMES = REPOSITORY / "metashell" / "codec" / "schemas" / "broker-configs.txt"
ANSWERS = REPOSITORY / "tests" / "golden" / "storage" / "configs.txt.xz"
PROGRAMS = REPOSITORY / "tests" / "disk" / "java"


def keys(version: str = KAFKA) -> str:
    """Every key with its type, default and check."""
    head = f"# Key, type, default and check of every setting of Kafka {version}: made by python -m tools.gen_config_keys\n"
    return head + run_program(PROGRAMS / "ConfigKeys.java", version=version).decode()


def names(defined: str) -> str:
    """The names of all keys that any release has, and which of them are passwords: those that are known, and those of `keys()`."""
    known = NAMES.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t")[:2] for line in defined.splitlines() if not line.startswith("#"))
    made = {f"{name} password" if kind == "PASSWORD" else name for name, kind in rows}
    head = [line for line in known if line.startswith("#")]
    return "".join(f"{line}\n" for line in [*head, *sorted(made | set(known) - set(head))])


def answers(version: str = KAFKA) -> bytes:
    """A line for each configuration of the table."""
    # The table names the keys, so they have to be there before it is read.
    from tests.disk.config_table import configs, java_input

    lines = "".join(f"{java_input(config)}\n" for _, config in configs())
    printed = run_program(PROGRAMS / "Configs.java", version=version, stdin=lines.encode()).split(b"\n")
    # Kafka logs to standard output where nobody says otherwise.
    return b"".join(line + b"\n" for line in printed if line.startswith((b"ok\t", b"no\t")))


def main(version: str = KAFKA) -> int:
    """Make all files."""
    defined = keys(version)
    KEYS.write_text(defined, encoding="utf-8")
    NAMES.write_text(names(defined), encoding="utf-8")
    ANSWERS.write_bytes(lzma.compress(answers(version), preset=9 | lzma.PRESET_EXTREME))
    return 0


if __name__ == "__main__":
    sys.exit(main())
