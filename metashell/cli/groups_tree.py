"""The groups under /groups of kafka-shell: from the logs beside the metadata, or asked of the brokers of a live cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.cli.common import complain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import SimpleNamespace

    from metashell.admin.admin import Admin
    from metashell.groups.topics import Topics
    from metashell.groups.view import GroupDescription, GroupSummary, OffsetRow
    from metashell.image import MetadataImage
    from metashell.offsets_log.asking import FoundGroup
    from metashell.offsets_log.loading import Loaded


class LoggedGroups:
    """See `metashell.nodes.groups.Groups`. Logs that have grown are read again."""

    def __init__(self, logs: Sequence[str], image: Callable[[], MetadataImage], name: str, max_decompressed: int) -> None:
        self._logs = logs
        self._image = image
        self._name = name
        self._max_decompressed = max_decompressed
        self._loaded: Loaded | None = None
        self._sizes: list[tuple[str, int]] = []

    def summaries(self) -> Sequence[GroupSummary]:
        from metashell.offsets_log.asking import summaries

        return summaries(self._read())

    def description(self, group_id: str) -> GroupDescription:
        from metashell.offsets_log.asking import describe

        return describe(self._found(group_id), self._topics())

    def offsets(self, group_id: str) -> Sequence[OffsetRow]:
        from metashell.offsets_log.asking import offset_rows

        return offset_rows(self._found(group_id), self._topics(), {})

    def _topics(self) -> Topics:
        from metashell.group_server.image_topics import ImageTopics

        return ImageTopics(self._image(), 0)

    def _found(self, group_id: str) -> FoundGroup:
        """Errors: MetashellError for a group that is gone."""
        from metashell.errors import MetashellError
        from metashell.offsets_log.asking import find_group

        found = find_group(self._read(), group_id)
        if not found:
            raise MetashellError(f"{group_id}: no such group any more")
        return found[-1]

    def _read(self) -> Loaded:
        from metashell.errors import UsageError
        from metashell.offsets_log.loading import Loaded, load

        sizes = _sizes_of(self._logs)
        if self._loaded is None or sizes != self._sizes:
            try:
                self._loaded = load(self._logs, max_decompressed=self._max_decompressed)
            except UsageError:
                self._loaded = Loaded()  # no batch was ever written
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
    """See `metashell.nodes.groups.Groups`. Each listing asks again."""

    def __init__(self, values: SimpleNamespace, image: Callable[[], MetadataImage]) -> None:
        self._values = values
        self._image = image
        self._opened: Admin | None = None

    def summaries(self) -> Sequence[GroupSummary]:
        from metashell.admin.groups import list_groups

        found, failed = list_groups(self._admin)
        if failed:
            raise failed[0][1]
        return found

    def description(self, group_id: str) -> GroupDescription:
        from metashell.admin.groups import describe_group

        return describe_group(self._admin, group_id)

    def offsets(self, group_id: str) -> Sequence[OffsetRow]:
        from metashell.admin.groups import committed_offsets, with_ends

        return with_ends(self._admin, committed_offsets(self._admin, group_id))

    @property
    def _admin(self) -> Admin:
        """Errors: MetashellError where no broker can be asked."""
        if self._opened is None:
            from types import SimpleNamespace

            from metashell.cli.groups_live import brokers_of
            from metashell.cli.named_cluster import open_admin
            from metashell.options.administering import TIMEOUT_S

            values = SimpleNamespace(**vars(self._values))
            values.timeout = values.timeout or TIMEOUT_S
            if values.bootstrap_controller:
                values.bootstrap_server = brokers_of(self._image(), values.command_config, values.bootstrap_controller)
                values.bootstrap_controller = None
            self._opened = open_admin(values)
        return self._opened

    def close(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            self._opened.close()
