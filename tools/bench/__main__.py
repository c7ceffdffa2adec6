"""All measurements, or those named, one after another: `make bench`, `python -m tools.bench [NAME...]`."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCH = ("__init__", "__main__", "common", "gen_metadata", "table")


def benches() -> dict[str, str]:
    """The first line of each bench's docstring by its name."""
    paths = [path for path in sorted(HERE.glob("*.py")) if path.stem not in NO_BENCH]
    return {path.stem: (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0] for path in paths}


def main() -> int:
    """Run every bench that is asked for as a process of its own; the status is that of the worst."""
    known = benches()
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench",
        description="Measures our commands beside Kafka's own tools, which are used where they are found (METASHELL_KAFKA).",
        epilog="\n".join(["benches:", *(f"  {name:<12}{line}" for name, line in known.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", metavar="NAME", help="a bench to run; by default all of them")
    names = parser.parse_args().name or list(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no bench is called {', '.join(unknown)}")
    status = 0
    for name in names:
        print(f"\n== {name}", flush=True)
        status = max(status, subprocess.run([sys.executable, "-m", f"tools.bench.{name}"], check=False).returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
