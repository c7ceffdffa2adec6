"""A lake as it lies in a store: what holds for all of it, and the state that its commits come to."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.errors import MetashellError, UsageError
from metashell.common.terminal import writable
from metashell.tables.lake.ledger import Commit, LakeFile, LakeState, LogKey, checkpoint_end
from metashell.tables.stores import Store
from metashell.tables.stores.store import checked_name

if TYPE_CHECKING:
    from metashell.tables.read_options import Form


FORMAT_NUMBER: Final = 1
PARQUET: Final = "parquet"
CHECKPOINT_EVERY: Final = 25
"""Commits that are read one by one when a lake is opened, at most."""
_MANIFEST = "_manifest.json"
_OTHER_FORMAT: Final = re.compile(r"(^|/)(_delta_log/|\.hoodie/|metadata/([^/]*\.metadata\.json|version-hint\.text)$)")
"""The paths that Delta Lake, Hudi and Iceberg keep beside a table, also beside one that has no rows yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFormat:
    """The choices that hold for a whole lake, fixed by its first export or by the last one that wrote all of it anew.

    `tables` is None for the usual ones; `id` is the lake's own. `table_format` names the format that holds its rows.
    """

    id: str
    version: str
    columns: Form
    tables: tuple[str, ...] | None
    show_secrets: bool
    table_format: str = PARQUET

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT_NUMBER,
            "id": self.id,
            "version": self.version,
            "columns": self.columns,
            "tables": None if self.tables is None else list(self.tables),
            "show_secrets": self.show_secrets,
            "table_format": self.table_format,
        }


def read_format(store: Store) -> LakeFormat | None:
    """Return the format of the lake in a store, None where there is none. Errors: MetashellError for one that we do not know."""
    found = read_json(store, FORMAT)
    return None if found is None else format_of(store, found)


def format_of(store: Store, found: dict[str, Any]) -> LakeFormat:
    """Return a format by what was written of it. Errors: MetashellError for one that we do not know."""
    if found.get("format") != FORMAT_NUMBER:
        about = store.shown_name(FORMAT)
        if "format" not in found:
            raise MetashellError(f"{about}: says nothing of a lake: it is another tool's, or damaged")
        raise MetashellError(f"{about}: a lake of format {found['format']}, which this version of metashell does not know")
    with _damaged(store, FORMAT):
        tables = found["tables"]
        return LakeFormat(
            id=found["id"],
            version=found["version"],
            columns=found["columns"],
            tables=None if tables is None else tuple(tables),
            show_secrets=found["show_secrets"],
            table_format=found["table_format"],
        )


def write_format(store: Store, made: LakeFormat) -> None:
    store.put(FORMAT, json_bytes(made.to_json()), durable=True)


def require_same(store: Store, lake: LakeFormat, wanted: LakeFormat) -> None:
    """Errors: UsageError where an export would put other rows beside those of a lake. `wanted.tables` is None for those that it has."""
    require_same_format(store, lake, wanted)
    if wanted.tables is not None and wanted.tables != lake.tables:
        has = "all tables but records" if lake.tables is None else ", ".join(lake.tables)
        raise UsageError(f"{store.shown}: this lake was begun with {has}: append without --tables, or name another --out", "--tables")
    if wanted.show_secrets != lake.show_secrets:
        said = "shows secrets: append with --show-secrets" if lake.show_secrets else "hides secrets: append without --show-secrets"
        raise UsageError(f"{store.shown}: this lake {said}, or name another --out", "--show-secrets")
    if wanted.columns != lake.columns:
        said = (
            "has the old columns: append with --old-columns"
            if lake.columns == "raw"
            else "has the new columns: append without --old-columns"
        )
        raise UsageError(f"{store.shown}: this lake {said}, or name another --out", "--old-columns")


def require_same_format(store: Store, lake: LakeFormat, wanted: LakeFormat) -> None:
    """Errors: UsageError where rows would go into tables of another format."""
    _require_table_format(store, lake, wanted.table_format)


def require_same_tables(store: Store, commit: Commit, table_format: str) -> None:
    """Errors: UsageError where a commit goes into tables of another format.

    The first commit may have been interrupted before `format.json`: then nothing but its pending file says what its rows lie in.
    """
    if commit.format:
        _require_table_format(store, format_of(store, commit.format), table_format)


def _require_table_format(store: Store, lake: LakeFormat, table_format: str) -> None:
    if table_format != lake.table_format:
        raise UsageError(f"{store.shown}: this lake is {lake.table_format}, not {table_format}: name another --out", "--out")


