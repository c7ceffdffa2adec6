"""Run the property tests again and again with new seeds until the time is up: `python -m tools.soak --seconds 3600`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="stop before the next round once they are over")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("paths", nargs="*", default=["tests"])
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        rounds += 1
        print(f"round {rounds}", flush=True)
        status = run_round(arguments.workers, arguments.paths)
        if status:
            print(f"round {rounds} failed; the lines `@reproduce_failure` above repeat it", flush=True)
            return status
    print(f"{rounds} rounds passed")
    return 0


def run_round(workers: int, paths: list[str]) -> int:
    """One run of every test that has a property, in the profile `soak`, under another order of hashes."""
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "soak",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONHASHSEED": "random",
    }
    plugins = ["-p", "xdist.plugin", "-p", "_hypothesis_pytestplugin"]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-n", str(workers), "--dist", "worksteal"]
    return subprocess.run([*command, *plugins, *paths], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
