"""Compare a release of Kafka with this tree, or with another release.

Prints each difference, and then what a person has to decide. The status is 1 while something differs.
"""

from __future__ import annotations

import argparse
import sys

from tools.release.decisions import decisions
from tools.release.facts import AREAS, differences
from tools.release.jars import ALL_TOOLS, VOICES, release_facts
from tools.release.tree import tree_facts


def main(argv: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("version", help="a release, 4.4.0 say; its jars come from Maven")
    parser.add_argument("--against", metavar="OLDER", help="compare with this release, not with the tree")
    parser.add_argument("--only", metavar="AREA", action="append", choices=AREAS, help=f"compare only these: {', '.join(AREAS)}")
    parser.add_argument("--write", action="store_true", help="bring what can be generated into the tree")
    options = parser.parse_args(argv)
    if options.write and options.against:
        parser.error("--write changes this tree, so it needs no other release to compare with")
    areas = frozenset(options.only or AREAS)
    tools = ALL_TOOLS if options.against else VOICES
    release = release_facts(options.version, areas, tools)
    if options.write:
        from tools.release.writing import write

        print(*write(release, differences(tree_facts(release, areas), release, areas)), sep="\n")
        print(f"Run it again without --write: python -m tools.release {options.version}")
        return 0
    old = release_facts(options.against, areas, tools) if options.against else tree_facts(release, areas)
    found = differences(old, release, areas)
    for line in (*old.unread, *release.unread):
        print(line)
    for difference in found:
        print(*difference.lines(), sep="\n")
    for area in AREAS:
        if area in areas and (count := sum(one.area == area for one in found)):
            print(f"{area}: {count} of {len(getattr(release, area))} differ")
    if not found:
        counts = ", ".join(f"{len(getattr(release, area))} {area}" for area in AREAS if area in areas)
        print(f"Kafka {options.version}: nothing differs from {old.source} ({counts}).")
    if not options.against:
        for line in decisions(found, release):
            print(line)
    return 1 if found or release.unread else 0


if __name__ == "__main__":
    sys.exit(main())
