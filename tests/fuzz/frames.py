"""Sound raft frames, and ways to spoil them."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.net.frames import encode_request, frame
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.wire import OURS, UnsupportedVersionError, api_key_of
from metashell.quorum.raft.wire import encode_request as request_to
from tests.quorum.raft.pump import CLUSTER, directory, endpoint

ODD_NUMBERS = (-1, -2, 0, 1, 1 << 30, (1 << 31) - 1, -(1 << 31), 65_535)
LONG_VARINT = b"\xff\xff\xff\xff\x07"


def sound_requests(chance: random.Random, receiver: int, epoch: int, end: int) -> list[flat.Request]:
    """One request of each kind as a peer might send it, aimed at `receiver`; voter changes name keys that no voter has."""
    key = directory(receiver)
    near = epoch + chance.choice((-1, 0, 0, 0, 1, 5))
    position = max(0, end + chance.choice((-3, 0, 0, 2)))
    sender = chance.choice((1, 2, 3, 9, -1))
    ends = {"CONTROLLER": endpoint(9)}
    return [
        flat.VoteRequest(CLUSTER, receiver, key, near, sender, directory(3), max(0, near - 1), position, chance.random() < 0.5),
        flat.BeginQuorumEpochRequest(CLUSTER, receiver, key, sender, near, {"CONTROLLER": endpoint(2)}),
        flat.EndQuorumEpochRequest(CLUSTER, sender, near, (ReplicaKey(2, directory(2)), ReplicaKey(3, directory(3)))),
        flat.FetchRequest(CLUSTER, sender, directory(2), near, position, max(0, near), chance.choice((0, 500)), 1 << 20, -1),
        flat.FetchSnapshotRequest(CLUSTER, sender, directory(2), near, OffsetAndEpoch(position, near), chance.choice((0, 7, -1)), 1 << 20),
        flat.AddRaftVoterRequest(CLUSTER, sender, directory(9), ends, 1000),
        flat.RemoveRaftVoterRequest(CLUSTER, sender, directory(9)),
        flat.UpdateRaftVoterRequest(CLUSTER, near, sender, directory(9), ends, 0, 1),
        flat.DescribeQuorumRequest(),
    ]


def request_frame(chance: random.Random, message: flat.Request) -> bytes:
    """A whole frame of a message in one of its versions."""
    low, high = OURS[api_key_of(message)]
    version = chance.randint(low, high)
    try:
        body: Any = request_to(message, version)
    except UnsupportedVersionError:
        version = high
        body = request_to(message, version)
    return encode_request(body, version, chance.randrange(1 << 31), "fuzz")


def spoilt(chance: random.Random, body: bytes) -> bytes:
    """The same bytes with a few changed, cut out, doubled or put in."""
    data = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0 if position < len(data):
                data[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            case 1:
                del data[position : position + chance.randint(1, 8)]
            case 2:
                data[position:position] = chance.randbytes(chance.randint(1, 8))
            case 3:
                data[position : position + 4] = struct.pack(">i", chance.choice(ODD_NUMBERS))
            case 4:
                data[position : position + 5] = LONG_VARINT
            case _:
                del data[position:]
    return bytes(data)


def hostile_frame(chance: random.Random, sound: Sequence[bytes]) -> bytes:
    """What a peer sends next: mostly a spoilt frame, now and then a sound one, random bytes, or a length that lies."""
    data = chance.choice(sound)
    kind = chance.random()
    if kind < 0.15:
        return data
    if kind < 0.22:
        return frame(chance.randbytes(chance.randrange(80)))
    if kind < 0.25:
        # A sound head before random bytes gets further than noise does.
        return frame(data[4:18] + chance.randbytes(chance.randrange(120)))
    body = spoilt(chance, data[4:])
    if kind < 0.28:
        return struct.pack(">i", chance.choice((*ODD_NUMBERS, len(body) + 1, len(body) - 1))) + body
    return frame(body)
