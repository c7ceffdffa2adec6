"""Resolves a path: finds the logs at and below it, their clusters, their segments and the checkpoints that they need.

All commands use this rule. A path is a file, a log's directory, the log directory of a node, a folder with those of many clusters, a
pattern of these, or, with another `Tree`, a place in a store. A log's directory means its segments, preceded by its newest complete
checkpoint if they do not begin at offset 0; without a log, it means the bootstrap checkpoint. Logs of users' topics are found, but not
opened unless they are named. `directory` decides to which log something belongs.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from errno import ENOENT
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from metashell.codec.batches import RecordBatch
from metashell.common.errors import LogCorruptError, PathError, UsageError
from metashell.disk.directory import (
    NO_CONTENT,
    Content,
    Listing,
    content_of,
    kind_of_place,
    listed_files,
    listing_of,
    log_kind_of,
    log_name_of,
    log_names,
)
from metashell.disk.files import STREAM_NAMES, OpenFile, StreamFile, is_stream, open_file
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    DATA,
    META_PROPERTIES,
    METADATA,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    READERS,
    HeldBytes,
    LogKind,
    checkpoint_name,
    classify,
    parse_name,
)
from metashell.disk.segment import BatchFault, SourceFault, Tail, read_batches

if TYPE_CHECKING:
    from metashell.disk.properties import MetaProperties

_LOOK_BYTES: Final = 1 << 20
_FIRST_BATCH_BYTES: Final = 4096
_LISTED_MAX: Final = 5
NO_LOG: Final = "neither a log nor a checkpoint"
_PATTERN_MARKS: Final = frozenset("*?[")


class Tree(Protocol):
    """A tree of folders and files. Folders have the names that `walk` gives them; `place` is the name to open and show a file."""

    def walk(self, top: str) -> Iterable[tuple[str, list[str]]]: ...
    def place(self, folder: str, name: str = "") -> str: ...
    def name(self, folder: str) -> str: ...
    def parent(self, folder: str) -> str: ...
    def open(self, place: str) -> OpenFile: ...
    def read(self, folder: str, name: str) -> bytes | None: ...
    def version(self, folder: str, name: str) -> str: ...


class LocalTree:
    """The files of this machine."""

    def walk(self, top: str) -> Iterator[tuple[str, list[str]]]:
        """The folders at and below `top`, with the names of their files. Folders that we may not list are left out, except `top`."""
        os.listdir(top)
        for folder, below, names in os.walk(top):
            below.sort()
            yield folder, names

    def place(self, folder: str, name: str = "") -> str:
        return os.path.join(folder, name) if name else folder

    def name(self, folder: str) -> str:
        return os.path.basename(os.path.abspath(folder))

    def parent(self, folder: str) -> str:
        return os.path.dirname(os.path.abspath(folder))

    def open(self, place: str) -> OpenFile:
        return open_file(place)

    def read(self, folder: str, name: str) -> bytes | None:
        """The content of a small file; None if it cannot be read."""
        from metashell.disk.properties import read_text_file

        try:
            return read_text_file(os.path.join(folder, name))
        except (OSError, LogCorruptError):
            return None

    def version(self, folder: str, name: str) -> str:
        return ""  # a caller that needs the version of a local file looks at its stat


LOCAL: Final = LocalTree()


class InputFile(NamedTuple):
    """A file to read, its log (None: unknown) and its cluster.

    `node` is the node that wrote it, None without a meta.properties. `version` changes when a store gets another file of that name.
    `checkpoint` is the identity of a checkpoint, empty for a segment. `may_end_early` marks the last segment of a directory, whose torn or
    empty tail is not a fault.

    In a metadata log, `begins_by` is the largest offset at which the first segment may begin, `next_path` is the next segment, and the
    first file's `passed_over` has the faults of checkpoints that are not used.
    """

    path: str
    log: LogKind | None
    cluster_id: str
    checkpoint: str = ""
    may_end_early: bool = False
    begins_by: int | None = None
    next_path: str = ""
    passed_over: tuple[SourceFault, ...] = ()
    node: "MetaProperties | None" = None
    version: str = ""


class FoundLog(NamedTuple):
    """A log and the files to read for it. A topic's log that was not named has none, and neither has a log of damaged checkpoints only."""

    directory: str
    kind: LogKind | None
    cluster_id: str
    files: tuple[InputFile, ...] = ()
    is_empty: bool = False
    passed_over: tuple[SourceFault, ...] = ()


