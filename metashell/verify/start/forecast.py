"""The verdict on one log directory: the start on paper, and what of what it cuts and deletes is nowhere else."""

from __future__ import annotations

import os

from metashell.codec.metadata_version import METADATA_VERSION, level_name
from metashell.codec.releases import NEWEST_RELEASE, Release, releases_from, unsupported_features
from metashell.errors import LogCorruptError
from metashell.log.files import RegularFile, open_regular
from metashell.log.names import BOOTSTRAP_SNAPSHOT, LEADER_EPOCH_CHECKPOINT, METADATA_DIRECTORY, QUORUM_STATE
from metashell.log.segment import BadBatch, read_batches
from metashell.log.tail import Tail
from metashell.log.text_checkpoints import read_leader_epochs
from metashell.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.verify.start.load import Start, StartLog
from metashell.verify.start.replay import Replay
from metashell.verify.start.segments import Segment
from metashell.verify.start.verdict import Action, Change, Ends, StartVerdict

JUDGED_RELEASES = releases_from("3.9")
_IGNORING_CHECKPOINT = releases_from("4.3")
"""Those that do not replay the records of the checkpoint 0-0; earlier ones take it for a snapshot like any other."""
_BOOTSTRAPPED_BY_CHECKPOINT = releases_from("4.4")
"""Those whose first leader writes these records into the log."""


def forecast(
    log_directory: str,
    directory: str,
    not_judged: tuple[str, ...] = (),
    release: Release = NEWEST_RELEASE,
) -> StartVerdict:
    """What Kafka would do with the metadata log in `directory` when it starts on `log_directory`. Errors: OSError."""
    return _Forecast(log_directory, directory, not_judged, release).run()


