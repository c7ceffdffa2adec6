#!/usr/bin/env python3
"""Writes metashell/codec/dispatch.py: key to message name for every log and the wire, from the schema texts.

    tools/gen_dispatch.py [--check]

With --check nothing is written; the status is 1 if the file is not what would be written.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from metashell.codec.registry import message_names, message_type  # noqa: E402

TARGET = ROOT / "metashell" / "codec" / "dispatch.py"
HEAD = '''"""Key to message name, one table a log: nothing has to scan the schemas to find a message.

Made by `tools/gen_dispatch.py` from metashell/codec/schemas; do not edit.
"""

from __future__ import annotations
'''


def table(name: str, what: str, family: str, kind: str) -> str:
    rows = {}
    for message_name in message_names(family):
        message = message_type(family, message_name)
        if message.kind == kind and message.key is not None:
            if message.key in rows and message.schema.last_release:
                continue  # a message that a later one of the same key replaced
            rows[message.key] = message_name
    lines = [f"    {key}: {rows[key]!r}," for key in sorted(rows)]
    return "\n".join(["", f"{name}: dict[int, str] = {{", *[line.replace("'", '"') for line in lines], "}", f'"""{what}"""', ""])


def text() -> str:
    parts = [
        HEAD,
        table("METADATA_TYPES", "Record types of __cluster_metadata.", "metadata", "metadata"),
        table("KIP631_TYPES", "Record types as the text of KIP-631 numbers them.", "kip631", "metadata"),
        table("REMOTE_LOG_TYPES", "Record types of __remote_log_metadata.", "remote_log", "metadata"),
        table("OFFSETS_KEYS", "Key types of __consumer_offsets.", "offsets", "coordinator-key"),
        table("OFFSETS_VALUES", "Value messages of __consumer_offsets by key type.", "offsets", "coordinator-value"),
        table("TRANSACTION_KEYS", "Key types of __transaction_state.", "transactions", "coordinator-key"),
        table("TRANSACTION_VALUES", "Value messages of __transaction_state by key type.", "transactions", "coordinator-value"),
        table("SHARE_KEYS", "Key types of __share_group_state.", "share", "coordinator-key"),
        table("SHARE_VALUES", "Value messages of __share_group_state by key type.", "share", "coordinator-value"),
        table("REQUESTS", "Request messages by api key.", "request", "request"),
        table("RESPONSES", "Response messages by api key.", "response", "response"),
    ]
    return "".join(parts)


def main(argv: list[str]) -> int:
    made = text()
    if "--check" in argv:
        return 0 if TARGET.exists() and TARGET.read_text() == made else 1
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