def find_logs(top: str, tree: Tree = LOCAL, *, every_checkpoint: bool = False) -> Iterator[FoundLog]:
    """The logs at and below a folder, in the order of their directories.

    With `every_checkpoint`, all checkpoints of a directory are included, not only the one that a replay needs.
    Errors: OSError if `top` cannot be listed.
    """
    clusters = _Clusters(tree)
    for folder, names, listing in _walk(top, tree):
        if not listing:
            yield _bootstrap(folder, clusters)
        elif (place := place_of(folder, names, tree)) == DATA and folder != top:
            yield FoundLog(directory=tree.place(folder), kind=DATA, cluster_id="")
        else:
            yield _found(folder, listing, place, clusters, every_checkpoint)


def _walk(top: str, tree: Tree) -> Iterator[tuple[str, list[str], Listing]]:
    """The folders with a log at and below `top`, at any depth: the names of their files, and the log's files among them.

    If none has a log: the folders with a bootstrap checkpoint, whose listing is empty; for a metadata directory without a file in use, the
    log directory above it.
    """
    formatted: list[tuple[str, list[str], Listing]] = []
    has_logs = False
    for folder, names in tree.walk(top):
        listing = listing_of(names)
        if listing:
            has_logs = True
            yield folder, names, listing
        elif BOOTSTRAP_CHECKPOINT in names:
            formatted.append((folder, names, listing))
    if has_logs:
        return
    above = tree.parent(top)
    if not formatted and tree.name(top) == METADATA_DIRECTORY and tree.read(above, BOOTSTRAP_CHECKPOINT) is not None:
        formatted.append((above, [BOOTSTRAP_CHECKPOINT], listing_of([])))
    yield from formatted


class LogFolder(NamedTuple):
    """The place of a log, which is its directory or the bootstrap checkpoint of a node without a log; and its kind."""

    path: str
    kind: LogKind | None
    is_empty: bool = False


def log_folder(folder: str) -> LogFolder | None:
    """The log in a directory of this machine; None if it has none. Errors: OSError."""
    return _log_folder(folder, os.listdir(folder), is_named=True)


def log_folders(top: str) -> Iterator[LogFolder]:
    """The logs at and below a folder of this machine, found as by `find_logs`. Errors: OSError if it cannot be listed."""
    for folder, names, _ in _walk(top, LOCAL):
        found = _log_folder(folder, names, is_named=folder == top)
        yield LogFolder(os.path.join(folder, BOOTSTRAP_CHECKPOINT), METADATA) if found is None else found


def _log_folder(folder: str, names: list[str], *, is_named: bool) -> LogFolder | None:
    listing = listing_of(names)
    if not listing:
        return None
    place = place_of(folder, names)
    if place == DATA and not is_named:
        return LogFolder(folder, DATA)
    look = _look_into(folder, listing, LOCAL)
    return LogFolder(folder, log_kind_of(place, look.told), look.is_empty)


class _Look(NamedTuple):
    """The examined segments of a log, the first one that tells the log's kind, and whether all are empty."""

    contents: dict[str, Content]
    told: Content
    is_empty: bool


def _look_into(folder: str, listing: Listing, tree: Tree, *, every_segment: bool = False) -> _Look:
    """Examine a log's segments up to the first one that tells the kind; or all of them, if they may be of several logs."""
    contents: dict[str, Content] = {}
    for entry in listing.segments:
        contents[entry.name] = _content_of_path(tree.place(folder, entry.name), tree)
        if contents[entry.name].kind is not None and not every_segment:
            break
    told = next((content for content in contents.values() if content.kind is not None), NO_CONTENT)
    return _Look(contents, told, not listing.checkpoints and not any(content.has_batches for content in contents.values()))


def find_metadata(path: str) -> str:
    """The path of the metadata directory at or below `path`, or of the bootstrap checkpoint if there is no log.

    `path` may be the directory itself under any name, the log directory above it, or a folder with one of these somewhere below.
    Errors: UsageError if there is none, or more than one.
    """
    try:
        usual = os.path.join(path, METADATA_DIRECTORY)
        for folder in (path, usual) if os.path.isdir(usual) else (path,):
            found = log_folder(folder)
            if found is None:
                continue
            if found.kind not in (METADATA, None):
                raise other_log_fault(folder, found.kind, METADATA)
            return folder
        below = list(log_folders(path))
    except OSError as error:
        raise PathError.of(path, error) from error
    several = sorted(place.path for place in below if place.kind == METADATA)
    if len(several) > 1:
        more = f" and {len(several) - _LISTED_MAX} more" if len(several) > _LISTED_MAX else ""
        raise UsageError(f"{path}: several metadata directories below it, name one: {', '.join(several[:_LISTED_MAX])}{more}", path)
    if several:
        return several[0]
    raise no_log_fault(path, [place.kind for place in below], (METADATA,))


