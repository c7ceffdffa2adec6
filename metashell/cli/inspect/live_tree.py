"""Parts of the shell's tree that are read while it runs: a directory that a node is writing, and groups under /groups.

`GrowingDirectory` serves `follow` and `watch`. The log does not say which part of it is committed, so it shows changes as they are
written. If the node truncates its log, because the new leader does not have those records, it loads the image again.

Groups come from the logs beside the metadata, or from the brokers of a live cluster."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

from metashell.cli.admin.groups import committed_offsets, describe_group, list_groups, with_ends
from metashell.cli.connection import TIMEOUT_S, open_admin
from metashell.cli.groups.description import brokers_of
from metashell.common.command import complain
from metashell.common.errors import MetashellError, UsageError
from metashell.disk.inputs import find_metadata
from metashell.disk.source import DirectorySource, open_source
from metashell.groups.log.queries import LoadedLogs, describe_found_group, find_group, group_summaries, load_logs, offset_rows
from metashell.metadata.image import ImageLoader, load_image
from metashell.metadata.image.differences import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.codec.batches import BatchHeader, RecordBatch
    from metashell.groups.log.queries import FoundGroup, LoadedLogs
    from metashell.groups.topics import Topics
    from metashell.groups.view import GroupDescription, GroupSummary, OffsetRow
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.differences import Step


POLL_S: Final = 0.2


class StillView:
    """A view of the image that was shown last."""

    lag: int | None = None
    trouble = ""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    @property
    def details(self) -> dict[str, object]:
        return {}


class GrowingDirectory:
    """The feed of a directory. The first view is the loaded image; each later view has all that the node has written by then."""

    is_live = False

    def __init__(self, path: str, image: MetadataImage, max_decompressed: int) -> None:
        self.path = path
        self.image = image
        self.max_decompressed = max_decompressed
        self._growth: Growth | None = None
        self._viewed: MetadataImage | None = None

    def view(self) -> StillView:
        """Return a view of the newest image, or of the last one if the directory can no longer be read."""
        if self._viewed is not None:
            if self._growth is None or self._viewed is not self.image:
                # `follow` and `watch` may have advanced the image meanwhile.
                self._growth = Growth(self)
            with suppress(MetashellError, OSError):
                self._growth.look()
        self._viewed = self.image
        return StillView(self.image)

    def subscribe(self) -> Growth:
        """Return the steps that follow the image that was shown last."""
        return Growth(self)


class Growth:
    """The steps of a directory. It looks for new records a few times a second; `pause` waits in between."""

    def __init__(self, directory: GrowingDirectory, pause: Callable[[float], None] = time.sleep) -> None:
        self._directory = directory
        self._pause = pause
        self.start = directory.image
        self._loader = ImageLoader(directory.image, max_decompressed=directory.max_decompressed)
        self._last: BatchHeader | None = None
        self._seen: object = None

    def next(self, timeout_s: float) -> Step | None:
        """Return the next step, or None if nothing was written in time. Errors: MetashellError if the directory is gone."""
        looks = max(round(timeout_s / POLL_S), 1)
        for _ in range(looks):
            if (step := self.look()) is not None:
                return step
            self._pause(POLL_S)
        return None

    def look(self) -> Step | None:
        """Return the step for the records written since the last look, or None if there are none."""
        signature = _signature(self._directory.path)
        if signature == self._seen:
            return None
        with open_source(self._directory.path) as source:
            added = self._added(source) if isinstance(source, DirectorySource) else None
            certain_to = source.certain_to
        self._seen = signature
        if added is None:
            return self._reload()
        if not added:
            return None
        before = self._directory.image
        end = before.provenance.end_offset
        for batch in added:
            self._loader.load_batch(batch, end)
        image = self._loader.image()
        known = before.provenance.certain_to
        certain_to = known if certain_to is None or (known is not None and known > certain_to) else certain_to
        self._last = added[-1].header
        return self._show(image._replace(provenance=image.provenance._replace(certain_to=certain_to)), tuple(added))

    def _added(self, source: DirectorySource) -> list[RecordBatch] | None:
        """Return the batches that the image lacks, or None if the image was not made from this log."""
        position = self._directory.image.provenance
        end, last = position.end_offset, self._last
        if last is None and position.offset + 1 != end:
            # A transaction is open, and the image does not show its records.
            return None
        added: list[RecordBatch] = []
        expected = end
        for batch in source.log_batches(max(end - 1, 0)):
            header = batch.header
            if header.last_offset < end:
                same = header.leader_epoch == position.epoch if last is None else _same(header, last)
                if header.last_offset == end - 1 and not same:
                    return None
                continue
            if header.base_offset > expected or (header.base_offset < end and last is not None):
                return None
            added.append(batch)
            expected = header.last_offset + 1
        # The bootstrap checkpoint from formatting is shown only until the log has records.
        is_first = bool(added) and end == 0 and source.snapshot_id is not None
        return added if (source.end_offset or 0) >= end and not is_first else None

    def _reload(self) -> Step | None:
        directory = self._directory
        with open_source(directory.path) as source:
            image = load_image(source, max_decompressed=directory.max_decompressed)
        self._loader = ImageLoader(image, max_decompressed=directory.max_decompressed)
        self._last = None
        return self._show(image, None)

    def _show(self, image: MetadataImage, batches: tuple[RecordBatch, ...] | None) -> Step:
        step = Step(self._directory.image, image, batches)
        self._directory.image = image
        return step

    def close(self) -> None:
        """Do nothing: no file stays open between looks."""


def _same(one: BatchHeader, other: BatchHeader) -> bool:
    return (one.base_offset, one.leader_epoch, one.crc) == (other.base_offset, other.leader_epoch, other.crc)


def _signature(path: str) -> object:
    """Return a value that differs after every write. Errors: MetashellError if the directory is gone."""
    found = find_metadata(path)
    sizes = []
    try:
        for entry in os.scandir(found):
            with suppress(FileNotFoundError):
                sizes.append((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns))
    except OSError as error:
        raise MetashellError(f"{found}: {error.strerror or error}") from None
    return sorted(sizes)


class LoggedGroups:
    """Groups from their logs; see `metashell.groups.view.GroupSource`. Logs that have grown are read again."""

    def __init__(self, logs: Sequence[str], image: Callable[[], MetadataImage], name: str, max_decompressed: int) -> None:
        self._logs = logs
        self._image = image
        self._name = name
        self._max_decompressed = max_decompressed
        self._loaded: LoadedLogs | None = None
        self._sizes: list[tuple[str, int]] = []

    def summaries(self) -> Sequence[GroupSummary]:
        return group_summaries(self._read())

    def description(self, group_id: str) -> GroupDescription:
        return describe_found_group(self._found(group_id), self._topics())

    def offsets(self, group_id: str) -> Sequence[OffsetRow]:
        return offset_rows(self._found(group_id), self._topics(), {})

    def _topics(self) -> Topics:
        from metashell.groups.server.topic_requests import ImageTopics

        return ImageTopics(self._image(), 0)

    def _found(self, group_id: str) -> FoundGroup:
        """Return the group as its log has it. Errors: MetashellError for a group that is gone."""
        found = find_group(self._read(), group_id)
        if not found:
            raise MetashellError(f"{group_id}: no such group any more")
        return found[-1]

    def _read(self) -> LoadedLogs:
        sizes = _sizes_of(self._logs)
        if self._loaded is None or sizes != self._sizes:
            try:
                self._loaded = load_logs(self._logs, max_decompressed=self._max_decompressed)
            except UsageError:
                self._loaded = LoadedLogs()  # no batch was written yet
            self._sizes = sizes
            for fault in self._loaded.faults:
                if not fault.is_tail:
                    complain(self._name, f"{fault} ({self._loaded.fault_count} such in the logs of groups)")
                    break
        return self._loaded


def _sizes_of(folders: Sequence[str]) -> list[tuple[str, int]]:
    found = []
    for folder in folders:
        try:
            found += [(entry.path, entry.stat().st_size) for entry in os.scandir(folder) if entry.name.endswith(".log")]
        except OSError:
            continue
    return sorted(found)


class LiveGroups:
    """Groups of a live cluster; see `metashell.groups.view.GroupSource`. Each listing asks again."""

    def __init__(self, values: SimpleNamespace, image: Callable[[], MetadataImage]) -> None:
        self._values = values
        self._image = image
        self._opened: Admin | None = None

    def summaries(self) -> Sequence[GroupSummary]:
        found, failed = list_groups(self._admin)
        if failed:
            raise failed[0][1]
        return found

    def description(self, group_id: str) -> GroupDescription:
        return describe_group(self._admin, group_id)

    def offsets(self, group_id: str) -> Sequence[OffsetRow]:
        return with_ends(self._admin, committed_offsets(self._admin, group_id))

    @property
    def _admin(self) -> Admin:
        """Return a client for the brokers. Errors: MetashellError if no broker can be asked."""
        if self._opened is None:
            values = SimpleNamespace(**vars(self._values))
            values.timeout = values.timeout or TIMEOUT_S
            values.time_limit = None  # a shell goes on, so each call has a limit of its own
            if values.bootstrap_controller:
                values.bootstrap_server = brokers_of(self._image(), values.command_config, values.bootstrap_controller)
                values.bootstrap_controller = None
            self._opened = open_admin(values)
        return self._opened

    def close(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            self._opened.close()
