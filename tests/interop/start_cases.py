"""Damaged log directories, made systematically: sound ones of several kinds, and what is done to each in one place or two."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from struct import pack

from metashell.codec.batch_writer import SNAPSHOT_HEADER
from metashell.codec.registry import message_type
from tests.inspect.verify.making import control, data_batch, leader_change, metadata_value
from tests.interop.start_bases import (
    CHECKPOINT,
    CLUSTER_ID,
    ELECTION,
    IDENTITY,
    LOG,
    TOPIC_ID_FILE,
    checkpoint,
    checkpoint_parts,
    epoch_cache,
    topic_values,
)

Damage = Callable[[Path], object]
"""Changes a metadata directory in place."""

# ---- what is done to a file


def flip(name: str, at: int, bit: int = 0) -> Damage:
    def damage(place: Path) -> None:
        data = bytearray((place / name).read_bytes())
        data[at] ^= 1 << bit
        (place / name).write_bytes(data)

    return damage


def change(name: str, make: Callable[[bytes], bytes]) -> Damage:
    return lambda place: (place / name).write_bytes(make((place / name).read_bytes()))


def put(name: str, data: bytes | str) -> Damage:
    return lambda place: (place / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def remove(*names: str) -> Damage:
    def damage(place: Path) -> None:
        for name in names:
            (place / name).unlink()

    return damage


def rename(old: str, new: str) -> Damage:
    return lambda place: (place / old).rename(place / new)


def both(*damages: Damage) -> Damage:
    def damage(place: Path) -> None:
        for each in damages:
            each(place)

    return damage


def folder_for(name: str) -> Damage:
    return both(lambda place: (place / name).unlink(missing_ok=True), lambda place: (place / name).mkdir())


def above(damage: Damage) -> Damage:
    """The same of a file of the log directory."""
    return lambda place: damage(place.parent)


def renamed_segment(number: int, base: int) -> Damage:
    return both(*(rename(LOG.name(number, suffix), f"{base:020d}.{suffix}") for suffix in ("log", "index", "timeindex")))


# ---- the cases

FIELDS = {
    "base-offset-high": 2,
    "base-offset": 7,
    "length-high": 8,
    "length": 11,
    "epoch-high": 12,
    "epoch": 15,
    "magic": 16,
    "crc": 18,
    "attributes": 22,
    "last-offset-delta": 26,
    "timestamp": 38,
    "count": 60,
    "body": 75,
}
PARTS = ("first", "middle", "last")
SMALL = ("leader-epoch-checkpoint", "quorum-state", "partition.metadata")


def cases() -> dict[str, tuple[str, Damage]]:
    """Every case by name: the kind of directory, and the damage."""
    found: dict[str, tuple[str, Damage]] = {}
    for kind in ("log", "middle", "compact", "fresh"):
        found[f"{kind}: sound"] = kind, lambda place: None
    for group in (_segments, _tails, _small_files, _identities, _checkpoints, _names, _records, _orders):
        for kind, name, damage in group():
            assert f"{kind}: {name}" not in found, name
            found[f"{kind}: {name}"] = kind, damage
    return found


Rows = Iterator[tuple[str, str, Damage]]


def _segments() -> Rows:
    for number, part in enumerate(PARTS):
        name, starts = LOG.name(number), LOG.starts(number)
        for at, which in ((0, "first"), (3, "inner"), (len(starts) - 2, "last")):
            for field, offset in FIELDS.items():
                yield "log", f"{part} segment, {which} batch, {field}", flip(name, starts[at] + offset)
        for size in (0, 5, 17, 18, 61, starts[1], starts[3], starts[3] + 30, starts[-1] - 1):
            yield "log", f"{part} segment cut to {size}", change(name, lambda data, size=size: data[:size])
        for suffix in ("index", "timeindex", "txnindex"):
            index = LOG.name(number, suffix)
            if suffix != "txnindex":
                yield "log", f"{part} {suffix} missing", remove(index)
            yield "log", f"{part} {suffix} empty", put(index, b"")
            yield "log", f"{part} {suffix} garbage", put(index, b"x" * 77)
            yield "log", f"{part} {suffix} short", put(index, b"\0" * 13)
        yield "log", f"{part} txnindex of earlier offsets", put(LOG.name(number, "txnindex"), pack(">hqqqq", 0, 1, 2, -5, 4))
        yield "log", f"{part} segment missing", remove(name)
        yield "log", f"{part} segment and indexes missing", remove(name, LOG.name(number, "index"), LOG.name(number, "timeindex"))
        yield "log", f"{part} segment garbage", put(name, b"hello world " * 40)
        yield "log", f"{part} index missing, inner batch damaged", both(remove(LOG.name(number, "index")), flip(name, starts[3] + 75))
    for bit in range(8):
        starts = LOG.starts(1)
        for field in ("magic", "epoch-high", "base-offset", "length-high"):
            yield "log", f"{field} of an inner batch, bit {bit}", flip(LOG.name(1), starts[3] + FIELDS[field], bit)
            yield "log", f"{field} of the last batch of the middle, bit {bit}", flip(LOG.name(1), starts[-2] + FIELDS[field], bit)


def _tails() -> Rows:
    for number, part in enumerate(PARTS):
        name, starts = LOG.name(number), LOG.starts(number)
        tails = {f"{size} zeros": b"\0" * size for size in (1, 17, 18, 61, 5000)}
        tails |= {"garbage": b"garbage that is no batch at all, and long enough to look at", "ff": b"\xff" * 100}
        for what, tail in tails.items():
            yield "log", f"{part} segment with a tail of {what}", change(name, lambda data, tail=tail: data + tail)
        half = starts[3] - starts[2]
        yield "log", f"{part} segment with half a batch", change(name, lambda data, half=half: data + data[: half // 2])
        end = starts[1]
        yield "log", f"{part} segment with its first batch again", change(name, lambda data, end=end: data + data[:end])
        yield (
            "log",
            f"{part} segment with its last batch zeroed",
            change(name, lambda data, at=starts[-2]: data[:at].ljust(len(data), b"\0")),
        )
        middle = starts[3], starts[4]
        hole = change(name, lambda data, middle=middle: data[: middle[0]] + b"\0" * (middle[1] - middle[0]) + data[middle[1] :])
        yield "log", f"{part} segment with an inner batch zeroed", hole


def _small_files() -> Rows:
    second, end = LOG.second_epoch, LOG.end
    epochs = {
        "one epoch": epoch_cache((1, 0)),
        "an epoch at the end": epoch_cache((1, 0), (2, second), (7, end)),
        "an epoch past the end": epoch_cache((1, 0), (2, second), (7, end + 80)),
        "an epoch that is not in the log": epoch_cache((1, 0), (9, 50)),
        "another order": epoch_cache((2, second), (1, 0)),
        "another start": epoch_cache((1, 0), (2, second + 9)),
        "the largest epoch at the end": epoch_cache((2147483647, end)),
        "the largest epoch": epoch_cache((2147483647, 100)),
        "a large epoch": epoch_cache((2147483646, 100)),
        "an epoch below 0": epoch_cache((-1, 0), (2, second)),
        "a version alone": "0\n",
        "no entries": "0\n0\n",
        "another version": "1\n1\n1 0\n",
        "too few entries": "0\n3\n1 0\n2 9\n",
        "too many entries": "0\n1\n1 0\n2 9\n",
        "no number": "0\n1\nx 0\n",
        "no line end": epoch_cache((1, 0), (2, second)).rstrip("\n"),
    }
    elections = {
        "another leader": ELECTION % (5, 9, -1),
        "a vote for itself": ELECTION % (-1, 9, 1),
        "a vote for another": ELECTION % (-1, 9, 5),
        "leader and vote": ELECTION % (1, 9, 1),
        "an old epoch": ELECTION % (1, 1, -1),
        "a new epoch": ELECTION % (-1, 9, -1),
        "the largest epoch": ELECTION % (-1, 2147483647, -1),
        "a large epoch": ELECTION % (-1, 2147483646, -1),
        "an epoch below 0": ELECTION % (-1, -1, -1),
        "an epoch too large": ELECTION % (-1, 2147483648, -1),
        "a fraction": (ELECTION % (-1, 3, -1)).replace(":3,", ":3.5,"),
        "a text": (ELECTION % (-1, 3, -1)).replace(":3,", ':"3",'),
        "null voters": (ELECTION % (1, 2, -1)).replace('[{"voterId":1}]', "null"),
        "no voters": (ELECTION % (1, 2, -1)).replace('"currentVoters":[{"voterId":1}],', ""),
        "voters of another kind": (ELECTION % (1, 2, -1)).replace('[{"voterId":1}]', "[1]"),
        "no version": (ELECTION % (1, 2, -1)).replace(',"data_version":0', ""),
        "version 2": (ELECTION % (1, 2, -1)).replace('"data_version":0', '"data_version":2'),
        "version 1": '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}',
        "version 1 without a directory": '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}',
        "version 1 with a bad directory": '{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"nope","data_version":1}',
        "something behind": (ELECTION % (1, 2, -1)) + " and more",
        "a second line": (ELECTION % (1, 2, -1)) + "\nand more",
        "an empty line first": "\n" + ELECTION % (1, 2, -1),
        "an object": "{}",
        "a list": "[]",
    }
    topics = {
        "another topic": TOPIC_ID_FILE[:-2] + b"ew",
        "no topic": b"version: 0\n",
        "the zero topic": TOPIC_ID_FILE[:-1] + b"A",
        "version 1": TOPIC_ID_FILE.replace(b"0", b"1", 1),
        "one line more": TOPIC_ID_FILE + b"\nmore",
    }
    rows: dict[str, dict[str, str] | dict[str, bytes]] = {SMALL[0]: epochs, SMALL[1]: elections, SMALL[2]: topics}
    for name, contents in rows.items():
        yield "log", f"{name} missing", remove(name)
        for what, content in {"nothing": b"", "garbage": b"garbage", "zeros": b"\0" * 60, **contents}.items():
            yield "log", f"{name} with {what}", put(name, content)
        yield "log", f"{name} is a folder", folder_for(name)
        if name != SMALL[2]:
            yield "compact", f"{name} missing", remove(name)
            yield "compact", f"{name} empty", put(name, b"")


def _identities() -> Rows:
    name = "meta.properties"
    rows = {
        "nothing": "",
        "garbage": "garbage",
        "zeros": "\0" * 40,
        "version 7": IDENTITY.replace("version=1", "version=7"),
        "no version": IDENTITY.replace("version=1\n", ""),
        "version 0": f"version=0\ncluster.id={CLUSTER_ID}\nbroker.id=1\n",
        "version 0 without a node": f"version=0\ncluster.id={CLUSTER_ID}\n",
        "version 0 without a cluster": "version=0\nbroker.id=1\n",
        "another node": IDENTITY.replace("node.id=1", "node.id=2"),
        "no node": IDENTITY.replace("node.id=1\n", ""),
        "a node that is no number": IDENTITY.replace("node.id=1", "node.id=x"),
        "another cluster": IDENTITY.replace(CLUSTER_ID, "other"),
        "no cluster": IDENTITY.replace(f"cluster.id={CLUSTER_ID}\n", ""),
        "an empty cluster": IDENTITY.replace(CLUSTER_ID, ""),
        "no directory": IDENTITY.replace("directory.id=JEXY6aqzQY-32P5TStzaFg\n", ""),
        "another directory": IDENTITY.replace("JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A"),
        "a bad directory": IDENTITY.replace("JEXY6aqzQY-32P5TStzaFg", "nope"),
        "a reserved directory": IDENTITY.replace("JEXY6aqzQY-32P5TStzaFg", "AAAAAAAAAAAAAAAAAAAAAQ"),
        "the last reserved directory": IDENTITY.replace("JEXY6aqzQY-32P5TStzaFg", "AAAAAAAAAAAAAAAAAAAAYw"),
        "the first free directory": IDENTITY.replace("JEXY6aqzQY-32P5TStzaFg", "AAAAAAAAAAAAAAAAAAAAZA"),
    }
    for what, text in rows.items():
        yield "log", f"{name} with {what}", above(put(name, text))
    yield "log", f"{name} missing", above(remove(name))
    yield "fresh", f"{name} missing", above(remove(name))
    for kind in ("log", "fresh"):
        bootstrap = "bootstrap.checkpoint"
        yield kind, f"{bootstrap} missing", above(remove(bootstrap))
        yield kind, f"{bootstrap} garbage", above(put(bootstrap, b"xxx" * 50))
        yield kind, f"{bootstrap} empty", above(put(bootstrap, b""))
        yield kind, f"{bootstrap} cut in its footer", above(change(bootstrap, lambda data: data[:-20]))
        yield kind, f"{bootstrap} cut in its record", above(change(bootstrap, lambda data: data[:-90]))
        second = len(control(0, (SNAPSHOT_HEADER, message_type("control", "SnapshotHeaderRecord").cls()), epoch=0))
        yield kind, f"{bootstrap} with a wrong checksum", above(flip(bootstrap, second + FIELDS["crc"]))
        yield kind, f"{bootstrap} with a damaged record", above(flip(bootstrap, 140))
    yield "log", ".kafka_cleanshutdown garbage", above(put(".kafka_cleanshutdown", b"x"))
    yield "log", "no metadata directory", shutil.rmtree
    yield "log", "an empty metadata directory", lambda place: [path.unlink() for path in place.iterdir()]
    yield (
        "log",
        "no segments",
        lambda place: [path.unlink() for path in place.glob("*[gx]") if path.suffix in (".log", ".index", ".timeindex")],
    )


def _checkpoints() -> Rows:
    parts = checkpoint_parts(16, 2)
    size_of_all = len(b"".join(parts))
    header, head, inner, next_inner = (len(b"".join(parts[:count])) for count in (1, 2, 5, 6))
    for kind in ("middle", "compact"):
        yield kind, "checkpoint missing", remove(CHECKPOINT)
        yield kind, "checkpoint cut between two batches", change(CHECKPOINT, lambda data: data[:inner])
        for size in (0, 5, 16, 17, 18, 60, head, head + 10, head + 17, head + 40, size_of_all - 10, size_of_all - 1):
            yield kind, f"checkpoint cut to {size}", change(CHECKPOINT, lambda data, size=size: data[:size])
        for field, at in FIELDS.items():
            yield kind, f"checkpoint, header, {field}", flip(CHECKPOINT, at)
            yield kind, f"checkpoint, inner batch, {field}", flip(CHECKPOINT, inner + at)
        yield kind, "checkpoint with zeros behind", change(CHECKPOINT, lambda data: data + b"\0" * 100)
        yield kind, "checkpoint with its last batches again", change(CHECKPOINT, lambda data: data + data[-100:])
        yield kind, "checkpoint garbage", put(CHECKPOINT, b"hello world " * 40)
        yield kind, "checkpoint without its header", change(CHECKPOINT, lambda data: data[header:])
        yield kind, "checkpoint without an inner batch", change(CHECKPOINT, lambda data: data[:inner] + data[next_inner:])
        yield kind, "checkpoint marked as deleted", rename(CHECKPOINT, f"{CHECKPOINT}.deleted")
        yield kind, "checkpoint unfinished", rename(CHECKPOINT, f"{CHECKPOINT}.part")
        yield kind, "checkpoint is a folder", folder_for(CHECKPOINT)
        later = f"{LOG.end + 100:020d}"
        for epoch in (1, 2, 3):
            yield kind, f"checkpoint past the log, epoch {epoch}", put(f"{later}-{epoch:010d}.checkpoint", checkpoint(24, epoch))
        yield kind, "checkpoint past the log, garbage", put(f"{later}-0000000002.checkpoint", b"x" * 300)
        inside = f"{LOG.bases[2] + 21:020d}-0000000003.checkpoint"
        yield kind, "checkpoint inside the log, of a later epoch", put(inside, checkpoint(17, 3))
        yield kind, "checkpoint at the log's end", put(f"{LOG.end:020d}-0000000002.checkpoint", checkpoint(24, 2))
        yield kind, "checkpoint before the log", put(f"{1:020d}-0000000001.checkpoint", checkpoint(0, 1))
        yield kind, "a checkpoint that is being written", put(f"{later}-0000000002-123.checkpoint.part", b"xx")
        yield kind, "a checkpoint that is being deleted", put(f"{later}-0000000002.checkpoint.deleted", b"xx")
        yield (
            kind,
            "no segments",
            lambda place: [path.unlink() for path in place.iterdir() if path.suffix in (".log", ".index", ".timeindex")],
        )
        yield kind, "last segment missing", remove(LOG.name(2))
        yield kind, "last segment empty", put(LOG.name(2), b"")
        yield kind, "last segment, first batch damaged", flip(LOG.name(2), 75)
        yield kind, "last segment, inner batch damaged", flip(LOG.name(2), LOG.starts(2)[4] + 75)
    yield "middle", "middle segment, inner batch damaged", flip(LOG.name(1), LOG.starts(1)[3] + 75)
    yield "middle", "middle segment, unknown magic before the checkpoint", flip(LOG.name(1), LOG.starts(1)[3] + 16)


def _names() -> Rows:
    names = ("x.log", "x.index", "x.timeindex", "x.txnindex", "x.snapshot", "x.swap", "x.cleaned", "x.deleted", "x.checkpoint")
    names += ("x.checkpoint.deleted", "x.checkpoint.part", "1-2.checkpoint", "0.log", "9999.log", "README", f"{LOG.name(1)}.bak")
    names += (f"{LOG.name(1)}.deleted", f"{LOG.name(1)}.cleaned", f"{LOG.bases[1]:020d} (1).log", "1234567890123456789012345.log")
    names += (
        f"{9999:020d}.index",
        f"{9999:020d}.snapshot",
        f"{LOG.bases[1]:020d}.snapshot",
        "quorum-state.tmp",
        "leader-epoch-checkpoint.tmp",
    )
    for name in names:
        yield "log", f"a file {name}", put(name, b"some garbage in a file")
    yield "log", "an empty file x.log", put("x.log", b"")
    yield "log", "an empty segment far behind", put(f"{LOG.end + 500:020d}.log", b"")
    yield "log", "an empty segment at the end", put(f"{LOG.end:020d}.log", b"")
    yield "log", "a folder x.log", lambda place: (place / "x.log").mkdir()


def _records() -> Rows:
    good = topic_values(50)[0]
    batch = data_batch(LOG.end, [good], epoch=2)
    old = metadata_value("FeatureLevelRecord", name="metadata.version", feature_level=3)
    rows = {
        "a good record": batch,
        "an unknown type": data_batch(LOG.end, [b"\x01\xff\x7f\x00"], epoch=2),
        "an unknown version": data_batch(LOG.end, [b"\x01\x02\x63" + good[3:]], epoch=2),
        "an unknown frame": data_batch(LOG.end, [b"\x09" + good[1:]], epoch=2),
        "a partition of no topic": data_batch(LOG.end, [topic_values(99)[1]], epoch=2),
        "a topic again": data_batch(LOG.end, [topic_values(1)[0]], epoch=2),
        "a body cut off": data_batch(LOG.end, [good[:-4]], epoch=2),
        "garbage behind the body": data_batch(LOG.end, [good + b"xx"], epoch=2),
        "no value": data_batch(LOG.end, [None], epoch=2),
        "an epoch without a leader": data_batch(LOG.end, [good], epoch=3),
        "an epoch that goes back": data_batch(LOG.end, [good], epoch=1),
        "a metadata.version of old": data_batch(LOG.end, [old], epoch=2),
        "a new leader": leader_change(LOG.end, epoch=3),
        "a gap before": data_batch(LOG.end + 5, [good], epoch=2),
        "a step back before": data_batch(LOG.end - 5, [good], epoch=2),
    }
    for what, tail in rows.items():
        yield "log", f"last batch with {what}", change(LOG.name(2), lambda data, tail=tail: data + tail)


def _orders() -> Rows:
    starts = LOG.starts(1)
    yield "log", "a batch missing in the middle", change(LOG.name(1), lambda data: data[: starts[2]] + data[starts[3] :])
    swapped = change(
        LOG.name(1), lambda data: data[: starts[1]] + data[starts[2] : starts[3]] + data[starts[1] : starts[2]] + data[starts[3] :]
    )
    yield "log", "two batches swapped", swapped
    early = starts[3]
    yield "log", "early batches again, at the end of the middle", change(LOG.name(1), lambda data: data + data[:early])
    yield "log", "early batches again, in the last", change(LOG.name(2), lambda data: data + data[: LOG.starts(2)[4]])
    yield "log", "middle segment named later", renamed_segment(1, LOG.bases[1] + 6)
    yield "log", "middle segment named earlier", renamed_segment(1, LOG.bases[1] - 4)
    yield "log", "last segment named far behind", renamed_segment(2, 10_000)
    yield "log", "last segment named far ahead", renamed_segment(2, LOG.bases[1] + 3)
    yield "compact", "last segment named later", renamed_segment(2, LOG.bases[2] + 6)


def random_case(seed: int) -> tuple[str, Damage]:
    """One or two random changes of random files; the same for each seed."""
    chance = Random(seed)
    kind = chance.choice(("log", "log", "middle", "compact"))

    def damage(place: Path) -> None:
        for _ in range(chance.choice((1, 1, 2))):
            weighty = [path for path in sorted(place.iterdir()) if path.is_file() and path.suffix in (".log", ".checkpoint")]
            files = [path for path in sorted(place.iterdir()) if path.is_file()]
            _damage_file(chance.choice(weighty if weighty and chance.random() < 0.8 else files), chance)

    return kind, damage


def _damage_file(path: Path, chance: Random) -> None:
    data = path.read_bytes()
    at = chance.randrange(len(data) + 1)
    size = chance.choice((1, 4, 61, 500, 2000))
    match chance.randrange(7):
        case 0 if data:
            changed = bytearray(data)
            changed[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
        case 1:
            path.write_bytes(data[:at])
        case 2:
            path.write_bytes(data[:at] + b"\0" * min(size, len(data) - at) + data[at + size :])
        case 3:
            path.write_bytes(data[:at] + chance.randbytes(min(size, len(data) - at)) + data[at + size :])
        case 4:
            path.write_bytes(data + data[at : at + size])
        case 5:
            path.write_bytes(data[:at] + data[at + size :])
        case _:
            path.unlink()
