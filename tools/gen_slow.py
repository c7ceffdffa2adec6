"""Makes tests/slow.txt: the tests that `make check` leaves out because they took long, beside those that are marked slow in their files.

    make check PYTEST_ADDOPTS=--cpu-times=check.tsv
    python -m tools.gen_slow check.tsv

Those that are in the list stay in it while they exist; a line that is deleted by hand comes back if its test is still slow.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "slow.txt"
LIMIT_S = 0.07
KEPT = ("tests/test_contracts.py", "tests/test_generated.py", "tests/test_layers.py")
"""Files that are about all of the project: a change anywhere should hear of them at once."""
_HEAD = f"# Tests of more than {LIMIT_S:g} CPU seconds each: `make check` leaves them out. Made by python -m tools.gen_slow\n"


def listed() -> set[str]:
    """The names of the tests in the list, as pytest says them."""
    lines = LIST.read_text("utf-8").splitlines() if LIST.exists() else []
    return {line for line in lines if line and not line.startswith("#")}


def is_for_list(name: str) -> bool:
    """Whether a test's file has a function of that name, and is not one of those that are kept."""
    file, _, function = name.partition("[")[0].partition("::")
    path = ROOT / file
    return file not in KEPT and path.is_file() and f"def {function}(" in path.read_text("utf-8")


def took_long(report: Path) -> set[str]:
    """The tests of a report of `--cpu-times` that took longer than `LIMIT_S`, what was made for them included. Errors: OSError."""
    rows = (line.split("\t", 1) for line in report.read_text("utf-8").splitlines())
    return {name for seconds, name in rows if float(seconds) > LIMIT_S}


def main(argv: list[str]) -> int:
    (report,) = argv
    names = sorted(filter(is_for_list, listed() | took_long(Path(report))))
    LIST.write_text(_HEAD + "".join(f"{name}\n" for name in names), "utf-8")
    print(f"{LIST.relative_to(ROOT)}: {len(names)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
