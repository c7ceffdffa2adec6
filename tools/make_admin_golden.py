"""Run the commands of tests/golden/admin on a quorum of real Kafka controllers, and write down what they print.

    python -m tools.make_admin_golden [--check | --ours] [NAME...]

NAME is one transcript, `topics` say; by default all. With --check nothing is written: what differs from the files is shown; with --ours,
what differs on a quorum of our own controllers. Commands
are changed in the files; their output is made anew, the order of commands and remarks stays. Needs Java.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
import time
from pathlib import Path

from tests.interop.admin import RUNS, golden_path, host_command, start_kafka, start_ours
from tools.interop.admin.place import admin_place
from tools.interop.admin.transcript import read_transcript, write_transcript

PAUSE_S = 0.15
"""Kafka's controllers know of users, tokens and rules a moment after they have answered."""


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--ours", action="store_true", help="compare with a quorum of our controllers instead")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a transcript; by default all")
    options = parser.parse_args()
    differing = 0
    start = start_ours if options.ours else start_kafka
    pause_s = 0.0 if options.ours else PAUSE_S
    is_check = options.check or options.ours
    for layout, names in RUNS.items():
        wanted = [name for name in names if name in (options.names or names)]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as folder, admin_place(layout, Path(folder), host_command(), start) as place:
            for name in wanted:
                steps = read_transcript(golden_path(name))
                for step in steps:
                    time.sleep(pause_s)
                    lines = place.run(step)
                    if is_check and lines != step.lines:
                        differing += 1
                        print("\n".join(difflib.unified_diff(step.lines, lines, f"{name}:{step.at}", step.command, lineterm="")))
                    step.lines = lines
                if not is_check:
                    write_transcript(golden_path(name), steps)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
