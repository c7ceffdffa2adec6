"""The plan of an append: what the given files have that a lake lacks, as splits, and what it will cover then.

A segment that was read whole and does not hold the end of what the lake has is known by its name and not opened. Of any other file
- nothing is read if it is as it was when it was last read;
- what follows its last known batch is read if it has grown since;
- all is read if it is new and begins where the lake's log ends, or later;
- else each batch is compared with the offsets of the lake: a compacted file, an older dump, other segments of the same log.

The metadata log is never rewritten in place: if a batch is not the one that the lake knows at its offsets, the log was cut and written
anew, or is another one, and nothing is written. In a compacted log only epochs show that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, zip_longest

from metashell.common.errors import UsageError
from metashell.common.uris import errors_without_credentials, folder_of
from metashell.disk.files import OpenFile
from metashell.disk.inputs import InputFile
from metashell.disk.names import METADATA, LogKind, parse_name
from metashell.disk.segment import may_lack_batches
from metashell.tables.input_files import input_files, is_read_once, open_input
from metashell.tables.lake.input_conflicts import (
    Batches,
    BatchJudge,
    InputConflicts,
    LakeGaps,
    directory_of,
    disk_conflict,
    is_as_read,
    log_of_file,
    names_of,
    open_to_plan,
    packed_conflict,
    seal_of,
    topic_conflict,
    topic_of,
    up_to_committed,
    up_to_last_stable,
)
from metashell.tables.lake.log_state import Anchor, Epochs, FileMark, LogKey, Logs, LogState, checkpoint_end
from metashell.tables.lake.remote_probe import batch_at, hop_over_batches, probe_remote_file, visit_batches
from metashell.tables.splits import FILE_COST_BYTES, TARGET_BYTES, Piece, Split, file_pieces, require_logs


@dataclass(frozen=True, slots=True)
class Task:
    """The input of one task: a split, and the log of each of its pieces."""

    split: Split
    logs: tuple[LogKey, ...]


@dataclass(slots=True)
class Plan:
    """The plan of an append: its tasks, and what they cover by log.

    `cut` has by log the offset from which its rows are removed first. `notes` are lines that the operator should see. `seen` are the logs
    of the files, `known_count` the number of files that add nothing.
    """

    tasks: list[Task] = field(default_factory=list)
    logs: Logs = field(default_factory=dict)
    cut: dict[LogKey, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seen: set[LogKey] = field(default_factory=set)
    file_count: int = 0
    known_count: int = 0

    @property
    def bytes(self) -> int:
        return sum(task.split.bytes for task in self.tasks)


@errors_without_credentials()
def plan_append(
    covered: Logs,
    paths: Sequence[str],
    *,
    log: LogKind | None = None,
    target_bytes: int = TARGET_BYTES,
    named_tables: Iterable[str] = (),
    replaces: bool = False,
    guesses: bool = False,
    is_committed_only: bool = False,
) -> Plan:
    """Plan an append of what `paths` have and the lake lacks. With `guesses`, new files in a store are not read: tasks prove the plan.

    With `is_committed_only`, a metadata log is read up to its newest checkpoint, behind which nothing says what is committed.
    With `replaces`, rows of the lake that contradict an input are removed, from the first offset at which the two differ.
    Errors: UsageError for a path that cannot be opened or stands for no log, and for a log that contradicts the lake, naming the file
    and the offset.
    """
    listed = [file for path in paths for file in input_files(path, log)]
    planner = Planner(covered, target_bytes, replaces=replaces, guesses=guesses)
    keys = planner.keys_of(listed)
    stable = up_to_last_stable(listed, keys, {} if replaces else covered)
    if is_committed_only:
        stable = up_to_committed(stable, [file for path in paths for file in input_files(path, log, every_checkpoint=True)])
    planner.ends_at, listed, keys = stable.ends_at, stable.files, stable.keys
    planner.plan.seen.update(stable.held)
    planner.plan.notes += stable.held.values()
    if replaces:
        planner.cut_contradicted(listed, keys)
    planner.plan.seen.update(keys)
    for (file, key), following in zip_longest(zip(listed, keys, strict=True), zip(listed[1:], keys[1:], strict=True)):
        if not (following and following[1] == key and planner.is_passed(file, key, following[0])):
            planner.add(file, key)
    planner.finish()
    require_logs({file.log for file in listed}, named_tables, paths)
    return planner.plan


class Planner:
    """Plans file by file, so that a second copy of a log in one run adds nothing either."""

    def __init__(self, covered: Logs, target_bytes: int, *, replaces: bool = False, guesses: bool = False) -> None:
        self.plan = Plan()
        self._covered = dict(covered)
        self._replaces = replaces
        self._guesses = guesses
        self._now: Logs = {}
        self._target_bytes = target_bytes
        self._pieces: list[tuple[Piece, LogKey]] = []
        self._weight = 0
        self._read: set[tuple[LogKey, str]] = set()
        self._ends: dict[tuple[LogKey, str], int] = {}
        self._reached: dict[LogKey, int] = {}
        self._unproved: dict[LogKey, tuple[str, str]] = {}
        self._topics: dict[str, str] = {}
        self._given = InputConflicts()
        self.ends_at: dict[str, int] = {}

    def keys_of(self, files: Sequence[InputFile]) -> list[LogKey]:
        """Return the log of each file. Errors: UsageError for what can be read only once."""
        for file in files:
            if is_read_once(file.path):
                raise UsageError(f"{file.path}: can be read only once, so nothing can say what of it a lake has: give a file", file.path)
        return [log_of_file(file, partial(open_input, file.path, strict=True)) for file in files]

    def is_passed(self, file: InputFile, key: LogKey, following: InputFile) -> bool:
        """Return whether a segment need not be opened: it was read, the next one begins within what the lake has, and it holds neither
        the beginning of its log nor the end of what the lake has.
        """
        known, folder = self._covered.get(key), folder_of(file.path)
        if known is None or file.checkpoint or folder_of(following.path) != folder or (key, folder) not in self._ends:
            return False
        name, after = (parse_name(names_of(each.path)[1]) for each in (file, following))
        mark = known.files.get(names_of(file.path)[1])
        if name is None or after is None or name.base_offset is None or after.base_offset is None or mark is None:
            return False
        if mark.last.last + 1 != after.base_offset:
            return False  # the segment ends elsewhere now, or compaction removed its end
        if mark.last.last == max(known.anchors, default=-1) or not known.offsets.has(name.base_offset, after.base_offset):
            return False
        self.plan.file_count += 1
        self.plan.known_count += 1
        self._ends[key, folder] = after.base_offset
        self._read.discard((key, folder))
        return True

    def add(self, file: InputFile, key: LogKey) -> None:
        """Plan what is new in a file."""
        self.plan.file_count += 1
        now = self._state_of(key)
        is_new = self._add_checkpoint(file, key, now) if file.checkpoint else self._add_segment(file, key, now)
        self.plan.known_count += not is_new

    def finish(self) -> None:
        """Plan what is gathered, and say what the operator should know."""
        self._flush()
        for key, (path, directory) in self._unproved.items():
            if key not in self._covered:
                raise disk_conflict(path, directory, *self._given.elsewhere(key, directory))
            raise UsageError(
                f"{path}: the lake has {key} from a disk with another directory.id, and nothing here shows that it is the same log: "
                "--replace adds what is new in it",
                path,
            )
        for key, end in sorted(self._reached.items()):
            before = self._covered.get(key)
            if before is not None and end < before.offsets.end:
                self.plan.notes.append(f"{key}: ends at offset {end - 1}, the lake has it up to {before.offsets.end - 1}")

    def _state_of(self, key: LogKey) -> LogState:
        if key not in self._now:
            self._now[key] = self._covered[key].copy() if key in self._covered else LogState()
        return self._now[key]

    # ---- checkpoints

    def _add_checkpoint(self, file: InputFile, key: LogKey, now: LogState) -> bool:
        """Plan a checkpoint if it stands for offsets that the lake lacks, as it repeats the log before it. Return whether it is read."""
        name = file.checkpoint
        stands_for = checkpoint_end(name)
        known = now.offsets.copy()
        for start, end in now.stood_for:
            known.add(start, end)
        if name in now.checkpoints or (stands_for > 0 and known.has(0, stands_for)):
            return False
        version = seal_of(file)
        for piece in file_pieces(file, self._target_bytes):
            self._gather(replace(piece, seal=(version, ())), key)
        found = LogState(checkpoints=[name], directory=directory_of(file))
        found.stood_for.add(0, stands_for)
        self._note(key, found)
        return True

    # ---- segments

    def _add_segment(self, file: InputFile, key: LogKey, now: LogState) -> bool:
        if file.log != METADATA and (given := self._given.elsewhere(key, found_in := self._directory_of(file, key)))[0]:
            raise topic_conflict(file.path, found_in, *given)
        if not self._replaces and self._is_of_another_topic(file, key, now):
            raise UsageError(
                f"{file.path}: topic id {self._directory_of(file, key)}, the lake has {key} of topic id {now.directory}: the topic was "
                "created anew; --replace removes what the lake has of the old one, and writes what is here",
                file.path,
            )
        with open_to_plan(file) as opened:
            version = seal_of(file, opened)
            size = opened.size()
            if size is None:
                return self._add_packed(file, key, now, version)
            size = min(size, self.ends_at.get(file.path, size))
            found = self._ranges(file, opened, size, now, key)
        self._judge_disk(file, key, now, found)
        self._reached[key] = max(self._reached.get(key, 0), found.reached)
        place = key, folder_of(file.path)
        if not found.ranges:
            self._read.discard(place)
            return False
        told = [fault for fault in file.passed_over if str(fault) not in now.passed_over]
        found.covered.passed_over = [str(fault) for fault in told]
        for start, end in found.ranges:
            is_last = end == found.ranges[-1][1]
            piece = _piece(file, start, end, size=end if is_last else size)
            piece = replace(piece, seal=(version, found.batches.get(start, ())), is_guessed=found.is_guessed)
            if start == found.ranges[0][0]:
                begins_by = file.begins_by if start == 0 and file.begins_by is not None else found.begins_by
                if begins_by is not None and begins_by < (base := found.covered.offsets.start):
                    lacking = now.offsets.missing(begins_by, base)
                    begins_by = lacking[0][0] if lacking else base
                if start == 0 and place in self._read:
                    begins_by = None  # who reads the file before looks at the first batch of this one
                piece = replace(piece, begins_by=begins_by, passed_over=tuple(told))
            self._gather(piece, key)
        self._read.add(place)
        self._note(key, found.covered, file.path)
        return True

    def _ranges(self, file: InputFile, opened: OpenFile, size: int, now: LogState, key: LogKey) -> _Found:
        first = batch_at(opened, 0)
        name = names_of(file.path)[1]
        mark = now.files.get(name)
        judge = BatchJudge(file, now, may_fall=self._replaces)
        if mark is not None and first is not None and is_as_read(opened, mark, size):
            judge.is_proved = True
            self._ends[key, folder_of(file.path)] = mark.last.last + 1
            if size in (mark.size, mark.end):
                return _Found(reached=mark.last.last + 1, is_proved=True)
            if mark.last.last + 1 >= now.offsets.end:
                return self._all_from(file, opened, size, mark.end, mark.first, key)
            # What is behind it may have been in other segments: a disk that was set up anew gets its log from another node.
        if first is None or first[0].base >= now.offsets.end:
            return self._all_from(file, opened, size, 0, None if first is None else first[0], key)
        return self._batch_by_batch(file, opened, size, now, judge, key)

    def _all_from(self, file: InputFile, opened: OpenFile, size: int, start: int, first: Anchor | None, key: LogKey) -> _Found:
        """Everything behind a place that is known to start a batch."""
        walked = (probe_remote_file(opened, start, size, self._target_bytes) if self._guesses else None) or hop_over_batches(
            opened, start, size, self._target_bytes
        )
        end = walked.end if file.may_end_early else size
        if walked.position < 0:
            # Not one whole batch: the reader says what it is, unless it may be a write that is not done yet.
            is_nothing = start == size > 0 or (size == 0 and may_lack_batches(file.log))
            ranges = [] if file.may_end_early or is_nothing else [(start, size)]
            return _Found(ranges=ranges, reached=0 if first is None else first.base)
        begin, last = batch_at(opened, start), batch_at(opened, walked.position)
        found = _Found(reached=0, is_proved=start > 0)
        cuts = [start, *walked.cuts, end]
        found.is_guessed = walked.is_guessed
        if begin is None or last is None:
            found.add(cuts, ())
        else:
            found.add(cuts, ((start, begin[0]), (walked.position, last[0])))
            found.begins_by = self._follows(file, key, begin[0].base)
            if not self._replaces and (key, folder_of(file.path)) not in self._read:  # else who reads the file before looks at it
                judge = BatchJudge(file, self._now[key])
                judge.see(begin[0])
                judge.require(self._covered.get(key), self._given, key)
            # What is missing before it may be in another copy, which lacks no segment.
            found.covered.offsets.add(begin[0].base, last[0].last + 1)
            found.covered.epochs = Epochs(walked.epoch_runs(last[0].last + 1))
            found.reached = last[0].last + 1
            found.mark(file, FileMark(size, walked.position, walked.end, first or begin[0], last[0]), begin[0])
            self._ends[key, folder_of(file.path)] = found.reached
        return found

    def _follows(self, file: InputFile, key: LogKey, base: int) -> int:
        """Return the end of the batches before a file's first new one. Compaction leaves gaps there in all logs but the metadata log."""
        before = self._ends.get((key, folder_of(file.path)))
        now = self._now[key]
        if before is None and file.log == METADATA and key in self._covered and 0 < (end := now.offsets.end) < base:
            if lacking := now.stood_for.missing(end, base):
                return lacking[0][0]
            self.plan.notes.append(f"{key}: offsets {end} to {base - 1} are in no log any more: a checkpoint stands for them")
        return base if before is None or not key.node else min(before, base)

    def _batch_by_batch(self, file: InputFile, opened: OpenFile, size: int, now: LogState, judge: BatchJudge, key: LogKey) -> _Found:
        """Return the runs of batches that the lake lacks, of a file of which it has a part."""
        runs = LakeGaps(now, judge)
        end = visit_batches(opened, size, runs.visit)
        judge.require(self._covered.get(key), self._given, key)
        found = _Found(covered=LogState(epochs=runs.epochs), reached=runs.reached, is_proved=judge.is_proved)
        self._ends[key, folder_of(file.path)] = runs.reached
        mark = now.files.get(names_of(file.path)[1])
        for start, until, first, last, position in runs.runs:
            cuts = [start, *hop_over_batches(opened, start, until, self._target_bytes).cuts, until]
            found.add(cuts, ((start, first), (position, last)))
            found.covered.offsets.add(first.base, last.last + 1)
            found.covered.anchors.update({first.last: first, last.last: last})
        if end < size and not file.may_end_early and (mark is None or mark.size != size):
            if found.ranges and found.ranges[-1][1] == end:
                found.ranges[-1] = (found.ranges[-1][0], size)
            else:
                found.ranges.append((end, size))
        if runs.first is not None and runs.last is not None and (found.ranges or mark is not None):
            found.mark(file, FileMark(size, runs.position, end, runs.first, runs.last), runs.first)
        return found

    def _add_packed(self, file: InputFile, key: LogKey, now: LogState, version: str) -> bool:
        """Plan a compressed file, which is read front to back: all of it or nothing. Return whether it is read."""
        judge = BatchJudge(file, now, may_fall=self._replaces)
        runs = LakeGaps(now, judge)
        with open_to_plan(file) as opened:
            visit_batches(opened, -1, runs.visit)
        judge.require(self._covered.get(key), self._given, key)
        self._reached[key] = max(self._reached.get(key, 0), runs.reached)
        if not runs.runs and runs.first is not None:
            return False
        if runs.known is not None:
            if other := self._given.at(key, runs.known):
                raise packed_conflict(file.path, other)
            raise UsageError(
                f"{file.path}: the lake has a part of it, and a compressed file is read as a whole: unpack it first", file.path
            )
        self._gather(replace(_piece(file, 0, -1, size=-1), seal=(version, ())), key)
        found = LogState(directory=self._directory_of(file, key), epochs=runs.epochs)
        for _, _, first, last, _ in runs.runs:
            found.offsets.add(first.base, last.last + 1)
            found.anchors.update({first.last: first, last.last: last})
        self._note(key, found, file.path)
        return True

    def _judge_disk(self, file: InputFile, key: LogKey, now: LogState, found: _Found) -> None:
        """Note a changed disk: one formatted again may hold another log. One batch that the lake knows shows that it does not."""
        directory = self._directory_of(file, key)
        if found.is_proved:
            self._unproved.pop(key, None)
            now.directory = directory or now.directory
        elif directory and now.directory and directory != now.directory and not self._replaces:
            self._unproved[key] = file.path, directory
        found.covered.directory = directory

    def _directory_of(self, file: InputFile, key: LogKey) -> str:
        """Return the id of what the log lies in: of a disk's directory, or of a topic; empty where nothing says it."""
        if file.log == METADATA or not key.node:
            return directory_of(file)
        folder = folder_of(file.path)
        if folder not in self._topics:
            self._topics[folder] = topic_of(file)
        return self._topics[folder]

    def _is_of_another_topic(self, file: InputFile, key: LogKey, known: LogState) -> bool:
        """Return whether the log is one of a topic that has the name of the lake's: its batches do not tell."""
        return file.log != METADATA and "" not in (known.directory, found := self._directory_of(file, key)) and found != known.directory

    # ---- what was found

    def _note(self, key: LogKey, found: LogState, path: str = "") -> None:
        if path:
            self._given.add(key, path, found)
        self._now[key].add(found)
        self.plan.logs.setdefault(key, LogState()).add(found)

    def _gather(self, piece: Piece, key: LogKey) -> None:
        self._pieces.append((piece, key))
        self._weight += max(piece.end - piece.start, 0) + FILE_COST_BYTES
        if self._weight >= self._target_bytes:
            self._flush()

    def _flush(self) -> None:
        if self._pieces:
            self.plan.tasks.append(Task(Split(tuple(piece for piece, _ in self._pieces)), tuple(key for _, key in self._pieces)))
        self._pieces, self._weight = [], 0

    # ---- what contradicts the lake

    def cut_contradicted(self, files: Sequence[InputFile], keys: Sequence[LogKey]) -> None:
        """Forget what the lake has of each log from where it differs. Errors: UsageError where the input could not give that again."""
        for key in dict.fromkeys(keys):
            covered = self._covered.get(key)
            if covered is None:
                continue
            own = [file for file, other in zip(files, keys, strict=True) if other == key]
            self._cut(key, covered, [file for file in own if not file.checkpoint], [file for file in own if file.checkpoint])

    def _cut(self, key: LogKey, covered: LogState, files: list[InputFile], checkpoints: list[InputFile]) -> None:
        begins, good, is_contradicted = None, 0, False
        for file in files:
            judge = BatchJudge(file, covered)
            with open_to_plan(file) as opened:
                size = opened.size()
                runs = LakeGaps(covered, judge)
                visit_batches(opened, -1 if size is None else size, runs.visit)
            if runs.first is not None:
                begins = runs.first.base if begins is None else min(begins, runs.first.base)
            good = max(good, judge.good_to)
            is_contradicted |= judge.fault is not None
        if begins is not None and any(self._is_of_another_topic(file, key, covered) for file in files):
            good, is_contradicted = 0, True
        if not is_contradicted:
            return
        assert begins is not None
        lost = [(max(start, good), min(end, begins)) for start, end in covered.offsets if end > good and max(start, good) < begins]
        unused = [name for name in covered.checkpoints if checkpoint_end(name) > good]
        if begins > 0 and unused and not any(checkpoint_end(file.checkpoint) >= begins for file in checkpoints):
            lost += [(0, checkpoint_end(unused[0]))]
        if lost:
            raise UsageError(
                f"{files[0].path}: begins at offset {begins}, and nothing in it is as the lake has it: offsets {lost[0][0]} to "
                f"{lost[-1][1] - 1} of {key} would be lost; name another --out",
                files[0].path,
            )
        self.plan.cut[key] = good
        self.plan.notes.append(f"{key}: differs from what the lake has from offset {good} on: that is removed, and written anew")
        kept = covered.copy()
        kept.remove_from(good)
        self._covered[key] = kept


