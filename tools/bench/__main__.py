"""All measurements, one after another: `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run every bench of this folder as a process of its own; the status is that of the worst."""
    here = Path(__file__).parent
    status = 0
    for path in sorted(here.glob("*.py")):
        if path.stem not in ("__init__", "__main__", "common", "gen_metadata"):
            print(f"\n== {path.stem}", flush=True)
            status = max(status, subprocess.run([sys.executable, "-m", f"tools.bench.{path.stem}"], check=False).returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
