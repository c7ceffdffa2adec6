"""How large partitions are, from the output of kafka-log-dirs --describe."""

from __future__ import annotations

from typing import Final

from metashell.errors import UsageError
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


def _partition(text: str, where: str, source: str) -> tuple[str, int]:
    topic, dash, number = text.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit() and len(number) < 11):
        raise UsageError(f"{source}: {where}.partition is {text!r}, not TOPIC-NUMBER", source)
    return topic, int(number)
