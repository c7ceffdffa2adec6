"""Pack the storage tool's golden cases of 4.4.0, with the files before and after, into tests/golden/storage/cases.jsonl.xz.

python -m tools.copy_storage_golden          make it anew from $METASHELL_GOLDEN or ../shared/golden
python -m tools.copy_storage_golden --check  status 1 if what is committed is not what would be made
"""

from __future__ import annotations

import base64
import json
import lzma
import sys
from pathlib import Path
from typing import Any

from tests.golden_cases import full_root, json_lines

TARGET = Path(__file__).resolve().parents[1] / "tests" / "golden" / "storage"
NEWEST = "4.4.0"
CLUSTERS = ("main",)
KEPT = ("id", "argv", "exit", "stdout", "stderr", "trace", "varies", "files")
SOURCE = f"""Command lines of kafka-storage {NEWEST}, what it answered, and the files before and after each of them.
cases.jsonl.xz: packed from storage/ and from the storage cases of {NEWEST}/*/online.jsonl of the golden set by
tools/copy_storage_golden.py. configs.txt.xz: whether and why KafkaConfig of {NEWEST} refuses each configuration of
tests/disk/config_table.py, by tools/gen_config_keys.py.
"""


def rows(root: Path) -> list[dict[str, Any]]:
    """Every case; those of one cluster share a working folder and run one after another."""
    found = []
    for row in json_lines(root / "storage", "cases"):
        if row["version"] == NEWEST:
            kept = {key: row[key] for key in KEPT}
            kept["before"] = folder(root / "storage" / row["before"]) if row["before"] else {}
            kept["after"] = folder(root / "storage" / row["after"]) if row["after"] else None
            found.append(kept)
    for cluster in CLUSTERS:
        found += online_rows(root / NEWEST / cluster, cluster)
    return found


def online_rows(folder_: Path, cluster: str) -> list[dict[str, Any]]:
    """The storage cases that ran while a cluster was made."""
    configs = {f"config/{path.name}": encoded(path) for path in sorted((folder_ / "config").glob("*.properties"))}
    found = []
    for row in json_lines(folder_, "online"):
        if row["argv"][0] == "storage":
            texts = {key: text_of(row[key], folder_.parents[1]) for key in ("stdout", "stderr")}
            found.append({"id": row["id"], "argv": row["argv"][1:], "exit": row["rc"], **texts, "cluster": cluster})
    found[0]["before"] = configs
    return found


def text_of(stored: dict[str, Any], root: Path) -> str:
    return str(stored["text"]) if "text" in stored else (root / stored["file"]).read_text(encoding="utf-8")


def folder(path: Path) -> dict[str, str | None]:
    """The files below a folder as base64, and its empty folders as null."""
    return {str(entry.relative_to(path)): None if entry.is_dir() else encoded(entry) for entry in sorted(path.rglob("*"))}


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def packed(root: Path) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows(root)]
    return lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> int:
    """Make the committed file, or compare it with what would be made."""
    root = full_root()
    if root is None:
        print("copy_storage_golden: no golden set; set METASHELL_GOLDEN", file=sys.stderr)
        return 1
    if "--check" in arguments:
        return 0 if lzma.decompress((TARGET / "cases.jsonl.xz").read_bytes()) == lzma.decompress(packed(root)) else 1
    TARGET.mkdir(exist_ok=True)
    (TARGET / "cases.jsonl.xz").write_bytes(packed(root))
    (TARGET / "SOURCE").write_text(SOURCE, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
