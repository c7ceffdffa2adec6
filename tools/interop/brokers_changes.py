"""What an operator changes on a running cluster: features are upgraded, replicas are moved with a throttle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from metashell.codec.metadata_version import metadata_version_name
from metashell.codec.releases import RELEASES
from metashell.image import MetadataImage
from tools.interop.brokers_acts import Story, StoryError
from tools.interop.brokers_image import throttled
from tools.interop.nodes import NodeFailedError

REASSIGN: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def refuse_features(story: Story, why: str, *words: str) -> None:
    """kafka-features fails, and says why. Errors: StoryError."""
    try:
        told = story.cluster.tool("features", "--bootstrap-server", story.cluster.bootstrap, *words)
    except NodeFailedError as error:
        told = str(error)
    if why not in told:
        raise StoryError(f"kafka-features {words}: {told}")
    story.tell(f"{' '.join(words)} is refused")


def upgrade(story: Story, release: str) -> None:
    """The features of a release are finalized; a way back over a changed metadata.version is refused."""
    story.cluster.tool("features", "--bootstrap-server", story.cluster.bootstrap, "upgrade", "--release-version", release)
    level = next(known for known in RELEASES if known.name == release).newest_level
    story.cluster.wait_until(f"metadata.version is {level}", lambda image: image.features.metadata_version == level)
    story.tell(f"the features of {release} are finalized")
    refuse_features(story, "Refusing to perform the requested downgrade", "downgrade", "--metadata", metadata_version_name(level - 1))


def reassign(story: Story, wanted: Mapping[tuple[str, int], tuple[Sequence[int], Sequence[str]]], throttle: int) -> str:
    """Move replicas, by Kafka's tool with a throttle, and wait until it has; `wanted` has brokers and log directories (or `any`)."""
    parts = [
        {"topic": topic, "partition": partition, "replicas": list(replicas), "log_dirs": list(directories)}
        for (topic, partition), (replicas, directories) in wanted.items()
    ]
    path = story.cluster.place.folder / "reassignment.json"
    path.write_text(json.dumps({"version": 1, "partitions": parts}))
    words = ["--bootstrap-server", story.cluster.bootstrap, "--reassignment-json-file", str(path)]
    limits = ["--throttle", str(throttle), "--replica-alter-log-dirs-throttle", str(throttle)]
    text = story.cluster.tool(REASSIGN, *words, "--execute", *limits)
    limited = throttled(story.cluster.image)
    if not limited:
        raise StoryError(f"no throttle was set: {text}")

    def is_done(image: MetadataImage) -> bool:
        for (topic, number), (replicas, _) in wanted.items():
            partition = image.topics.by_name[topic].partitions[number]
            if tuple(replicas) != partition.replicas or partition.adding_replicas or partition.removing_replicas:
                return False
        return True

    took = story.cluster.wait_until("the reassignment is done", is_done)
    story.tell(f"{len(wanted)} partitions reassigned in {took:.1f} s")
    text = story.cluster.tool(REASSIGN, *words, "--verify")
    story.cluster.wait_until("the throttles are gone", lambda image: not throttled(image))
    story.tell(f"its throttles were set, and are gone: {sorted(limited)}")
    return text