def refuse_other_output(store: Store) -> None:
    """Errors: UsageError where a folder without a ledger has tables already: nobody knows of which offsets."""
    if store.read(_MANIFEST) is not None:
        raise UsageError(f"{store.shown}: has a plain export, to which nothing can be appended: name another --out", "--out")
    for file in store.files():
        if file.name.startswith("table=") or file.name.endswith((".parquet", ".parquet.crc")) or _OTHER_FORMAT.search(file.name):
            raise UsageError(
                f"{store.shown_name(file.name)}: is there already, and no ledger says what it holds: name another --out", "--out"
            )


def read_state(store: Store) -> LakeState:
    """Return the state of a lake. Errors: MetashellError where a commit is missing or damaged."""
    numbers, checkpoints = numbers_of(file.name for file in store.files(COMMITS))
    whole = max(checkpoints, default=0)
    state = LakeState()
    if whole:
        found = read_json(store, checkpoint_name(whole))
        if found is None:
            raise MetashellError(f"{store.shown_name(checkpoint_name(whole))}: is gone")
        with _damaged(store, checkpoint_name(whole)):
            state = LakeState.of_json(found)
    # A list may lack what was written a moment ago, so the next number is asked for by its name.
    while (commit := read_commit(store, state.number + 1)) is not None:
        with _damaged(store, commit_name(commit.number)):
            state.apply(commit)
    if max(numbers, default=0) > state.number:
        raise commit_is_missing(store, state.number + 1)
    return state


def commit_is_missing(store: Store, number: int) -> MetashellError:
    return MetashellError(f"{store.shown_name(commit_name(number))}: is missing: nothing says what this lake holds")


class Pending(NamedTuple):
    """A commit that is being made, the names under which its files were written, and what else its maker has to remember."""

    commit: Commit
    staged: tuple[str, ...]
    more: dict[str, Any]

    @property
    def name(self) -> str:
        return pending_name(self.commit.number, self.commit.id)

    def is_complete(self, store: Store) -> bool:
        """Return whether each file is there with its size, under one name or the other. Names are asked for: lists may be late."""
        pairs = list(zip(self.staged, self.commit.added, strict=True))
        there = store.sizes([file.name for _, file in pairs])
        rest = [(source, file) for source, file in pairs if there.get(file.name) != file.size]
        there = store.sizes([source for source, _ in rest])
        return all(there.get(source) == file.size for source, file in rest)


def put_pending(store: Store, commit: Commit, staged: Sequence[str], more: dict[str, Any] | None = None) -> Pending:
    made = Pending(commit, tuple(staged), more or {})
    store.put(made.name, json_bytes({"commit": commit.to_json(), "staged": made.staged, "more": made.more}), durable=True)
    return made


def read_pendings(store: Store, names: Sequence[str]) -> list[Pending]:
    """Commits that were being made, by the names of their files, as a list of `_metashell` or of `PENDINGS` has them."""
    pendings = []
    for name in sorted(filter(is_pending, names)):
        found = read_json(store, name)
        if found is not None:
            with _damaged(store, name):
                made = Pending(Commit.of_json(found["commit"]), tuple(map(checked_name, found["staged"])), found["more"])
                if len(made.staged) != len(made.commit.added):
                    raise ValueError(len(made.staged))
                pendings.append(made)
    return pendings


def read_state_to_be(store: Store, table_format: str) -> tuple[LakeState, bool]:
    """Return the state, with the commit that the next export to tables of this format completes; and whether there is one."""
    pendings = read_pendings(store, [file.name for file in store.files(PENDINGS)])
    state = read_state(store)
    for pending in pendings:
        if pending.commit.number != state.number + 1:
            continue
        require_same_tables(store, pending.commit, table_format)
        if pending.is_complete(store):
            state.apply(pending.commit)
            return state, True
    return state, False


def read_commit(store: Store, number: int) -> Commit | None:
    found = read_json(store, commit_name(number))
    with _damaged(store, commit_name(number)):
        commit = None if found is None else Commit.of_json(found)
        if commit is not None and commit.number != number:
            raise ValueError(commit.number)
    return commit


def read_json(store: Store, name: str) -> dict[str, Any] | None:
    data = store.read(name)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _is_damaged(store, name)
    return found


def _is_damaged(store: Store, name: str) -> MetashellError:
    return MetashellError(f"{store.shown_name(name)}: damaged: not the JSON that was written there")


@contextmanager
def _damaged(store: Store, name: str) -> Iterator[None]:
    """Errors: MetashellError where a file of the ledger is JSON, but not what was written there."""
    try:
        yield
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise _is_damaged(store, name) from error


