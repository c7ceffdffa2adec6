"""Resolves a path: which logs, of which cluster, their segments and the checkpoint they need.

One rule for every command. A path is a file, a log's directory, the log directory of a node, a folder with those of many clusters,
a pattern of these, or, with another `Tree`, a place in a store. A log's directory stands for its segments, and where they do not begin
at offset 0 its newest complete checkpoint comes first; where there is no log at all yet, bootstrap checkpoints stand for it. The
logs of users' topics are found, and never opened, unless they are named. What log something belongs to, `identity` decides.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from errno import ENOENT
from functools import partial
from typing import Final, NamedTuple, Protocol

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.disk.properties import MetaProperties

_LOOK_BYTES: Final = 1 << 20
_FIRST_BATCH_BYTES: Final = 4096
_LISTED_MAX: Final = 5
NO_LOG: Final = "neither a log nor a checkpoint"
_PATTERN_MARKS: Final = frozenset("*?[")


class Tree(Protocol):
    """Where files lie. Folders are called as `walk` calls them; `place` is what a file is opened by and shown as."""

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
        """The folders at and below `top`, and the names of their files. What may not be listed is left out, but not `top`."""
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
        """A small file, None where it cannot be read."""
        from metashell.disk.properties import read_text_file

        try:
            return read_text_file(os.path.join(folder, name))
        except (OSError, LogCorruptError):
            return None

    def version(self, folder: str, name: str) -> str:
        return ""  # who wants to know asks the file system


LOCAL: Final = LocalTree()


class InputFile(NamedTuple):
    """A file to read: the log it belongs to (None: not known) and the cluster it is of.

    `node` says which node wrote it, None where no meta.properties does. `version` changes when a store gets another file of that name.
    `checkpoint` names the checkpoint that it is, empty for a segment. `may_end_early` marks the last segment of a directory, whose torn or
    empty tail is no fault.

    Of a metadata log `begins_by` is the offset that a log's first segment has to begin at or before, `next_path` the segment after this
    one, and `passed_over` says of the first file which checkpoints are not used, and why.
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
    """A log, and the files that stand for it. The log of a topic that was not named has none, nor has one of damaged checkpoints only."""

    directory: str
    kind: LogKind | None
    cluster_id: str
    files: tuple[InputFile, ...] = ()
    is_empty: bool = False
    passed_over: tuple[SourceFault, ...] = ()


def find_logs(top: str, tree: Tree = LOCAL, *, every_checkpoint: bool = False) -> Iterator[FoundLog]:
    """The logs at and below a folder, in the order of their directories.

    With `every_checkpoint` all checkpoints of a directory are given, not only the one that replay needs.
    Errors: OSError where `top` cannot be listed.
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
    """The folders at and below `top` that have a log, at any depth: names of files, and those of them that are the log's.

    Where none has one, the folders with a bootstrap checkpoint, whose listing is empty; of a metadata directory without a file in use
    that is the log directory above it.
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
    """Where a log lies: its directory, or the bootstrap checkpoint that is all a node has; and what it is."""

    path: str
    kind: LogKind | None
    is_empty: bool = False


def log_folder(folder: str) -> LogFolder | None:
    """The log in a directory of this machine, None where there is none. Errors: OSError."""
    return _log_folder(folder, os.listdir(folder), is_named=True)


def log_folders(top: str) -> Iterator[LogFolder]:
    """The logs at and below a folder of this machine, as `find_logs` finds them. Errors: OSError where it cannot be listed."""
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
    """The segments of a log that were looked into, the first that tells the log's kind, and whether all are empty."""

    contents: dict[str, Content]
    told: Content
    is_empty: bool


def _look_into(folder: str, listing: Listing, tree: Tree, *, every_segment: bool = False) -> _Look:
    """Look into a log's segments, up to the first that tells the kind or, where they may be of several logs, into every one."""
    contents: dict[str, Content] = {}
    for entry in listing.segments:
        contents[entry.name] = _content_of_path(tree.place(folder, entry.name), tree)
        if contents[entry.name].kind is not None and not every_segment:
            break
    told = next((content for content in contents.values() if content.kind is not None), NO_CONTENT)
    return _Look(contents, told, not listing.checkpoints and not any(content.has_batches for content in contents.values()))


