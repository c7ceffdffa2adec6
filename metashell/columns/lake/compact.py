"""Which files of a lake are put together, and which lose rows. What is decided here is done by `rewrite`, in tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from metashell.columns.lake.ledger import LakeFile, LakeState, LogKey, checkpoint_end

TARGET_SIZE: Final = 128 << 20
TARGET_SIZE_MAX: Final = 1 << 30
"""A store copies files of up to 5 GB in one step."""
MANY: Final = 8
"""Without a wish of the operator, so many small files of a day are put together."""
_TOGETHER_MAX: Final = 256
"""All of them are open at the same time."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Files of one folder of which one is made; rows of a path from an offset on are left out."""

    files: tuple[LakeFile, ...]
    left_out: tuple[tuple[str, int], ...] = ()


def merges(state: LakeState, target_size: int, least: int) -> list[Rewrite]:
    """The files to put together: at least so many of one table, cluster and day, each below half the target, up to the target together.

    Files in which one path stands for different logs are kept apart: `file` has to tell whose a row is.
    """
    folders: dict[str, list[LakeFile]] = defaultdict(list)
    for name in sorted(state.files):
        file = state.files[name]
        if file.size < target_size // 2:
            folders[file.folder].append(file)
    # Of thousands of clusters and days, most have few files and never get another one.
    many = [files for files in folders.values() if len(files) >= least]
    return [Rewrite(tuple(group)) for files in many for group in _groups(state, files, target_size) if len(group) >= least]


def _groups(state: LakeState, files: Iterable[LakeFile], target_size: int) -> list[list[LakeFile]]:
    groups: list[list[LakeFile]] = []
    size = 0
    logs: dict[str, LogKey] = {}
    for file in files:
        own = {state.sources[number].path: state.sources[number].log for number in file.sources}
        clashes = any(logs.get(path, log) != log for path, log in own.items())
        if not groups or size + file.size > target_size or len(groups[-1]) == _TOGETHER_MAX or clashes:
            groups.append([])
            size, logs = 0, {}
        groups[-1].append(file)
        size += file.size
        logs |= own
    return groups


def cuts(state: LakeState, cut: dict[LogKey, int]) -> list[Rewrite]:
    """The files that may hold rows of logs from an offset on, which are to go; of a checkpoint that stands for more, every row is."""
    found = []
    for _, file in sorted(state.files.items()):
        left_out = []
        for source in (state.sources[number] for number in file.sources):
            offset = cut.get(source.log)
            if offset is None:
                continue
            if not source.checkpoint:
                left_out.append((source.path, offset))
            elif offset == 0 or checkpoint_end(source.checkpoint) > offset:
                left_out.append((source.path, 0))
        if left_out:
            found.append(Rewrite((file,), tuple(left_out)))
    return found


def sources_of(files: Sequence[LakeFile]) -> tuple[int, ...]:
    return tuple(sorted({number for file in files for number in file.sources}))
