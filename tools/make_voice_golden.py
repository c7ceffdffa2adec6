"""Ask the tools of the newest Kafka what those of older releases answered about files and of themselves; keep what they answer otherwise.

    python -m tools.make_voice_golden

Reads the full golden set ($METASHELL_GOLDEN or ../shared/golden); writes tests/golden/voice/KAFKA.jsonl.xz, a row for each case whose
output, status or message has changed: its id, rc, stdout and stderr. Needs Java. Maven has no shell of 4.4.0: that of 4.3.1 runs on its
jars.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.golden_cases import (
    CLUSTERS,
    NEWEST,
    PREVIOUS,
    VOICE,
    Case,
    answer_of,
    full_root,
    older_dump_log_cases,
    own_lines,
    read_cases,
    shell_cases_of,
)
from tests.java import kafka_command, tool_host

ADMIN_TOOLS = ("cluster", "quorum", "features")
MADE_IN = "/made/goldn"
"""What stands in the golden set for the folder that the tool ran in."""


def main() -> int:
    """Write the file."""
    root = full_root()
    if root is None:
        print("make_voice_golden: no golden set; set METASHELL_GOLDEN", file=sys.stderr)
        return 1
    alone = [case for case in shell_cases_of(PREVIOUS) if "/local" in " ".join(case.argv)]
    online = (case for cluster in CLUSTERS for case in read_cases(root, f"{PREVIOUS}/{cluster}/online"))
    alone += [case for case in online if case.tool in ADMIN_TOOLS and "-h" in case.argv]
    asked = [*dumped(root, older_dump_log_cases()), *((case, answered(root, case)) for case in alone)]
    rows = [{"id": case.id, **answer} for case, answer in asked if differs(case, answer)]
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    VOICE.mkdir(exist_ok=True)
    (VOICE / f"{NEWEST}.jsonl.xz").write_bytes(
        lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    )
    print(f"{len(rows)} of {len(asked)} cases have another answer")
    return 0


def dumped(root: Path, cases: list[Case]) -> Iterator[tuple[Case, dict[str, Any]]]:
    """What dump-log answers to each of the cases, run one after the other in one process.

    The tool cuts and creates indexes, so that the folders of the files that a case names are copied anew before it runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        host = tool_host(NEWEST, Path(folder))
        for case in cases:
            for name in {os.path.dirname(file) for word in case.argv for file in word.split(",") if "/data/" in file}:
                if (root / name).is_dir():
                    shutil.rmtree(Path(folder) / name, ignore_errors=True)
                    shutil.copytree(root / name, Path(folder) / name)
            done = host.run_class("org.apache.kafka.tools.DumpLogSegments", case.argv)
            stdout, stderr = (text.replace(folder.encode(), MADE_IN.encode()) for text in (done.stdout, done.stderr))
            yield case, row(done.returncode, stdout, stderr)
        host.node.kill()


def answered(root: Path, case: Case) -> dict[str, Any]:
    """What a tool answers in a process of its own."""
    done = subprocess.run(
        kafka_command(NEWEST, case.tool, *case.argv),
        cwd=root,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return row(done.returncode, done.stdout, done.stderr)


def row(status: int, stdout: bytes, stderr: bytes) -> dict[str, Any]:
    """An answer as the golden set has it, without stack frames."""
    kept = [line for line in stderr.decode("utf-8", "replace").splitlines() if not line.startswith(("\tat ", "\t... "))]
    try:
        text = {"text": stdout.decode()}
    except UnicodeDecodeError:
        text = {"base64": base64.b64encode(stdout).decode()}
    return {"rc": status, "stdout": text, "stderr": {"text": "".join(f"{line}\n" for line in kept)}}


def differs(case: Case, answer: dict[str, Any]) -> bool:
    """Whether an older release answered otherwise."""
    now = replace(case, **answer_of(answer))
    return (case.status, case.stdout, own_lines(case.stderr)) != (now.status, now.stdout, own_lines(now.stderr))


if __name__ == "__main__":
    sys.exit(main())