def _bootstrap(folder: str, clusters: "_Clusters") -> FoundLog:
    path = clusters.tree.place(folder, BOOTSTRAP_CHECKPOINT)
    cluster_id, node = clusters.of(folder), clusters.node_of(folder)
    file = InputFile(path=path, log=METADATA, cluster_id=cluster_id, checkpoint=BOOTSTRAP_CHECKPOINT, node=node)
    file = file._replace(version=clusters.tree.version(folder, BOOTSTRAP_CHECKPOINT))
    return FoundLog(directory=clusters.tree.place(folder), kind=METADATA, cluster_id=file.cluster_id, files=(file,))


def _found(folder: str, listing: Listing, place: LogKind | None, clusters: "_Clusters", every_checkpoint: bool) -> FoundLog:
    tree = clusters.tree
    path_of = partial(tree.place, folder)
    cluster_id, node = clusters.of(folder), clusters.node_of(folder)

    passed_over: list[SourceFault] = []
    look = _look_into(folder, listing, tree, every_segment=place is None)  # a known place has one log
    files: list[InputFile] = []
    listed = listed_files(listing, lambda name: tree.open(path_of(name)), every_checkpoint=every_checkpoint, passed_over=passed_over)
    for file in listed:
        content = look.contents.get(file.name, look.told)
        files.append(
            InputFile(
                path=path_of(file.name),
                log=METADATA if file.is_checkpoint else log_kind_of(place, content if content.kind is not None else look.told),
                cluster_id=cluster_id,
                checkpoint=checkpoint_id(file.name),
                may_end_early=file.may_end_early,
                node=node,
                version=tree.version(folder, file.name),
            )
        )
    return FoundLog(
        directory=path_of(),
        kind=log_kind_of(place, look.told),
        cluster_id=cluster_id,
        files=tuple(files),
        is_empty=look.is_empty,
        passed_over=tuple(passed_over),
    )


def checkpoint_id(name: str) -> str:
    """The identity of a checkpoint: its name in Kafka's form, else its file's name; empty for the name of a segment."""
    parsed = parse_name(name)
    if parsed is not None and parsed.snapshot_id is not None:
        return checkpoint_name(parsed.snapshot_id)
    return "" if parsed is not None and parsed.kind == "segment" else name


# ---- one file


def named_file(path: str, tree: Tree = LOCAL, folder: str | None = None) -> InputFile:
    """A named file, with its kind by content and place; a stream is not examined.

    Errors: UsageError if it cannot be opened.
    """
    if folder is None:
        folder = os.path.dirname(path) or "."
        if is_stream(path):
            return InputFile(path=path, log=None, cluster_id=cluster_of(folder))
        name = os.path.basename(path)
    else:
        from metashell.common.uris import file_name

        name = file_name(path)
    parsed = parse_name(name)
    with tree.open(path) as file:
        content = content_of_file(file)
        is_checkpoint = is_checkpoint_file(name, file)
    place = METADATA if parsed is not None and parsed.kind != "segment" else place_of(folder, (name,), tree)
    clusters = _Clusters(tree)
    return InputFile(
        path=path,
        log=log_kind_of(place, content),
        cluster_id=clusters.of(folder),
        checkpoint=checkpoint_id(name) if is_checkpoint else "",
        node=clusters.node_of(folder),
    )


def is_checkpoint_file(name: str, file: OpenFile) -> bool:
    """Whether an opened file is a checkpoint, by its name or else by its first batch. A stream is not examined.

    Errors: PathError for a file of another name that starts with an impossible length and has no whole batch behind it.
    """
    first: RecordBatch | BatchFault | None = None
    if parse_name(name) is None and not isinstance(file, StreamFile):
        looked_at = _to_be_looked_at(file)
        first = next(read_batches(looked_at, max_bytes=_FIRST_BATCH_BYTES), None)
        # Of a compressed file only the head was expanded, which may be shorter than a batch: its length is not judged.
        if looked_at is file and isinstance(first, Tail) and first.kind == "bad-size" and first.behind is None:
            raise PathError(f"{file.name}: {NO_LOG}: byte {first.position}: {first.reason}", file.name)
    return classify(name, first.batch if isinstance(first, BatchFault) else first) != "segment"


def log_of_file(path: str, file: OpenFile) -> tuple[LogKind | None, bool]:
    """The log of an opened file of this machine, and, for a log of users' data, whether that is certain."""
    content = content_of_file(file)
    name = os.path.basename(path)
    parsed = None if path in STREAM_NAMES else parse_name(name)
    place: LogKind | None = None
    if parsed is not None and parsed.kind != "segment":
        place = METADATA
    elif path not in STREAM_NAMES:
        place = place_of(os.path.dirname(path) or ".", (name,))
    return log_kind_of(place, content), place == DATA or content.is_sure


def _to_be_looked_at(file: OpenFile) -> OpenFile:
    if file.size() is not None:
        return file
    # A stream can be read once only, so only its first bytes are examined.
    size = _FIRST_BATCH_BYTES if isinstance(file, StreamFile) else _LOOK_BYTES // 16
    return HeldBytes(file.name, file.peek(size)[:size], size)


