"""Make the files that no saved directory has, and ask the real dump-log of Kafka 4.4.0 about them.

    python -m tools.make_handmade_golden

Everything lands in tests/golden/handmade: `data/NAME/FILE`, and `cases.jsonl` with the command line, status and output of each
run (in that folder, which stands as `{cwd}` where the tool prints absolute paths). Needs Java; the data is the same every time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.java import kafka_command
from tools.handmade_files import FILES, LOG

TARGET = Path(__file__).resolve().parents[1] / "tests" / "golden" / "handmade"
KAFKA = "4.4.0"
AT_ONCE = 2
SOURCE = (
    "Files made by tools/handmade_files.py, and what dump-log of Apache Kafka 4.4.0 prints for them.\n"
    "Made by `python -m tools.make_handmade_golden`; the logs of magic 0 and 1 are those of ../legacy.\n"
)
DECODERS = {
    "offsets": "--offsets-decoder",
    "offsets-dialects": "--offsets-decoder",
    "offsets-no-key": "--offsets-decoder",
    "transactions": "--transaction-log-decoder",
    "share": "--share-group-state-decoder",
    "remote-log": "--remote-log-metadata-decoder",
}
CLASS = "org.apache.kafka.tools.api."


def main() -> int:
    """Write the files and the answers."""
    shutil.rmtree(TARGET / "data", ignore_errors=True)
    for name, content in FILES.items():
        path = TARGET / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rows = list(pool.map(answered, command_lines()))
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    (TARGET / "cases.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (TARGET / "SOURCE").write_text(SOURCE)
    return 0


def command_lines() -> Iterator[list[str]]:
    """Every command line that is asked."""
    for folder, decoder in DECODERS.items():
        file = f"data/{folder}/{LOG}"
        yield [decoder, "--files", file]
        yield [decoder, "--skip-record-metadata", "--files", file]
    for flags in ([], ["--deep-iteration"], ["--print-data-log"], ["--print-data-log", "--skip-record-metadata"]):
        yield [*flags, "--files", f"data/legacy/{LOG}"]
    yield ["--offsets-decoder", "--files", f"data/legacy/{LOG}"]
    yield ["--remote-log-metadata-decoder", "--files", f"data/legacy/{LOG}"]
    yield ["--cluster-metadata-decoder", "--files", f"data/legacy/{LOG}"]
    for key, value in (("Integer", "Long"), ("String", "String"), ("Long", "Integer")):
        yield [
            "--key-decoder-class",
            CLASS + key + "Decoder",
            f"--value-decoder-class={CLASS}{value}Decoder",
            "--files",
            f"data/classes/{LOG}",
        ]
    yield ["--key-decoder-class", "--files", f"data/classes/{LOG}"]
    yield ["--value-decoder-class", "kafka.serializer.DefaultDecoder", "--files", f"data/classes/{LOG}"]
    yield ["--offsets-decoder", "--transaction-log-decoder", "--cluster-metadata-decoder", "--files", f"data/transactions/{LOG}"]
    for name in FILES:
        if not name.endswith(".log"):
            yield from index_lines(f"data/{name}")
    yield ["--files", "data/missing/00000000000000000000.txnindex,data/txnindex/00000000000000000000.txnindex"]
    yield ["--files", "data/missing/00000000000000000000.index"]
    yield ["--files", "data/missing/00000000000000000000.snapshot"]
    yield ["--files", "data/missing/x.index"]
    yield ["--max-message-size", "70", "--files", "data/index/00000000000000000000.index"]


def index_lines(file: str) -> Iterator[list[str]]:
    yield ["--files", file]
    if file.endswith((".index", ".timeindex")):
        yield ["--index-sanity-check", "--files", file]
        yield ["--verify-index-only", "--files", file]


def answered(argv: list[str]) -> dict[str, object]:
    """The row of one command line, asked of a copy: Kafka cuts and creates indexes that it should only read."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(TARGET / "data", Path(folder, "data"))
        done = subprocess.run(kafka_command(KAFKA, "dump-log", *argv), cwd=folder, capture_output=True, check=False, timeout=120)
    stderr = done.stderr.decode("utf-8", "replace")
    kept = [line for line in stderr.splitlines() if not line.startswith(("\tat ", "\t... "))]
    return {
        "argv": argv,
        "rc": done.returncode,
        "stdout": done.stdout.decode().replace(folder, "{cwd}"),
        "stderr": "".join(f"{line}\n" for line in kept).replace(folder, "{cwd}"),
    }


if __name__ == "__main__":
    sys.exit(main())
