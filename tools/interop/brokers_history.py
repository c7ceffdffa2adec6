"""Who led each partition from when to when, from the records of a metadata log and the times at which they were appended."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.running import command_line
from tools.interop.mixed_quorum import ends_at, split_batches

REPOSITORY: Final = Path(__file__).parents[2]
NO_LEADER: Final = -1


@dataclass(slots=True)
class Record:
    """A record of the log; `time_s` is when its leader appended it, in seconds since 1970."""

    offset: int
    time_s: float
    epoch: int
    type: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class History:
    """What a log tells: every record, and for each partition the leaders that it had, with the time of each."""

    records: list[Record]
    leaders: dict[tuple[str, int], list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    """By name of the topic and partition."""

    def leaderless_s(self, killed: Sequence[tuple[float, int, float]]) -> list[tuple[float, str]]:
        """How long partitions were without a leader that lives, longest first, with a line for each.

        `killed` has the time at which a broker died, its id, and the time from which on it ran again.
        """
        found = []
        for (topic, partition), leaders in self.leaders.items():
            ends = [time_s for time_s, _ in leaders[1:]]
            for (since, id), until in zip(leaders, [*ends, float("inf")], strict=True):
                if id == NO_LEADER and until != float("inf"):
                    found.append((until - since, f"{topic}-{partition}: leader -1"))
                for died, dead_id, returned in killed:
                    if dead_id == id and since <= died < until:
                        found.append((min(until, returned) - died, f"{topic}-{partition}: led by {id}, which was dead"))
        return sorted(found, reverse=True)

    def led_at(self, time_s: float, id: int) -> list[str]:
        """The partitions that a broker led at a time."""
        found = []
        for (topic, partition), leaders in self.leaders.items():
            before = [leader for since, leader in leaders if since <= time_s]
            if before and before[-1] == id:
                found.append(f"{topic}-{partition}")
        return found


class LogsDifferError(Exception):
    """Two controllers have different batches at one offset."""


def compare_logs(directories: Sequence[Path]) -> tuple[int, int]:
    """How many batches all of the logs have in common, and from which offset on.

    Errors: LogsDifferError; one may begin earlier, or have more at its end than another.
    """
    logs = []
    for directory in directories:
        batches: dict[int, bytes] = {}
        for path in sorted((directory / "__cluster_metadata-0").glob("*.log")):
            batches.update(split_batches(path.read_bytes()))
        ends_at(batches)
        logs.append(batches)
    start, end = max(map(min, logs)), min(map(max, logs))
    common = [{base: data for base, data in batches.items() if start <= base <= end} for batches in logs]
    for other, directory in zip(common[1:], directories[1:], strict=True):
        different = [base for base in sorted(common[0].keys() | other.keys()) if common[0].get(base) != other.get(base)]
        if different:
            raise LogsDifferError(f"{directory} and {directories[0]} differ in {len(different)} batches, first at {different[:5]}")
    return len(common[0]), start


def read_history(log_directory: Path) -> History:
    """The history in the metadata log of a controller, which may run."""
    folder = log_directory / "__cluster_metadata-0"
    command = command_line("metashell.cli.inspect.dump_log", "--cluster-metadata-decoder", *map(str, sorted(folder.glob("*.log"))))
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    history = History(
        [
            Record(line["offset"], line["timestamp"] / 1000, line["epoch"], line["type"], line["data"])
            for line in lines
            if line["kind"] in ("record", "control")
        ]
    )
    names: dict[str, str] = {}
    for record in history.records:
        data = record.data
        match record.type:
            case "TOPIC_RECORD":
                names[data["topicId"]] = data["name"]
            case "PARTITION_RECORD":
                history.leaders[names[data["topicId"]], data["partitionId"]].append((record.time_s, data["leader"]))
            case "PARTITION_CHANGE_RECORD" if "leader" in data and data["topicId"] in names:
                history.leaders[names[data["topicId"]], data["partitionId"]].append((record.time_s, data["leader"]))
            case "REMOVE_TOPIC_RECORD":
                gone = names.pop(data["topicId"])
                for key in [key for key in history.leaders if key[0] == gone]:
                    del history.leaders[key]
    return history
