"""Copy what the tests read of the golden set into tests/golden/kafka.

    python -m tools.copy_golden          make it anew from $METASHELL_GOLDEN or ../shared/golden
    python -m tools.copy_golden --check  status 1 if what is committed is not what would be made

Data is copied as it is. Case files are packed with their outputs inside, and keep the cases of the tools that ask a cluster, and of
dump-log and shell those whose files are all there. Every part gets a SOURCE file that says what it is.
"""

from __future__ import annotations

import base64
import json
import lzma
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.golden_cases import SUBSET_ROOT, full_root, json_lines

TOOLS = ("dump-log", "shell")
ADMIN_TOOLS = ("cluster", "quorum", "features")
DROPPED_KEYS = ("seconds", "version", "unstable", "timeout")


@dataclass(frozen=True, slots=True)
class Part:
    """One folder of the golden set, and the case files that are packed."""

    folder: str
    cases: tuple[str, ...]
    note: str


PARTS = (
    Part(
        "4.4.0/main",
        ("files", "online"),
        "as 4.3.1/main with Kafka 4.4.0, up to 4.4-IV2, controllers unregistered; its shell is that of 4.3.1 on jars of 4.4.0",
    ),
    Part("4.3.1/main", ("files", "online"), "3 controllers and 3 brokers of Kafka 4.3.1, small segments and snapshots, a rich workload"),
    Part("4.3.1/default", ("files", "online"), "2 combined nodes of Kafka 4.3.1, upgraded from metadata.version 3.3-IV3"),
    Part("4.3.1/damage", ("files",), "cut, flipped and hand-made files, and what the tools of Kafka 4.3.1 print"),
    Part("4.3.1/wire", ("frames", "phases", "online"), "requests and responses of a Kafka 4.3.1 cluster, caught by a proxy"),
    Part("3.9.2/main", ("voice-4.3.1",), "as 4.3.1/main with Kafka 3.9.2"),
    Part("3.9.2/default", ("voice-4.3.1", "online"), "3 combined nodes of Kafka 3.9.2"),
    Part("3.9.2/damage", ("voice-4.3.1",), "as 4.3.1/damage with files of Kafka 3.9.2"),
    Part("3.3.2/main", ("voice-4.3.1",), "as 4.3.1/main with Kafka 3.3.2"),
    Part("3.3.2/default", ("voice-4.3.1",), "one combined node of Kafka 3.3.2"),
    Part("3.3.2/damage", ("voice-4.3.1",), "as 4.3.1/damage with files of Kafka 3.3.2"),
)


def main(arguments: list[str]) -> int:
    """Make the committed part, or compare it with what would be made."""
    source = full_root()
    if source is None:
        print("copy_golden: no golden set; set METASHELL_GOLDEN", file=sys.stderr)
        return 1
    if "--check" not in arguments:
        shutil.rmtree(SUBSET_ROOT, ignore_errors=True)
        make(source, SUBSET_ROOT)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make(source, Path(folder), preset=0)
        differing = differences(contents(Path(folder)), contents(SUBSET_ROOT))
    print(*differing, sep="\n", end="\n" if differing else "")
    return 1 if differing else 0


def make(source: Path, target: Path, preset: int = 9 | lzma.PRESET_EXTREME) -> None:
    """Write every part below `target`."""
    for part in PARTS:
        copy_data(source / part.folder, target / part.folder)
        for name in part.cases:
            pack(source, target, f"{part.folder}/{name}", preset)
        text = f"{part.note}.\nCopied from {part.folder} of the golden set by tools/copy_golden.py; see its README.\n"
        (target / part.folder / "SOURCE").write_text(text)


def copy_data(source: Path, target: Path) -> None:
    """Copy what nodes left, where there is any."""
    target.mkdir(parents=True)
    if (source / "data").is_dir():
        shutil.copytree(source / "data", target / "data", copy_function=shutil.copyfile)


def pack(source: Path, target: Path, name: str, preset: int) -> None:
    """Write NAME.jsonl.xz: the rows whose files are all in `target`, with their outputs inside."""
    rows = [row for row in json_lines(source, name) if "argv" not in row or is_kept(row, target)]
    lines = [json.dumps(inlined(row, source), ensure_ascii=False, separators=(",", ":")) for row in rows]
    text = "".join(f"{line}\n" for line in lines).encode()
    (target / f"{name}.jsonl.xz").write_bytes(lzma.compress(text, preset=preset))


def is_kept(row: dict[str, Any], target: Path) -> bool:
    """Whether the case is of a tool that asks a cluster, or of one that reads files, and all of its files were copied."""
    if row["argv"][0] in ADMIN_TOOLS:
        return True
    words = [word for argument in row["argv"] for word in argument.split(",")]
    return row["argv"][0] in TOOLS and all((target / word).exists() for word in words if "/data/" in word)


def inlined(row: dict[str, Any], source: Path) -> dict[str, Any]:
    """The row without what no test reads, and with its output files' contents."""
    kept = {key: value for key, value in row.items() if key not in DROPPED_KEYS}
    for key in ("stdout", "stderr"):
        if "file" in kept.get(key, ()):
            kept[key] = as_json((source / kept[key]["file"]).read_bytes())
    return kept


def as_json(content: bytes) -> dict[str, str]:
    """The bytes as text where they are UTF-8, else as base64."""
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder by its place there, unpacked."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes() for path in files
    }


def differences(made: dict[str, bytes], committed: dict[str, bytes]) -> list[str]:
    """Places that are only on one side, or differ."""
    return sorted(place for place in made.keys() | committed.keys() if made.get(place) != committed.get(place))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