def find_metadata(path: str) -> str:
    """The path of the metadata directory at or below `path`, or of the bootstrap checkpoint where that is all there is.

    `path` may be the directory itself under any name, the log directory above it, or a folder with one of these somewhere below.
    Errors: UsageError when there is none, or more than one to choose from.
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
    look = _look_into(folder, listing, tree, every_segment=place is None)  # a place that is known holds one log
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
    """The identity of a checkpoint: its name as Kafka writes it, else that of its file; empty for the name of a segment."""
    parsed = parse_name(name)
    if parsed is not None and parsed.snapshot_id is not None:
        return checkpoint_name(parsed.snapshot_id)
    return "" if parsed is not None and parsed.kind == "segment" else name


# ---- one file


def named_file(path: str, tree: Tree = LOCAL, folder: str | None = None) -> InputFile:
    """A file that was named, and what it is by its content and its place; a stream is not looked into.

    Errors: UsageError where it cannot be opened.
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
    """Whether an opened file is a checkpoint: by its name, or under another name by what it starts with. A stream is not looked into.

    Errors: PathError for a file of another name that starts with a length no batch has, and has no whole batch behind it.
    """
    first: RecordBatch | BatchFault | None = None
    if parse_name(name) is None and not isinstance(file, StreamFile):
        looked_at = _to_be_looked_at(file)
        first = next(read_batches(looked_at, max_bytes=_FIRST_BATCH_BYTES), None)
        # The head of a packed file is shorter than a batch may be: of that no length is judged.
        if looked_at is file and isinstance(first, Tail) and first.kind == "bad-size" and first.behind is None:
            raise PathError(f"{file.name}: {NO_LOG}: byte {first.position}: {first.reason}", file.name)
    return classify(name, first.batch if isinstance(first, BatchFault) else first) != "segment"


def log_of_file(path: str, file: OpenFile) -> tuple[LogKind | None, bool]:
    """The log that an opened file of this machine belongs to, and whether there is no doubt that it is one of users' data, if it is."""
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
    # Of what can only be read once, the first bytes.
    size = _FIRST_BATCH_BYTES if isinstance(file, StreamFile) else _LOOK_BYTES // 16
    return HeldBytes(file.name, file.peek(size)[:size], size)


def content_of_file(file: OpenFile) -> Content:
    """The content of the first batches of an opened file. A file that can only be read front to back can still be read from its start."""
    looked_at = _to_be_looked_at(file)
    content, items = content_of(read_batches(looked_at, max_bytes=_LOOK_BYTES))
    first = next(items, None)
    if not content.has_batches:
        # Damage is something, and so is what we have not looked at; what was torn or kept for later is nothing.
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
        return Content(None)  # the reader will say why it cannot be opened


# ---- place and cluster


def place_of(folder: str, names: Collection[str], tree: Tree = LOCAL) -> LogKind | None:
    """The log that a folder's name, and the small files in it and beside it, speak of. `names` may be some of its files only."""
    return kind_of_place(
        tree.name(folder),
        names,
        lambda: tree.read(folder, PARTITION_METADATA),
        lambda: tree.read(tree.parent(folder), META_PROPERTIES) is not None,
    )


def cluster_of(folder: str, tree: Tree = LOCAL) -> str:
    """The id of the cluster that a log's folder belongs to; the folder itself without a meta.properties that names it."""
    return _Clusters(tree).of(folder)


def known_cluster_of(folder: str) -> str:
    """The id of the cluster that a log's folder belongs to; empty where no meta.properties names it."""
    found = cluster_of(folder)
    return "" if found == folder else found


class _Clusters:
    """Looks into the meta.properties in folders and above them, into each once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._known: dict[str, MetaProperties | None] = {}

    def of(self, folder: str) -> str:
        found = self.node_of(folder)
        return (found and found.cluster_id) or self.tree.place(folder)

    def node_of(self, folder: str) -> "MetaProperties | None":
        """The properties in a folder or above it, whichever name a cluster."""
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


# ---- words for what is not there


def paths_of(path: str) -> list[str]:
    """The paths that a pattern stands for, or the path itself where it is none. Errors: UsageError for one that matches nothing."""
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
    """The complaint about a log of one kind where one of another was wanted; with `reads` it says which command reads it."""
    reader = f": {READERS[found]} reads it" if reads else ""
    directory = "" if path in STREAM_NAMES else LOCAL.name(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    return UsageError(f"{path}: {log_name_of(found, directory)}, not {log_name_of(wanted)}{reader}", path)


def no_log_fault(path: str, kinds: Sequence[LogKind | None], wanted: Iterable[LogKind] = ()) -> UsageError:
    """The complaint about a folder without a log to read: what is there instead, by the kinds of its logs."""
    what = " or ".join(log_name_of(kind).removeprefix("the ") for kind in wanted)
    if not kinds:
        return PathError(f"{path}: no {what or 'log'} here: neither segments nor checkpoints", path)
    there = [log_names(kind for kind in kinds if kind != DATA)]
    there += [_counted(kinds.count(DATA), "of other topics"), _counted(kinds.count(None), "whose records are not known")]
    return PathError(f"{path}: no {what or 'log whose records are known'} here, but {', '.join(filter(None, there))}", path)


def _counted(count: int, what: str) -> str:
    return f"{count} log{'s' if count > 1 else ''} {what}" if count else ""


def empty_logs_fault(path: str, kinds: Iterable[LogKind | None]) -> UsageError:
    """The complaint about logs in which no batch was ever written."""
    return PathError(f"{path}: nothing in it: {log_names(kinds) or 'the log'} has no batch", path)
