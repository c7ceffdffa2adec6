"""What a plan is made from and what it is: brokers, partitions, and what the caller wants."""

from typing import NamedTuple

from metashell.errors import MetashellError


class PlacementError(MetashellError):
    """No plan can do what was asked; the text names the partition or broker."""


class Broker(NamedTuple):
    """A broker: `takes` says that it may get replicas, `is_left` that all its replicas have to go.

    One that neither takes nor is left, such as a broker that is down for a while, keeps what it has.
    """

    id: int
    rack: str | None = None
    takes: bool = True
    is_left: bool = False


class Partition(NamedTuple):
    """A partition as it is: the preferred leader is the first replica. `size` in bytes, 0 if unknown. A fixed one is only counted."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    size: int = 0
    is_fixed: bool = False


class Goals(NamedTuple):
    """The goals of a plan. Racks are respected if every broker that takes replicas names one; `racks` False ignores them."""

    topics: bool = True
    replicas: bool = True
    leaders: bool = True
    racks: bool = True


class Cluster(NamedTuple):
    """All brokers and partitions."""

    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]