class _Forecast:
    def __init__(self, log_directory: str, directory: str, not_judged: tuple[str, ...], release: Release) -> None:
        self._directory = directory
        self._release = release
        self._verdict = StartVerdict(log_directory, release.name, not_judged=not_judged)
        self._start = Start(log_directory, directory)
        self._lost: list[tuple[int, int]] = []

    def run(self) -> StartVerdict:
        verdict = self._verdict
        log = self._start.log
        try:
            self._start.run()
            self._add_changes(log)
            verdict.start_offset, verdict.end_offset, verdict.epoch = log.start_offset, log.end_offset, log.epoch
            self._add_missing(log)
            replay = Replay(log)
            try:
                replay.run()
            finally:
                verdict.unnoticed += replay.concerns
            verdict.releases = tuple(release.name for release in JUDGED_RELEASES if self._is_right(replay, release))
            refusal = self._refusal(replay, self._release)
            if refusal is not None:
                raise refusal
            verdict.unnoticed += self._ignored(replay, self._release)
        except Ends as end:
            if not verdict.changes:
                self._add_changes(log)
            verdict.starts = False if end.is_known else None
            verdict.reason = _reason(end)
        segments = [*log.kept, *(segment for segment, _ in log.dropped)]
        batches = [batch for segment in segments for batch in segment.batches]
        verdict.counts = len(segments) + len(log.snapshots), len(batches), sum(max(batch.record_count, 0) for batch in batches)
        verdict.lost[:0] = [f"offsets {first} to {last}" for first, last in _merged(self._lost)]
        return verdict

    # ---- the release

    def _is_right(self, replay: Replay, release: Release) -> bool:
        """Whether a server of the release starts and looks at all that is there."""
        return self._refusal(replay, release) is None and not self._ignored(replay, release)

    def _refusal(self, replay: Replay, release: Release) -> Ends | None:
        """The end of a server of a release that does not support what the log has, or what its first leader would write."""
        replays_first = release not in _IGNORING_CHECKPOINT
        levels = replay.bootstrap or {} if replays_first else {}
        if replay.is_empty and not (replays_first and levels):
            first = self._first_levels(replay, release)
            if first is not None and METADATA_VERSION not in first:
                return Ends(self._directory, "the records that formatting left end it: they have no metadata.version")
            levels = first or {}
        found = unsupported_features(levels, release)
        return Ends(self._directory, f"the records that formatting left end it: {found[0].text}") if found else replay.refusal(release)

    def _first_levels(self, replay: Replay, release: Release) -> dict[str, int] | None:
        """The levels that formatting left for the first leader; None where a release finds none, and takes its own newest one."""
        bootstrap = self._start.log.bootstrap
        return replay.bootstrap if replay.bootstrap is not None and release in _BOOTSTRAPPED_BY_CHECKPOINT else bootstrap

    def _ignored(self, replay: Replay, release: Release) -> list[str]:
        """What formatting left and a server of the release does not look for."""
        is_seen = release not in _IGNORING_CHECKPOINT or self._first_levels(replay, release) is not None
        if is_seen or not replay.is_empty or replay.bootstrap is None:
            return []
        begun = level_name(METADATA_VERSION, release.newest_level)
        left = ", ".join(level_name(name, level) for name, level in replay.bootstrap.items())
        what = f"ignores the records that formatting left ({left}) and begins with {begun} alone"
        return [f"{BOOTSTRAP_SNAPSHOT}: Kafka {release.name} {what}"]

    # ---- changes

    def _add_changes(self, log: StartLog) -> None:
        last = max((segment.base_offset for segment in (*log.kept, *(segment for segment, _ in log.dropped))), default=0)
        for segment in log.kept:
            if segment.split_at is not None:
                what = segment.split_at
                self._add(segment, "split", what.position, what.base_offset, (1, what.record_count), loses=True, reason=segment.reason)
                self._verdict.unnoticed.append(f"{os.path.basename(segment.path)}: the log jumps to offset {what.base_offset}")
            elif segment.valid_size < segment.size:
                self._cut(segment, is_last=segment.base_offset == last)
        for segment, reason in log.dropped:
            if segment.size or os.path.exists(segment.path):
                self._drop(segment, reason)
        for name, reason in log.dropped_files:
            path = os.path.join(self._directory, name)
            self._verdict.changes.append(
                Change(file=path, action="delete", position=0, bytes=os.path.getsize(path) if os.path.isfile(path) else 0, reason=reason)
            )

    def _cut(self, segment: Segment, *, is_last: bool) -> None:
        contents = _Contents(segment.path, segment.valid_size, self._covered)
        offset = segment.next_offset
        loses = bool(contents.lost) or not (is_last and contents.is_torn)
        if contents.lost:
            self._lost += contents.lost
        elif loses and not contents.is_zero:
            self._verdict.lost.append(f"{segment.size - segment.valid_size} bytes of {os.path.basename(segment.path)} that are not a batch")
        else:
            loses = False
        self._add(segment, "cut", segment.valid_size, offset, contents.counts, loses=loses, reason=segment.reason)

    def _drop(self, segment: Segment, reason: str) -> None:
        contents = _Contents(segment.path, 0, self._covered)
        self._lost += contents.lost
        self._add(segment, "delete", 0, segment.base_offset, contents.counts, loses=bool(contents.lost), reason=reason)

    def _add(
        self, segment: Segment, action: Action, position: int, offset: int, counts: tuple[int, int], *, loses: bool, reason: str
    ) -> None:
        self._verdict.changes.append(
            Change(
                file=segment.path,
                action=action,
                position=position,
                bytes=segment.size - position,
                offset=offset,
                batches=counts[0],
                records=counts[1],
                loses=loses,
                reason=reason,
            )
        )

    @property
    def _covered(self) -> int:
        """Offsets below this one are in a snapshot that the server loads."""
        snapshot = self._start.log.snapshot
        return 0 if snapshot is None else snapshot.offset

    # ---- what is gone already

    def _add_missing(self, log: StartLog) -> None:
        lost = self._verdict.lost
        if not log.knows_vote:
            lost.append(f"the vote of this node, which may then vote twice: {QUORUM_STATE} is missing, or older than the log")
        if self._lost:
            return
        is_new = log.snapshot == BOOTSTRAP_SNAPSHOT_ID  # what formatting leaves, and nothing else
        is_empty = log.end_offset == 0 and not is_new and not os.path.exists(os.path.join(self._directory, QUORUM_STATE))
        if is_empty and os.path.isdir(self._directory):
            lost.append(f"all of the log: {METADATA_DIRECTORY} is empty, and a new one would begin at offset 0")
        elif log.end_offset == 0 and os.path.exists(os.path.join(self._directory, QUORUM_STATE)):
            lost.append("all of the log: there is no segment, and a new one would begin at offset 0")
        for offset, what in self._promised():
            if offset > log.end_offset:
                lost.append(f"offsets {log.end_offset} to {offset - 1}, according to {what}: the log ends at {log.end_offset}")

    def _promised(self) -> list[tuple[int, str]]:
        """Offsets that the log had reached by what other files say."""
        found = []
        try:
            entries = read_leader_epochs(os.path.join(self._directory, LEADER_EPOCH_CHECKPOINT))
        except (OSError, LogCorruptError):
            entries = ()
        found += [(entry.start_offset, f"epoch {entry.epoch} in {LEADER_EPOCH_CHECKPOINT}") for entry in entries[-1:]]
        names = os.listdir(self._directory) if os.path.isdir(self._directory) else []
        stems = [name.removesuffix(".snapshot") for name in names if name.endswith(".snapshot")]
        found += [(int(stem), f"{stem}.snapshot") for stem in sorted(stems) if len(stem) == 20]
        return found


class _Contents:
    """What lies in a file from a byte on: sound batches, and the offsets of those, and of damaged ones, that no snapshot covers."""

    def __init__(self, path: str, position: int, covered: int) -> None:
        self.counts = 0, 0
        self.lost: list[tuple[int, int]] = []
        self.is_torn = False
        self.is_zero = False
        if not os.path.isfile(path):
            return
        with open_regular(path) as file:
            self._read(file, position, covered)

    def _read(self, file: RegularFile, position: int, covered: int) -> None:
        batches = records = 0
        for number, item in enumerate(read_batches(file, start=position)):
            if isinstance(item, Tail):
                self.is_zero = item.kind == "zero-tail"
                self.is_torn = number == 0 and item.may_be_tail
                if item.behind is not None:
                    rest = _Contents(file.name, item.behind, covered)
                    batches, records = batches + rest.counts[0], records + rest.counts[1]
                    # The batch whose length is wrong reaches to the next one.
                    first = covered if item.offset is None else max(item.offset, covered)
                    self.lost += [(first, rest.lost[-1][1])] if rest.lost and first <= rest.lost[-1][1] else rest.lost
                break
            header = item.batch.header if isinstance(item, BadBatch) else item.header
            if not isinstance(item, BadBatch):
                batches += 1
                records += max(header.count, 0)
            if header.last_offset >= covered:
                self.lost.append((max(header.base_offset, covered), header.last_offset))
        self.counts = batches, records


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of offsets, those that touch made one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def _reason(end: Ends) -> str:
    place = f"byte {end.position}: " if end.position >= 0 else ""
    return f"{end.file}: {place}{end.reason}"