def content_of_file(file: OpenFile) -> Content:
    """The content of the first batches of an opened file. A stream can still be read from its start afterwards."""
    looked_at = _to_be_looked_at(file)
    content, items = content_of(read_batches(looked_at, max_bytes=_LOOK_BYTES))
    first = next(items, None)
    if not content.has_batches:
        # Damage counts as content, and so does a part that was not examined; a torn or preallocated tail does not.
        is_nothing = not file.peek(1)
        if isinstance(first, BatchFault) and looked_at is file:
            is_nothing = first.may_be_tail
        content = content._replace(has_batches=not is_nothing)
    return content


def _content_of_path(place: str, tree: Tree) -> Content:
    try:
        with tree.open(place) as file:
            return content_of_file(file)
    except UsageError:
        return Content(None)  # the reader will report why it cannot be opened


# ---- place and cluster


def place_of(folder: str, names: Collection[str], tree: Tree = LOCAL) -> LogKind | None:
    """The log by a folder's name and the small files in it and beside it. `names` may be only some of its files."""
    return kind_of_place(
        tree.name(folder),
        names,
        lambda: tree.read(folder, PARTITION_METADATA),
        lambda: tree.read(tree.parent(folder), META_PROPERTIES) is not None,
    )


def cluster_of(folder: str, tree: Tree = LOCAL) -> str:
    """The cluster id of a log's folder; the folder itself if no meta.properties names a cluster."""
    return _Clusters(tree).of(folder)


def known_cluster_of(folder: str) -> str:
    """The cluster id of a log's folder; empty if no meta.properties names a cluster."""
    found = cluster_of(folder)
    return "" if found == folder else found


class _Clusters:
    """Reads the meta.properties in folders and above them, each once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._known: dict[str, MetaProperties | None] = {}

    def of(self, folder: str) -> str:
        found = self.node_of(folder)
        return (found and found.cluster_id) or self.tree.place(folder)

    def node_of(self, folder: str) -> "MetaProperties | None":
        """The nearest properties in a folder or above it that name a cluster."""
        for place in (folder, self.tree.parent(folder)):
            if place not in self._known:
                self._known[place] = self._read(place)
            found = self._known[place]
            if found is not None and found.cluster_id:
                return found
        return None

    def _read(self, folder: str) -> "MetaProperties | None":
        from metashell.disk.properties import meta_properties_of, parse_properties

        data = self.tree.read(folder, META_PROPERTIES)
        try:
            return None if data is None else meta_properties_of(parse_properties(data))
        except ValueError:
            return None


# ---- patterns, and errors about missing logs


def paths_of(path: str) -> list[str]:
    """The paths that match a pattern, or the path itself if it is not one. Errors: UsageError for a pattern without a match."""
    if not _PATTERN_MARKS & set(path) or os.path.lexists(path):
        return [path]
    from glob import glob

    from metashell.common.uris import is_uri

    if is_uri(path):
        return [path]
    found = sorted(glob(path, recursive=True))
    if not found:
        raise PathError(f"{path}: {os.strerror(ENOENT)}", path)
    return found


def other_log_fault(path: str, found: LogKind, wanted: LogKind, *, reads: bool = True) -> UsageError:
    """The error for a log of the wrong kind; with `reads`, it names the command that reads it."""
    reader = f": {READERS[found]} reads it" if reads else ""
    directory = "" if path in STREAM_NAMES else LOCAL.name(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    return UsageError(f"{path}: {log_name_of(found, directory)}, not {log_name_of(wanted)}{reader}", path)


def no_log_fault(path: str, kinds: Sequence[LogKind | None], wanted: Iterable[LogKind] = ()) -> UsageError:
    """The error for a folder without a log to read; it names the logs that are there, by their kinds."""
    what = " or ".join(log_name_of(kind).removeprefix("the ") for kind in wanted)
    if not kinds:
        return PathError(f"{path}: no {what or 'log'} here: neither segments nor checkpoints", path)
    there = [log_names(kind for kind in kinds if kind != DATA)]
    there += [_counted(kinds.count(DATA), "of other topics"), _counted(kinds.count(None), "whose records are not known")]
    return PathError(f"{path}: no {what or 'log whose records are known'} here, but {', '.join(filter(None, there))}", path)


def _counted(count: int, what: str) -> str:
    return f"{count} log{'s' if count > 1 else ''} {what}" if count else ""


def empty_logs_fault(path: str, kinds: Iterable[LogKind | None]) -> UsageError:
    """The error for logs without a batch."""
    return PathError(f"{path}: nothing in it: {log_names(kinds) or 'the log'} has no batch", path)
