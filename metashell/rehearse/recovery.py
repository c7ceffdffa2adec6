"""A drill of recovery: what is broken, which commands repair it, and whether they lost anything.

The caller runs the quorum, breaks it, and gathers facts. Here is what it does and how the result is judged, without I/O.

A drill has three controllers with the metadata of a cluster. It writes markers, quotas of users whose names begin with `MARKER`, and counts
those that were acknowledged. Then disks are lost, and commands are run until there is a quorum again. The result is right if the new quorum
has all that was acknowledged, all topics with their ids and all brokers, three voters that follow, none of them on a disk that was lost,
and if nobody wrote to what was left of the old quorum, which is the last copy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.values import ReplicaKey
from metashell.metadata.image import MetadataImage

MARKER: Final = "recovery-drill-"
QUOTA: Final = "request_percentage"
CONTROLLERS: Final = 3
_NAMES_MAX: Final = 3


class Story(NamedTuple):
    """A loss. `lost` are the controllers whose disks are gone; `is_stopped` says whether the others are stopped too."""

    name: str
    title: str
    situation: str
    lost: tuple[int, ...]
    is_stopped: bool


STORIES: Final = (
    Story(
        "disk",
        "one controller's disk is lost",
        "Controllers 1 and 2 run and have a leader. Controller 3 has an empty disk. Give it a new directory and make it a voter again.",
        (3,),
        is_stopped=False,
    ),
    Story(
        "majority",
        "two of three controllers are lost",
        "The disks of controllers 2 and 3 are gone. Controller 1 cannot be elected alone, and is stopped. Make a quorum of three again.",
        (2, 3),
        is_stopped=True,
    ),
    Story(
        "controllers",
        "all controllers are lost, and the brokers' copies are left",
        "All three disks are gone. Each broker has a copy of the metadata log, one of them an older one. Make a quorum of three again.",
        (1, 2, 3),
        is_stopped=True,
    ),
)


def story_named(name: str) -> Story:
    """The story of that name."""
    return next(story for story in STORIES if story.name == name)


class Command(NamedTuple):
    """A step: the words of a command, and why it is run. `server` is the id of the controller that it runs until it is stopped."""

    words: tuple[str, ...]
    reason: str
    server: int | None = None

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Place(NamedTuple):
    """A controller: the paths of its properties file and of its log directory, and its address."""

    id: int
    config: str
    directory: str
    address: str


class Scene(NamedTuple):
    """The files and addresses of a drill. `sources` are the directories that are left; `lost` the identities of the lost disks."""

    cluster_id: str
    places: tuple[Place, ...]
    sources: tuple[str, ...]
    lost: tuple[ReplicaKey, ...]

    def place(self, id: int) -> Place:
        return next(place for place in self.places if place.id == id)


def commands_of(story: Story, scene: Scene, text_of: Mapping[ReplicaKey, str]) -> Iterator[Command]:
    """The commands that repair the quorum, in order. `text_of` has the directory ids of the lost disks as text."""
    first = scene.place(1)
    contact = ("-C", first.address)
    if story.is_stopped:
        yield Command(
            ("quorum", "restore", *scene.sources, "--out", first.directory, "--node-id", "1", "--listener", first.address),
            "make the first controller of a new quorum from all that is left",
        )
        yield Command(("server", first.config), "start it: it is the only voter, and elects itself", server=1)
        missing: Iterable[int] = (place.id for place in scene.places if place.id != 1)
    else:
        missing = story.lost
    for id in missing:
        place = scene.place(id)
        yield Command(
            ("storage", "format", "-t", scene.cluster_id, "-c", place.config, "--no-initial-controllers"),
            f"give controller {id} an empty directory with the id of the cluster",
        )
        if not story.is_stopped:
            key = next(key for key in scene.lost if key.id == id)
            yield Command(
                ("quorum", "remove-controller", str(id), "--directory-id", text_of[key], "--yes", *contact),
                "take the vote of the lost disk away",
            )
        yield Command(("server", place.config), f"start controller {id}: it follows as an observer", server=id)
        yield Command(("quorum", "add-controller", "--server-config", place.config, *contact), "make it a voter, once it has caught up")


# ---- the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a drill compares of a cluster: the acknowledged markers, topics with their ids, and brokers."""

    cluster_id: str
    markers: frozenset[str]
    topics: frozenset[tuple[str, bytes]]
    brokers: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The state after the repair. `content` is None if no quorum was found, for the `reason`; `silent` are voters that do not follow."""

    content: Content | None = None
    reason: str = ""
    voters: tuple[ReplicaKey, ...] = ()
    silent: tuple[int, ...] = ()
    changed: tuple[str, ...] = field(default=())
    """The sources that are not as they were."""


class Point(NamedTuple):
    """One thing that was looked at, and whether it is right; `fact` says what was found."""

    name: str
    is_right: bool
    fact: str


def content_of(image: MetadataImage, cluster_id: str) -> Content:
    """The content of an image."""
    return Content(
        cluster_id=cluster_id,
        markers=frozenset(_markers(image)),
        topics=frozenset((topic.name, topic.id) for topic in image.topics),
        brokers=frozenset(image.cluster.brokers),
    )


def _markers(image: MetadataImage) -> Iterator[str]:
    for entity in image.client_quotas:
        name = dict(entity).get("user")
        if name is not None and name.startswith(MARKER):
            yield name


def judge(story: Story, before: Content, found: Found, lost: Collection[ReplicaKey]) -> tuple[Point, ...]:
    """Judge the result of a story; `before` is what was acknowledged, `lost` the identities of the lost disks."""
    after = found.content
    if after is None:
        return (Point("leader", False, found.reason), _sources_point(found.changed))
    dead = [key for key in found.voters if key in lost]
    voters = f"{counted(len(found.voters), 'voter')}: {_listed(key.id for key in found.voters)}"
    points = [
        Point("leader", True, "the quorum has a leader"),
        Point("cluster", after.cluster_id == before.cluster_id, f"the cluster id is {after.cluster_id}"),
        _kept_point("markers", "acknowledged change", sorted(before.markers), after.markers),
        _kept_point("topics", "topic", sorted(before.topics), after.topics),
        _kept_point("brokers", "registered broker", sorted(before.brokers), after.brokers),
        Point("voters", len(found.voters) == CONTROLLERS and not found.silent, voters + _silent_text(found.silent)),
        Point("lost disks", not dead, f"still a voter: {_listed(key.id for key in dead)}" if dead else "no lost disk has a vote"),
    ]
    if story.is_stopped:
        points.append(_sources_point(found.changed))
    return tuple(points)


def _kept_point(name: str, noun: str, before: Sequence[Any], after: Collection[Any]) -> Point:
    missing = [one for one in before if one not in after]
    if not missing:
        return Point(name, True, f"{counted(len(before), noun)}, and all are there")
    names = [str(one[0] if isinstance(one, tuple) else one) for one in missing[:_NAMES_MAX]]
    more = f" and {len(missing) - _NAMES_MAX} more" if len(missing) > _NAMES_MAX else ""
    return Point(name, False, f"{len(missing)} of {counted(len(before), noun)} lost: {', '.join(names)}{more}")


def _sources_point(changed: Sequence[str]) -> Point:
    if changed:
        return Point("sources", False, f"changed: {', '.join(changed)}: work on copies, these were the last ones")
    return Point("sources", True, "what was left of the old quorum is untouched")


def _silent_text(silent: Collection[int]) -> str:
    return f"; not following: {_listed(silent)}" if silent else ""


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def is_right(points: Iterable[Point]) -> bool:
    """Whether all points are right."""
    return all(point.is_right for point in points)


def verdict_line(story: Story, points: Sequence[Point]) -> str:
    """The verdict in one line."""
    wrong = [point.name for point in points if not point.is_right]
    if not wrong:
        return f"RECOVERED: {story.title}; nothing acknowledged was lost"
    return f"NOT RECOVERED: {story.title}; wrong: {', '.join(wrong)}"


def drill_value(story: Story, points: Sequence[Point], commands: Sequence[Mapping[str, object]], seconds: float) -> dict[str, Any]:
    """The result of a story as one JSON object. Units: `seconds` is the time of the repair."""
    return {
        "type": "drill",
        "story": story.name,
        "title": story.title,
        "recovered": is_right(points),
        "verdict": verdict_line(story, points),
        "points": [{"name": point.name, "right": point.is_right, "fact": point.fact} for point in points],
        "commands": list(commands),
        "seconds": round(seconds, 1),
    }
