"""A controller in a simulated process: machine, queue and APIs of the server, with a thin layer that looks at what was applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING

from metashell.codec.batches import RecordBatch
from metashell.codec.releases import ELR_FEATURE, METADATA_VERSION
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller import QuorumController, Settings
from metashell.quorum.controller.decision import feature_level_record, new_uuid
from metashell.quorum.raft.messages import RaftConfig
from metashell.quorum.server.apis import Apis
from metashell.quorum.server.config import PeerSecurity
from metashell.quorum.server.controller_machine import ControllerMachine, SnapshotLimits
from metashell.quorum.server.controller_server import leader_endpoint, start_replica
from metashell.quorum.server.records import SnapshotToMake
from metashell.quorum.server.registration import Registration
from metashell.quorum.server.replica_server import Parts
from tests.simulation.production.replica import LISTENER, Process
from tests.simulation.production.sasl import sasl_client
from tests.simulation.violation import Violation
from tests.simulation.world import CLUSTER_ID

if TYPE_CHECKING:
    from tests.simulation.controller.options import ControllerOptions
    from tests.simulation.controller.world import ControllerWorld
    from tests.simulation.production.world import ProductionHost

UNFORESEEN = "A3 NothingUnforeseen"


class ControllerProcess(Process):
    """One life of a controller."""

    world: ControllerWorld
    machine: WatchedController  # type: ignore[assignment]

    def add_application(self, parts: Parts) -> None:
        world, host = self.world, self.host
        options = world.options
        settings = Settings(static_of(options), CLUSTER_ID, host.id)
        bootstrap = [feature_level_record(METADATA_VERSION, options.metadata_version)]
        if options.has_elr:
            bootstrap.append(feature_level_record(ELR_FEATURE, 1))
        controller = QuorumController(settings, Random(self.random.random()), bootstrap)
        self.machine = parts.machine = WatchedController(controller, options, parts, world, host)
        parts.application = Apis(self.machine)

    def _on_event(self, line: str) -> None:
        super()._on_event(line)
        if line.startswith("error "):
            self.world.note_violation(Violation(UNFORESEEN, f"{self.host.name}: {line}"))

    def begin(self, config: RaftConfig) -> None:
        start_replica(self.server, self.machine, config)
        protocol = "SASL_PLAINTEXT" if self.world.options.has_sasl else "PLAINTEXT"
        registration = Registration(
            self.host.id,
            new_uuid(Random(self.random.random())),
            {LISTENER: self.host.endpoint},
            {LISTENER: protocol},
            lambda: self.machine.image,
            lambda: leader_endpoint(self.server.node),
            PeerSecurity(sasl=sasl_client) if self.world.options.has_sasl else PeerSecurity(),
            Random(self.random.random()),
        )
        self.machine.watchers.append(registration.look)


def static_of(options: ControllerOptions) -> dict[str, str]:
    """server.properties, as far as decisions go by it."""
    return {
        "broker.session.timeout.ms": str(options.session_timeout_ms),
        "broker.heartbeat.interval.ms": "1000",
        "metadata.max.idle.interval.ms": str(options.idle_ms),
        "leader.imbalance.check.interval.seconds": "3",
        "unclean.leader.election.interval.ms": "2000",
    }


class WatchedController(ControllerMachine):
    """The application; after each piece, its image is compared with the one that the committed path gives."""

    def __init__(
        self, controller: QuorumController, options: ControllerOptions, parts: Parts, world: ControllerWorld, host: ProductionHost
    ) -> None:
        super().__init__(controller, SnapshotLimits(options.snapshot_after_size, options.snapshot_after_ms), parts.wall_ms, parts.on_event)
        self._world = world
        self._host = host
        self.end = 0

    @property
    def image(self) -> MetadataImage:
        """What is committed, outside of any transaction."""
        return self.controller.image

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        wanted = await super().handle_commit(batches)
        self._look(batches[-1].header.last_offset + 1, always=wanted is not None)
        self._world.checked(self._check_epoch, batches[-1].header.leader_epoch)
        return wanted

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        await super().handle_load_snapshot(id, batches)
        self._look(id.offset, always=True)

    def _check_epoch(self, epoch: int) -> None:
        """A controller that has seen a later leader's batch no longer is the active one."""
        claimed = self.controller.state.claim_epoch
        if 0 <= claimed < epoch and not self._world.options.is_black_box:
            raise Violation("C1 NoZombie", f"{self._host.name} is active in epoch {claimed} and has applied a batch of epoch {epoch}")

    def _look(self, end: int, *, always: bool) -> None:
        world = self._world
        self.end = end
        if world.options.is_black_box:
            return
        world.checked(lambda: world.images.check(self._host.name, self.image, end, always=always))