def json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


# ---- names of files and folders

OWN: Final = "_metashell"
"""The folder of the ledger and of files that are being written. Readers of tables skip it."""
FORMAT: Final = f"{OWN}/format.json"
COMMITS: Final = f"{OWN}/commits"
PENDINGS: Final = f"{OWN}/pending"
WORK: Final = f"{OWN}/work"
SPOOL: Final = "metashell-lake-"
"""The beginning of the names of folders for temporary files."""
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
FILES_MAX: Final = 100_000
"""Of one commit: each has a line in the ledger, and is moved."""
_SIZE_MAX: Final = 200
_QUOTED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
"""The characters that Hive quotes in a partition's name. Everything else stands as it is: Spark would read quoted UTF-8 byte by byte."""
_CODE = re.compile("%([0-9A-F]{2})")
_COMMIT: Final = re.compile(rf"{COMMITS}/(\d{{8,}})(\.checkpoint)?\.json", re.ASCII)
_PENDING: Final = re.compile(rf"{PENDINGS}/\d{{8,}}-[^/]+\.json", re.ASCII)


def quoted(value: str) -> str:
    """Return a value as part of a folder's name. Errors: UsageError where no file system takes it."""
    text = _QUOTED.sub(lambda found: f"%{ord(found[0]):02X}", writable(value))
    if text == NO_VALUE:
        text = f"%5F{text[1:]}"
    if len(text.encode()) > _SIZE_MAX:
        raise UsageError(f"{writable(value)[:40]}...: too long for the name of a folder, as the cluster of a lake's rows", value)
    return text or NO_VALUE


def folder_of(table: str, cluster_id: str, date: str) -> str:
    """Return the folder of a table's rows of one cluster and day; `date` is empty where a row has none."""
    return f"table={table}/cluster_id={quoted(cluster_id)}/date={date or NO_VALUE}"


def partition_of(name: str) -> tuple[str, str]:
    """Return the cluster and the day of a file's rows, each empty where they have none."""
    values = [part.partition("=")[2] for part in name.split("/")[1:3]]
    cluster_id, date = ("" if value == NO_VALUE else _CODE.sub(lambda found: chr(int(found[1], 16)), value) for value in values)
    return cluster_id, date


def require_few_files(shown: str, count: int) -> None:
    """Errors: UsageError where a commit has so many files that it cannot be made; `shown` is what messages call the lake."""
    if count > FILES_MAX:
        raise UsageError(
            f"{shown}: what is new needs more than {FILES_MAX:,} files, one for each table, cluster and day, and nothing was added: give "
            "fewer logs at a time (the next export adds the rest), or begin a lake of fewer tables with --tables",
            "--out",
        )


def part_name(folder: str, commit: int, number: int, commit_id: str) -> str:
    """Return the name of a part, unique to its writer: one that slept while another made that commit moves nothing onto the other's."""
    return f"{folder}/part-{commit:08d}-{number:05d}-{commit_id[:8]}.parquet"


def work_of(commit_id: str) -> str:
    """Return the folder in which the parts of a commit are written."""
    return f"{WORK}/{commit_id}"


def pending_name(commit: int, commit_id: str) -> str:
    return f"{PENDINGS}/{commit:08d}-{commit_id}.json"


def commit_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.json"


def checkpoint_name(number: int) -> str:
    return f"{COMMITS}/{number:08d}.checkpoint.json"


def numbers_of(names: Iterable[str]) -> tuple[list[int], list[int]]:
    """Return the numbers of commits and of checkpoints among the names of files. Other files may lie there: copies leave some."""
    found = [match for name in names if (match := _COMMIT.fullmatch(name))]
    return [int(match[1]) for match in found if not match[2]], [int(match[1]) for match in found if match[2]]


def is_pending(name: str) -> bool:
    """Return whether a file is a commit that is being made, by its name."""
    return _PENDING.fullmatch(name) is not None


def is_commit(name: str) -> bool:
    """Return whether a file is a commit or a checkpoint, by its name."""
    return _COMMIT.fullmatch(name) is not None


# ---- small files

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
    """Return the files to put together: `least` or more of one table, cluster and day, each below half the target, up to the target in all.

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
    """Return the files that may hold rows to remove: those of logs from an offset on; of a checkpoint that stands for more, all."""
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


def sources_of_files(files: Sequence[LakeFile]) -> tuple[int, ...]:
    return tuple(sorted({number for file in files for number in file.sources}))
