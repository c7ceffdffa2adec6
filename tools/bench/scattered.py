"""A snapshot whose partitions are placed at random: hardly two of a million have the same replicas, unlike those of one controller.

It is the worst case for what remembers how partitions look; `tools.bench shell` measures it beside the usual one.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from struct import Struct

from metashell.codec.batches import CRC_START, HEADER_SIZE, read_batch_header, walk_records
from metashell.codec.primitives import crc32c
from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, load_image

_PARTITION = 3
_ARRAYS_AT = 23
"""Where the replicas of a partition record begin in its value: after frame, type, version, partition id and topic id."""
_ID = Struct(">i")
_CRC = Struct(">I")
_CRC_AT = CRC_START - _CRC.size


def scattered(snapshot: Path, seed: int = 1) -> Path:
    """The same snapshot with every partition on brokers and directories drawn at random, beside it in a folder of its own."""
    folder = snapshot.parent.with_name(f"{snapshot.parent.name}-scattered")
    target = folder / snapshot.name
    if not (folder / "complete").exists():
        folder.mkdir(exist_ok=True)
        with open_source(str(snapshot)) as source:
            image = load_image(source)
        target.write_bytes(_scatter(bytearray(snapshot.read_bytes()), image, random.Random(seed)))
        (folder / "complete").touch()
    return target


def _scatter(data: bytearray, image: MetadataImage, rng: random.Random) -> bytearray:
    places = [(_ID.pack(id), broker.directories) for id, broker in sorted(image.cluster.brokers.items())]
    at = 0
    while at < len(data):
        header = read_batch_header(data[at : at + HEADER_SIZE])
        end = at + header.size_bytes
        if not header.is_control:
            batch = bytes(data[at:end])
            for fields in walk_records(batch, HEADER_SIZE, len(batch), header.count):
                if batch[fields[4] + 1] == _PARTITION:
                    _place(data, at + fields[4] + _ARRAYS_AT, places, rng)
        data[at + _CRC_AT : at + CRC_START] = _CRC.pack(crc32c(bytes(data[at + CRC_START : end])))
        at = end
    return data


def _place(data: bytearray, at: int, places: list[tuple[bytes, tuple[bytes, ...]]], rng: random.Random) -> None:
    """Write other replicas, as many in sync as there were, the first as leader, and a directory for each."""
    chosen = rng.sample(places, data[at] - 1)
    ids = b"".join(id for id, _ in chosen)
    data[at + 1 : at + 1 + len(ids)] = ids
    at += 1 + len(ids)
    in_sync = (data[at] - 1) * _ID.size
    data[at + 1 : at + 1 + in_sync] = ids[:in_sync]
    at += 1 + in_sync + 2  # none removed, none added
    data[at : at + _ID.size] = ids[: _ID.size]
    at += 3 * _ID.size  # leader and two epochs
    directories = b"".join(rng.choice(own) for _, own in chosen)
    data[at + 1 : at + 1 + len(directories)] = directories


if __name__ == "__main__":
    print(scattered(Path(sys.argv[1])))
