"""What a quorum has on disk: for each controller a folder with its `server.properties` and a formatted log directory.

    DIR/controller-1/server.properties      Kafka's own, so that Kafka's server could run on it too
    DIR/controller-1/metadata/              meta.properties, __cluster_metadata-0/, and below 4.4-IV0 bootstrap.checkpoint

A directory that has them is opened as it is: ids, ports and settings are those that it was made with.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shutil import rmtree
from typing import TYPE_CHECKING, Final

from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.controller.chance import new_uuid
from metashell.embedded.ports import HOST
from metashell.errors import MetashellError, PathError, UsageError
from metashell.image.loader import load_image
from metashell.log.atomic_file import ASIDE_SUFFIX
from metashell.log.disk import Disk, lock_holder
from metashell.log.file_source import FileSource
from metashell.log.first_records import first_records_file
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties
from metashell.log.properties import format_properties, parse_properties
from metashell.log.text_files import read_text_file
from metashell.storage.config import config_of
from metashell.storage.features import release_level
from metashell.storage.perform import perform
from metashell.storage.plan import FormatRequest, Given, plan_format
from metashell.values import uuid_text

if TYPE_CHECKING:
    from metashell.net.security import SecurityConfig

CONTROLLERS_MAX: Final = 15
FAKE_BROKERS_MAX: Final = 1000
PREFIX: Final = "metashell-quorum-"
"""How directories begin that are thrown away."""
LISTENER: Final = "CONTROLLER"
PROPERTIES: Final = "server.properties"
LOG: Final = "quorum.log"
"""What the process in the background writes into the directory."""
_FOLDER: Final = "controller-"
_LOG_DIRECTORY: Final = "metadata"
_OURS: Final = {
    *("process.roles", "node.id", "listeners", "log.dirs", "log.dir", "metadata.log.dir", "controller.listener.names"),
    *("controller.quorum.voters", "controller.quorum.bootstrap.servers"),
}
"""What follows from the number of controllers, their ports and their directory."""
QUICK: Final = {
    "controller.quorum.append.linger.ms": "0",
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}
"""Where a quorum on one machine differs from Kafka's defaults: it commits at once, and notices after a second that a leader was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a new quorum is to be.

    `metadata_version` is a release or a level's name (`4.2`, `4.2-IV1`), None for the newest of production. `features` are levels by name.
    `properties` are settings of every controller. `is_static`: controller.quorum.voters in place of KIP-853's initial controllers.
    """

    controllers: int = 3
    metadata_version: str | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_static: bool = False

    def __post_init__(self) -> None:
        """Errors: UsageError."""
        if not 1 <= self.controllers <= CONTROLLERS_MAX:
            raise UsageError(f"controllers: {self.controllers} is not a number from 1 to {CONTROLLERS_MAX}", str(self.controllers))
        for name in self.properties:
            if name in _OURS:
                raise UsageError(f"{name}: follows from the quorum's directory and ports, and cannot be set", name)


def check_fake_brokers(count: int) -> None:
    """Errors: UsageError."""
    if not 0 <= count <= FAKE_BROKERS_MAX:
        raise UsageError(f"fake_brokers: {count} is not a number from 0 to {FAKE_BROKERS_MAX}", str(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One controller on disk."""

    id: int
    port: int
    path: str
    """Of its server.properties."""
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A quorum on disk."""

    directory: str
    cluster_id: str
    places: Sequence[Place]

    @property
    def bootstrap_controllers(self) -> str:
        """`localhost:PORT,...`, as tools take it."""
        return ",".join(f"{HOST}:{place.port}" for place in self.places)


class _NotSynced(Disk):
    """A disk for what is thrown away: nothing waits for it."""

    def sync_file(self, fd: int) -> None:
        """Nothing."""

    def sync_directory(self, path: str) -> None:
        """Nothing."""


def security_of(properties: Mapping[str, str]) -> SecurityConfig:
    """How the controllers connect to each other, and so whoever wants to ask them. Errors: UsageError."""
    from metashell.net.security import security_config

    return security_config(properties, LISTENER)


def make_layout(directory: str, options: Options, ports: Sequence[int], *, is_kept: bool) -> Layout:
    """Write and format a new quorum; the directory is there and empty, the ports are one for each controller.

    Errors: OSError; MetashellError for what Kafka's storage tool refuses.
    """
    if "," in directory:
        raise UsageError(f"{directory}: log.dirs is a list between commas, so no directory may have one in its name", directory)
    chance = random.SystemRandom()
    voters = dict(enumerate(ports, 1))
    ids = {id: new_uuid(chance) for id in voters}
    cluster_id = uuid_text(new_uuid(chance))
    request = FormatRequest(
        cluster_id=cluster_id,
        release=options.metadata_version,
        features=tuple(f"{name}={level}" for name, level in options.features.items()),
        quorum="" if options.is_static else "initial",
        initial_controllers=",".join(f"{id}@{HOST}:{port}:{uuid_text(ids[id])}" for id, port in voters.items()),
    )
    given = Given(now_ms=int(time.time() * 1000), date=_date(), new_uuid=lambda: new_uuid(chance), new_salt=lambda: b"")
    places: list[Place] = []
    try:
        for id in voters:
            places.append(_make_place(id, voters, directory, options, request, given, is_kept=is_kept))
    except BaseException:
        for id in voters:
            rmtree(os.path.join(directory, f"{_FOLDER}{id}"), ignore_errors=True)
        raise
    return Layout(directory=directory, cluster_id=cluster_id, places=places)


def _make_place(
    id: int, ports: Mapping[int, int], directory: str, options: Options, request: FormatRequest, given: Given, *, is_kept: bool
) -> Place:
    folder = os.path.join(directory, f"{_FOLDER}{id}")
    properties = properties_of(id, ports, os.path.join(folder, _LOG_DIRECTORY), options)
    # Planned, and so checked, before anything is written.
    plan = plan_format(config_of(properties), request, given)
    os.makedirs(folder)
    path = os.path.join(folder, PROPERTIES)
    _write_properties(path, properties)
    perform(plan, lambda planned: None, None if is_kept else _NotSynced())
    return Place(id=id, port=ports[id], path=path, properties=properties)


def properties_of(id: int, ports: Mapping[int, int], log_directory: str, options: Options) -> dict[str, str]:
    """The server.properties of one controller."""
    addresses = {other: f"{HOST}:{port}" for other, port in ports.items()}
    quorum = (
        {"controller.quorum.voters": ",".join(f"{other}@{address}" for other, address in addresses.items())}
        if options.is_static
        else {"controller.quorum.bootstrap.servers": ",".join(addresses.values())}
    )
    return {
        "process.roles": "controller",
        "node.id": str(id),
        "controller.listener.names": LISTENER,
        "listeners": f"{LISTENER}://{addresses[id]}",
        "log.dirs": log_directory,
        **quorum,
        **QUICK,
        **options.properties,
    }


def read_layout(directory: str, settings: Mapping[str, str]) -> Layout | None:
    """The quorum that a directory holds, None for an empty one or none; from now on its controllers have these settings, too.

    Errors: OSError; PathError for a directory with something else in it; MetashellError for properties that cannot be read.
    """
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return None
    folders = [name for name in names if name.startswith(_FOLDER)]
    if not folders:
        if set(names) - {LOG}:
            raise PathError(f"{directory}: is not empty, and holds no quorum", directory)
        return None
    places = sorted((_read_place(directory, name, settings) for name in folders), key=lambda place: place.id)
    meta = read_meta_properties(os.path.join(places[0].properties["log.dirs"], META_PROPERTIES))
    return Layout(directory=directory, cluster_id=meta.cluster_id or "", places=places)


def check_not_running(layout: Layout) -> None:
    """Errors: PathError where a process runs on one of its directories."""
    for place in layout.places:
        if (holder := lock_holder(place.properties["log.dirs"])) is not None:
            raise PathError(f"{layout.directory}: process {holder} runs on it", layout.directory)


def check_made_with(layout: Layout, options: Options) -> None:
    """Errors: PathError for a release or a level of a feature that is wanted, but not what the quorum was made with; MetashellError."""
    if options.metadata_version is None and not options.features:
        return
    with FileSource(first_records_file(layout.places[0].properties["log.dirs"])) as source:
        made = load_image(source).features
    wanted = {name: level for name, level in options.features.items() if name != KRAFT_VERSION}
    if options.metadata_version is not None:
        wanted[METADATA_VERSION] = release_level(options.metadata_version, unstable=True)
    for name, level in wanted.items():
        found = made.metadata_version if name == METADATA_VERSION else made.levels.get(name, 0)
        if found != level:
            shown = metadata_version_name(found) if name == METADATA_VERSION and found else found
            raise PathError(f"{layout.directory}: its quorum was made with {name} {shown}", layout.directory)


def _read_place(directory: str, name: str, settings: Mapping[str, str]) -> Place:
    path = os.path.join(directory, name, PROPERTIES)
    try:
        stored = parse_properties(read_text_file(path))
        properties = {**stored, **settings}
        place = Place(id=int(properties["node.id"]), port=_port_of(properties["listeners"]), path=path, properties=properties)
    except (ValueError, KeyError) as error:
        raise MetashellError(f"{path}: not the properties of a controller of a local quorum ({error})") from None
    if not os.path.isdir(properties.get("log.dirs", "")):
        raise MetashellError(f"{path}: log.dirs: {properties.get('log.dirs')}: is not there")
    if properties != stored:
        config_of(properties)  # what cannot be is not kept
        _write_properties(path + ASIDE_SUFFIX, properties)
        os.replace(path + ASIDE_SUFFIX, path)
    return place


def _write_properties(path: str, properties: Mapping[str, str]) -> None:
    """Write a new file that only its owner may read: settings may be passwords."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(_escaped(format_properties(properties, date=_date())))


def _escaped(data: bytes) -> bytes:
    """Properties in UTF-8 as Java's readers take them, which know only ISO 8859-1: paths may have any character."""
    text = data.decode("utf-8", "surrogateescape")
    if not text.isascii():
        pairs = text.encode("utf-16-be", "surrogatepass")
        units = [int.from_bytes(pairs[at : at + 2], "big") for at in range(0, len(pairs), 2)]
        text = "".join(chr(unit) if unit < 0x80 else f"\\u{unit:04x}" for unit in units)
    return text.encode("ascii")


def _date() -> str:
    """The time, as Java writes it into properties files."""
    return time.strftime("%a %b %d %H:%M:%S %Z %Y")


def _port_of(listeners: str) -> int:
    return int(listeners.rpartition(":")[2])