@dataclass(slots=True)
class _Found:
    """The new part of a file: ranges of bytes, for the start of each the batches that identify it, and the offsets they cover.

    `reached` is the offset after the last batch; the first new batch has to begin at or before the offset `begins_by`.
    """

    ranges: list[tuple[int, int]] = field(default_factory=list)
    batches: dict[int, Batches] = field(default_factory=dict)
    covered: LogState = field(default_factory=LogState)
    reached: int = 0
    is_proved: bool = False
    is_guessed: bool = False
    begins_by: int | None = None

    def add(self, cuts: Sequence[int], batches: Batches) -> None:
        """Add the ranges between some places."""
        self.ranges += pairwise(cuts)
        self.batches.update((start, batches) for start in cuts[:-1])

    def mark(self, file: InputFile, mark: FileMark, begin: Anchor) -> None:
        self.covered.files[names_of(file.path)[1]] = mark
        self.covered.anchors.update({begin.last: begin, mark.first.last: mark.first, mark.last.last: mark.last})


def _piece(file: InputFile, start: int, end: int, *, size: int) -> Piece:
    return Piece(
        path=file.path,
        log=file.log or METADATA,
        cluster_id=file.cluster_id,
        start=start,
        end=end,
        size=size,
        may_end_early=file.may_end_early,
        checkpoint=file.checkpoint,
        next_path=file.next_path if end == size else "",
    )
