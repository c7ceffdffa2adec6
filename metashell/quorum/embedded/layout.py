"""The files, ports and errors of a quorum: for each controller a folder with its `server.properties` and a formatted log directory.

    DIR/controller-1/server.properties      Kafka's own, so that Kafka's server could run on it too
    DIR/controller-1/metadata/              meta.properties, __cluster_metadata-0/, and below 4.4-IV0 bootstrap.checkpoint

A directory that has them is opened as it is: ids, ports and settings are those that it was made with.

`ReservedPorts` are ports of the loopback interface that nobody else is given while a quorum lives, also while none of its controllers
listens there."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EADDRINUSE
from shutil import rmtree
from typing import TYPE_CHECKING, Final

from metashell.codec.error_codes import error_text
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION, metadata_version_name
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.values import uuid_text
from metashell.disk.bootstrap import release_level
from metashell.disk.config import config_of
from metashell.disk.directory import first_records_file
from metashell.disk.file_system import ASIDE_SUFFIX, Disk, lock_holder
from metashell.disk.format import FormatRequest, Given, plan_format, write_format
from metashell.disk.names import META_PROPERTIES
from metashell.disk.properties import format_properties, parse_properties, read_meta_properties, read_text_file
from metashell.disk.source import FileSource
from metashell.metadata.image.loader import load_image
from metashell.quorum.controller.decision import new_uuid

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
    """The options of a new quorum.

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
    """A disk without fsync, for a quorum whose files are thrown away."""

    def sync_file(self, fd: int) -> None:
        """Nothing."""

    def sync_directory(self, path: str) -> None:
        """Nothing."""


def security_of(properties: Mapping[str, str]) -> SecurityConfig:
    """Return the security with which controllers, and their clients, connect. Errors: UsageError."""
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
    write_format(plan, lambda planned: None, None if is_kept else _NotSynced())
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
    """Return the quorum of a directory, None for an empty or missing one; these settings are added to its controllers'.

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


HOST: Final = "localhost"
TRIES: Final = 50
PORT_MAX: Final = 0xFFFF


class ReservedPorts:
    """Bound sockets that never listen. The system gives their ports to nobody else; a listener with SO_REUSEADDR still gets them.

    `numbers` are the ports. A connection to one where nobody listens is refused.
    """

    def __init__(self, numbers: Sequence[int], sockets: Sequence[socket.socket]) -> None:
        self.numbers = tuple(numbers)
        self._sockets = list(sockets)

    def close(self) -> None:
        """Give them back."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()


def reserve(count: int) -> ReservedPorts:
    """Reserve `count` ports that the system chooses. Errors: UsageError where it has none left."""
    sockets: list[socket.socket] = []
    numbers: list[int] = []
    try:
        for _ in range(count):
            held = _any_port()
            sockets += held
            numbers.append(held[0].getsockname()[1])
    except BaseException:
        ReservedPorts(numbers, sockets).close()
        raise
    return ReservedPorts(numbers, sockets)


def reserve_these(numbers: Sequence[int]) -> ReservedPorts:
    """Reserve these ports. Errors: UsageError for an invalid one; QuorumError, which names the first that is in use."""
    sockets: list[socket.socket] = []
    try:
        for number in numbers:
            refuse_no_port(number)
            _refuse_used(number)
            sockets += _bound(number)
    except OSError as error:
        ReservedPorts(numbers, sockets).close()
        # The error of a port below 1024 is another one.
        reason = "in use" if error.errno == EADDRINUSE else os.strerror(error.errno or 0)
        raise QuorumError(f"port {number}: {reason}") from None
    except BaseException:
        ReservedPorts(numbers, sockets).close()
        raise
    return ReservedPorts(numbers, sockets)


def refuse_no_port(number: int) -> None:
    """Check that the number is a port's. Errors: UsageError."""
    if not 0 < number <= PORT_MAX:
        raise UsageError(f"port {number}: not a port (1 to {PORT_MAX})", str(number))


def _any_port() -> list[socket.socket]:
    for _ in range(TRIES):
        first, *others = _addresses()
        held = _bind(*first, 0)
        try:
            return [held, *(_bind(family, address, held.getsockname()[1]) for family, address in others)]
        except OSError:
            # Another protocol's port of that number is taken.
            held.close()
    raise UsageError(f"no port of {HOST} is free")


def _bound(number: int) -> list[socket.socket]:
    held: list[socket.socket] = []
    try:
        for family, address in _addresses():
            held.append(_bind(family, address, number))
    except OSError:
        ReservedPorts((), held).close()
        raise
    return held


def _refuse_used(number: int) -> None:
    """Check that nothing listens there. Errors: OSError."""
    for family, address in _addresses():
        with socket.socket(family) as probe:
            with suppress(OSError):
                # A port whose last connections are still winding up is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, number))
            probe.listen(1)


def _bind(family: int, address: str, number: int) -> socket.socket:
    held = socket.socket(family)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((address, number))
    except BaseException:
        held.close()
        raise
    return held


def _addresses() -> list[tuple[int, str]]:
    """The addresses of this machine that `localhost` stands for, IPv4 first, those that cannot be bound left out."""
    found = {(int(family), str(address[0])) for family, _, _, _, address in socket.getaddrinfo(HOST, None, type=socket.SOCK_STREAM)}
    usable = []
    for family, address in sorted(found):
        with suppress(OSError):
            _bind(family, address, 0).close()
            usable.append((family, address))
    if not usable:
        raise UsageError(f"{HOST}: names no address of this machine")
    return usable


class QuorumError(MetashellError):
    """The quorum cannot do this: it is stopped, a controller failed, or a wait timed out."""


class RefusedError(QuorumError):
    """A controller answered with an error. `code` is Kafka's number, `reason` the message that came with it, if any."""

    def __init__(self, what: str, code: int, reason: str | None) -> None:
        super().__init__(f"{what}: {error_text(code)}{f': {reason}' if reason else ''}")
        self.code = code
        self.reason = reason or ""


def timed_out(what: str, timeout_s: float) -> QuorumError:
    """The error of a wait that was too long."""
    return QuorumError(f"{what}: not within {timeout_s:g} s")
