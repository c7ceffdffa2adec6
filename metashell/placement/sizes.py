"""How large partitions are, from the output of kafka-log-dirs --describe."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from metashell.errors import UsageError
from metashell.forms import counted
from metashell.placement.json_text import member, parse_json

_PREFACE: Final = ("Querying brokers", "Received log directory")
"""How the lines begin that the tool prints before its JSON."""


def read_sizes(text: str, source: str) -> dict[tuple[str, int], int]:
    """The bytes of each partition, by topic and number: of its largest replica, since one that is behind has to get there too.

    Replicas that are on their way from one directory to another (`isFuture`) are passed over. Errors: UsageError, as of `read_plan`.
    """
    # The lines stay, empty: so that places in messages are those of the file.
    lines = ["" if line.startswith(_PREFACE) else line for line in text.split("\n")]
    value = parse_json("\n".join(lines), source)
    sizes: dict[tuple[str, int], int] = {}
    for at, broker in enumerate(member(value, "brokers", list, "", source=source)):
        for beside, directory in enumerate(member(broker, "logDirs", list, f"brokers[{at}]", source=source)):
            place = f"brokers[{at}].logDirs[{beside}]"
            for number, entry in enumerate(member(directory, "partitions", list, place, source=source)):
                where = f"{place}.partitions[{number}]"
                key = _partition(member(entry, "partition", str, where, source=source), where, source)
                size = member(entry, "size", int, where, source=source)
                if size < 0:
                    raise UsageError(f"{source}: {where}.size is {size}", source)
                if entry.get("isFuture") is not True:
                    sizes[key] = max(sizes.get(key, 0), size)
    return sizes


def known_sizes(sizes: Mapping[tuple[str, int], int], topics: Container[str], source: str) -> tuple[dict[tuple[str, int], int], str]:
    """The sizes of topics that are there, and a remark on others, empty if there are none.

    Errors: UsageError where no topic is there: the file is another cluster's.
    """
    named = {topic for topic, _ in sizes}
    unknown = sorted(topic for topic in named if topic not in topics)
    if not unknown:
        return dict(sizes), ""
    others = f" and {counted(len(unknown) - 1, 'other topic')}" if len(unknown) > 1 else ""
    if len(unknown) == len(named):
        raise UsageError(f"{source}: sizes of unknown topics: {unknown[0]}{others}: of another cluster?", source)
    known = {key: size for key, size in sizes.items() if key[0] in topics}
    return known, f"{source}: sizes of unknown topics are ignored: {unknown[0]}{others}"


def _partition(text: str, where: str, source: str) -> tuple[str, int]:
    topic, dash, number = text.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit() and len(number) < 11):
        raise UsageError(f"{source}: {where}.partition is {text!r}, not TOPIC-NUMBER", source)
    return topic, int(number)
