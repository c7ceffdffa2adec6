"""What a real controller answered and wrote, packed for the tests.

    python -m tools.copy_controller_golden FOLDER...

A folder has one NAME.jsonl.gz a scenario: a header, and a row for each request with its bytes, the answer's bytes and the records that it
wrote, made from a real Kafka by the script beside it. Of a name that several folders have, the last one counts. The JSON forms of requests
and answers are left out: codec makes them from the bytes; and the rows that only repeat what the header says of the start.
Makes tests/golden/controller/scenarios.jsonl.xz; each line is a scenario.
"""

from __future__ import annotations

import gzip
import json
import lzma
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[1] / "tests" / "golden" / "controller" / "scenarios.jsonl.xz"
HEADER = ("scenario", "kafka", "spec", "metadata_version", "cluster_id", "node_id", "config", "quorum", "start_offset", "port", "startup")
ROW = ("n", "api", "version", "offset", "request_hex", "response_hex", "records", "time_ms")
SOMETIMES = ("inner", "placement", "varies", "died", "closed", "pause_ms", "response_version", "source", "note")


def packed(path: Path) -> str:
    """One scenario as a line."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header, *rows = (json.loads(line) for line in file)
    return json.dumps(
        {**{name: header[name] for name in HEADER}, "rows": [packed_row(row) for row in rows if row["api"] != "startup"]},
        separators=(",", ":"),
    )


def packed_row(row: dict[str, Any]) -> dict[str, Any]:
    """One row, without what can be made from its bytes."""
    kept = {name: row[name] for name in (*ROW, *SOMETIMES) if name in row}
    if row["api"] in ("wait", "restart"):
        kept["request"] = row["request"]
    if "inner" in kept:
        kept["inner"] = {name: row["inner"][name] for name in ("api", "version", "principal", "address") if name in row["inner"]}
    return kept


def main(folders: list[str]) -> int:
    """Pack every scenario of the folders."""
    paths = {path.name: path for folder in folders for path in Path(folder).glob("*.jsonl.gz")}
    lines = [packed(paths[name]) for name in sorted(paths)]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_bytes(lzma.compress("".join(line + "\n" for line in lines).encode(), preset=9 | lzma.PRESET_EXTREME))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
