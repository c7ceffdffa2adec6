"""A disk that is full at any step of an append: one line names a file of it, nothing half done stays, and the next run adds the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import REPOSITORY
from tests.tables.lake.lakes import DAY, SEGMENT, node, topics

pytestmark = pytest.mark.slow

MOUNTED = """
set -e
mount -t tmpfs -o size=8m,nr_inodes=1000 tmpfs "$1"
exec "$2" -c "$3" "$1" "$4" "$5"
"""
FULL = """
import json, os, subprocess, sys
from pathlib import Path
from metashell.common.errors import MetashellError
from tests.tables.lake.lakes import expected, left_over, names, rows, run

disk, first, second = sys.argv[1:]
free = lambda *words: subprocess.run(["mount", "-o", f"remount,{','.join(words)}", disk], check=True)
found = []
for kind, sizes in (("nr_inodes", range(1, 60)), ("size", range(4096, 400000, 8192))):
    for number, size in enumerate(sizes):
        out = Path(disk) / f"{kind}-{number}"
        more = dict(tables=("topic",), target_size=1 << 20)
        run(out, Path(first), **more)
        before = sorted(str(path) for path in out.rglob("*"))
        used = os.statvfs(disk)
        taken = used.f_files - used.f_ffree if kind == "nr_inodes" else (used.f_blocks - used.f_bfree) * used.f_bsize
        free(f"{kind}={taken + size}")
        said = ""
        try:
            run(out, Path(second), **more)
        except MetashellError as error:
            said = str(error)
        after = sorted(str(path) for path in out.rglob("*"))
        free("size=8m", "nr_inodes=1000")
        has = len(names(out))
        run(out, Path(second), **more)
        assert names(out) == expected(0, 10), (kind, size, said)
        assert left_over(out) == [], (kind, size, said)
        found.append((said.replace(f"{out}/", ""), has, after == before))
        subprocess.run(["rm", "-r", str(out)], check=True)
        if not said:
            break
    else:
        sys.exit(f"never enough {kind}")
print(json.dumps(found))
"""

ADDED = "; what is new was added as commit 2 before, small files stay as they are"


def test_a_disk_that_is_full_at_any_step(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", str(tmp_path)], capture_output=True, check=False).returncode:
        pytest.skip("no file system of its own may be mounted here, which can be full")
    for name, count in (("first", 6), ("second", 10)):
        (node(tmp_path / name) / SEGMENT).write_bytes(topics(0, count, step=DAY // 8))
    (tmp_path / "disk").mkdir()
    words = [str(tmp_path / "disk"), sys.executable, FULL, str(tmp_path / "first"), str(tmp_path / "second")]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", *words], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    steps = set()
    for said, rows, is_as_before in found:
        if not said:
            continue
        step = re.fullmatch(rf"_metashell/([a-z]+)/\S+: No space left on device({ADDED})?", said)
        assert step is not None, said
        steps.add((step[1], bool(step[2])))
        # Before its pending file an append leaves nothing; behind its commit file it is done.
        assert is_as_before == (step[1] != "commits" and not step[2]) and (rows == 6) == is_as_before, said
    assert steps == {(step, is_added) for step in ("work", "pending", "commits") for is_added in (False, True)}
