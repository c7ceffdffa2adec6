"""The same export to a folder and to S3: a server of moto's on this machine, which takes its time from the same cores.

Goal: 1.5 times the time of the local disk. METASHELL_BENCH_STORE_RECORDS (3000000) is the size of the log.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.bench.common import Command, Run, best, cpu_of, log_of, met, our_script, run_once

RECORDS = int(os.environ.get("METASHELL_BENCH_STORE_RECORDS", "3000000"))
RUNS = 5
GOAL = 1.5
_BUCKET = "bench-bucket"
_ADDRESS = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@contextmanager
def s3_server() -> Iterator[int]:
    """The process of an S3 server with a bucket; the environment says where."""
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with tempfile.TemporaryFile() as said, subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = next((match[1] for line in server.stderr if (match := _ADDRESS.search(line))), None)
        if address is None:
            sys.exit("moto does not run: pip install 'moto[s3]' flask flask-cors")
        drain = subprocess.Popen(["cat"], stdin=server.stderr, stdout=said)
        os.environ |= {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_REGION": "us-east-1",
        }
        from pyarrow.fs import S3FileSystem

        S3FileSystem(endpoint_override=address, allow_bucket_creation=True).create_dir(_BUCKET)
        try:
            yield server.pid
        finally:
            server.terminate()
            server.wait()
            drain.wait()


def main() -> int:
    """Measure both in turn and print them."""
    log = log_of(RECORDS)
    runs: dict[str, list[Run]] = {"local disk": [], "S3": []}
    served_s: list[float] = []
    with s3_server() as server, tempfile.TemporaryDirectory() as folder:
        for number in range(RUNS):
            for name, found in runs.items():
                out = str(Path(folder, str(number))) if name == "local disk" else f"s3://{_BUCKET}/{number}"
                before_s = cpu_of(server)
                found.append(run_once(Command(name=name, argv=(our_script("metashell"), "export", str(log), "--out", out, "-q"))))
                served_s += [cpu_of(server) - before_s] if name == "S3" else []
            shutil.rmtree(Path(folder, str(number)))
    local, store = best(runs["local disk"]), best(runs["S3"])
    for name, run in (("local disk", local), ("S3", store)):
        print(f"{name:<12} {run.wall_s:6.2f} s wall {run.cpu_s:6.2f} s cpu of ours {run.peak_mib:6.0f} MiB")
    print(f"{'the server':<12} {min(served_s):15.2f} s cpu, on the same cores")
    ratio = store.wall_s / local.wall_s
    print(f"{ratio:.2f} times | goal {GOAL} times {met(ratio <= GOAL)}")
    return 0
