"""Copies of logs, whole or not, rolled anywhere, in any order and number: a lake has each record that came, once."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from metashell.tables.lake.append import AppendOptions, plan_only
from metashell.tables.lake.appends import read_state
from metashell.tables.stores import open_store
from tests.quick import quick
from tests.tables.lake.lakes import DAY, START, commits, left_over, node, rows, run, segment, some_seeds, topics

Key = tuple[str, int, str]
METADATA, OFFSETS = "__cluster_metadata-0", "__consumer_offsets-3"
TABLES = {METADATA: "topic", OFFSETS: "offset_commit"}


class World:
    """Logs of two clusters' nodes, which only grow, and what a lake was given of them."""

    def __init__(self, place: Path, rng: Random) -> None:
        self.place, self.rng = place, rng
        self.count = 0
        self.batches: dict[Key, list[tuple[int, int, bytes]]] = {}
        self.given: dict[Key, set[int]] = {}
        self.covered: dict[Key, set[int]] = {}
        for cluster, node_id in (("a", 1), ("a", 2), ("b", 1)):
            for log in (METADATA, OFFSETS):
                self.batches[cluster, node_id, log] = self._batches(log)
                self.given[cluster, node_id, log] = set()
                self.covered[cluster, node_id, log] = set()

    def _batches(self, log: str) -> list[tuple[int, int, bytes]]:
        found, end, epoch = [], 0, 1
        while end < 30:
            epoch += self.rng.random() < 0.2
            count = self.rng.choice((1, 2)) if log == METADATA else 1
            time = START + end * DAY // 8
            made = topics(end, count, epoch=epoch, time=time) if log == METADATA else commits(end, count, epoch=epoch, time=time)
            found.append((end, end + count, made))
            end += count
        return found

    def dump(self, key: Key) -> Path:
        """A copy of a log as it was at some moment; gives its folder, or one of its files."""
        cluster, node_id, log = key
        rng, self.count = self.rng, self.count + 1
        top = self.place / f"dump-{self.count}"
        metadata = node(top, node_id, cluster)
        folder = metadata.parent / log
        folder.mkdir(exist_ok=True)
        held = self.batches[key][: rng.randrange(1, len(self.batches[key]) + 1)]
        behind = self.batches[key][len(held) : len(held) + 1]
        if log == METADATA and rng.random() < 0.5:
            # A node whose oldest segments are gone: what is left follows what the lake has.
            known = max(self.given[key], default=-1) + 1
            held = [each for each in held if each[1] > min(known, rng.randrange(30))]
        if log == OFFSETS and rng.random() < 0.5:
            held = [each for each in held if rng.random() < 0.6]  # compaction
        if not held:
            held = self.batches[key][:1]
        cuts = sorted({0, *(rng.randrange(len(held)) for _ in range(rng.randrange(4)))})
        parts = [held[start:end] for start, end in zip(cuts, [*cuts[1:], len(held)], strict=True)]
        if log == OFFSETS and len(parts) > 1 and rng.random() < 0.5:
            parts.pop(rng.randrange(len(parts)))  # a segment that nobody copied
        is_torn = log == METADATA and bool(behind) and rng.random() < 0.3
        for number, part in enumerate(parts):
            data = b"".join(made for _, _, made in part)
            if is_torn and number == len(parts) - 1:
                data += behind[0][2][: rng.randrange(1, len(behind[0][2]))]
            (folder / segment(part[0][0])).write_bytes(data)
        path = top
        if len(parts) == 1 and not is_torn:
            if rng.random() < 0.4:
                path = folder / segment(parts[0][0][0])
            elif (
                log == METADATA
                and rng.random() < 0.3
                and not self.given[key] & {offset for at, end, _ in held for offset in range(at, end)}
            ):
                path = folder / f"{segment(parts[0][0][0])}.gz"
                (folder / segment(parts[0][0][0])).replace(folder / "plain")
                path.write_bytes(gzip.compress((folder / "plain").read_bytes()))
                (folder / "plain").unlink()
        for part in parts:
            self._give(key, part)
        return path

    def _give(self, key: Key, part: list[tuple[int, int, bytes]]) -> None:
        """Note what the lake has to take of a segment: what is new, and that nothing is missing between two new batches."""
        known, begin = self.covered[key], -1
        for at, end, _ in part:
            if known.issuperset(range(at, end)):
                begin = -1
                continue
            self.given[key] |= {*range(at, end)}
            begin = at if begin < 0 else begin
            self.covered[key] = self.covered[key] | {*range(begin, end)}


def found_in(out: Path) -> Counter[tuple[str, str, int]]:
    tables = {log: table for log, table in TABLES.items() if (out / table).exists()}
    return Counter((log, row["cluster_id"], row["offset"]) for log, table in tables.items() for row in rows(out, table))


@pytest.mark.parametrize("seed", quick(some_seeds(6), 3))
def test_a_lake_has_each_record_that_came_once(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    world, out = World(tmp_path, rng), tmp_path / "lake"
    before = Counter[tuple[str, str, int]]()
    for _ in range(6):
        keys = rng.choices(sorted(world.batches), k=rng.choice((1, 2, 3)))
        paths = [world.dump(key) for key in keys]
        paths += rng.choices(paths, k=rng.choice((0, 0, 1)))
        options: dict[str, Any] = {"target_bytes": rng.choice((200, 1000, 1 << 25))}
        if rng.random() < 0.3:
            paths = [f"file://{path}" for path in paths]  # type: ignore[misc]
        planned = plan_only(AppendOptions(paths=tuple(map(str, paths)), out=str(out)))
        report = run(out, *paths, **options)
        wanted = Counter((log, cluster, offset) for (cluster, _, log), offsets in world.given.items() for offset in offsets)
        found = found_in(out)
        assert found == wanted
        assert sum(report.rows.get(table, 0) for table in TABLES.values()) == (found - before).total()
        assert bool(planned.plan.tasks) == (found != before)
        assert left_over(out) == []
        files = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        assert run(out, *paths).rows == {}
        assert files == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        before = found
    state = read_state(open_store(str(out)))
    covered = {(key.cluster, int(key.node), key.log): log.offsets for key, log in state.logs.items()}
    assert {key: {offset for span in spans for offset in range(*span)} for key, spans in covered.items()} == {
        key: offsets for key, offsets in world.covered.items() if offsets
    }
    assert state.rows.get("topic", 0) + state.rows.get("offset_commit", 0) == before.total()
