"""The rights that each request to a group server needs, as Kafka's brokers require them.

`narrow(request, ...)` looks at one request before it is decided. It gives the part of the request that its sender may ask, which adds the
refusals to the answer. A request that is refused as a whole is not decided at all.

Source: kafka.server.KafkaApis; KIP-430."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import codes, messages
from metashell.codec.error_answers import error_entries
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    NONE,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    error_message,
)
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import ALL_OPERATIONS, CLUSTER_OPERATIONS, api_name, coordinator_error, error_body, fetch_error_group
from metashell.groups.server import (
    CLUSTER,
    CLUSTER_ACTION,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    TOPIC_OPERATIONS,
    TRANSACTIONAL_ID,
    WRITE,
    AskedRequest,
    ClientRequest,
    NarrowedRequest,
    Narrowing,
    Rights,
    Rule,
    coordinator_request,
    with_fields,
)
from metashell.net.frames import response_type

if TYPE_CHECKING:
    from metashell.groups.server.topic_requests import Cluster

HIDDEN_TOPICS: Final = "The group has described topic(s) that the client is not authorized to describe."


def narrow(request: ClientRequest, cluster: Cluster, rights: Rights) -> ClientRequest | None:
    """Return the part of a request that its sender may ask; None for one that was refused as a whole, and answered."""
    rule = RULES.get(request.header.api_key)
    if rule is None:
        return request
    narrowed = rule(AskedRequest(request.header.api_version, request.message, coordinator_request(request, 0), cluster, rights))
    if narrowed is None:
        return request
    if narrowed.message is None:
        request.respond(narrowed.finish(None))
        return None
    return NarrowedRequest(request, narrowed.message, narrowed.finish)


# ---- requests about one group


def _group(operation: int = READ) -> Rule:
    def rule(asked: AskedRequest) -> Narrowing | None:
        if asked.rights.may(operation, GROUP, asked.body.group_id):
            return None
        return asked.refused(GROUP_AUTHORIZATION_FAILED)

    return rule


def _heartbeat(topics_of: Callable[[Any], Iterable[str]]) -> Rule:
    """READ on the group, and DESCRIBE on each topic that the member names: it may not learn of topics that it may not see."""

    def rule(asked: AskedRequest) -> Narrowing | None:
        if not asked.rights.may(READ, GROUP, asked.body.group_id):
            return asked.refused(GROUP_AUTHORIZATION_FAILED)
        if all(map(asked.rights.may_describe, dict.fromkeys(topics_of(asked.body)))):
            return None
        return Narrowing(None, lambda answer: error_body(asked.request, TOPIC_AUTHORIZATION_FAILED))

    return rule


def _subscribed(body: Any) -> Iterable[str]:
    return body.subscribed_topic_names or ()


def _topology_topics(body: Any) -> Iterator[str]:
    for part in () if body.topology is None else body.topology.subtopologies:
        yield from part.source_topics
        yield from part.repartition_sink_topics
        yield from (topic.name for topic in (*part.repartition_source_topics, *part.state_changelog_topics))


# ---- requests about several groups


def _several(names: str, answers: str, operation: int, refused: Callable[[str], Any]) -> Rule:
    """Refuse each group of its own: `names` is the request's field, `answers` the answer's."""

    def rule(asked: AskedRequest) -> Narrowing | None:
        wanted = tuple(getattr(asked.body, names))
        allowed = tuple(name for name in wanted if asked.rights.may(operation, GROUP, name))
        refusals = tuple(refused(name) for name in dict.fromkeys(wanted) if name not in set(allowed))

        def finish(answer: Any) -> Any:
            given = tuple(_shown(asked, group) for group in getattr(answer, answers))
            return with_fields(answer, **{answers: (*refusals, *given)})

        return Narrowing(with_fields(asked.body, **{names: allowed}), finish)

    return rule


def _shown(asked: AskedRequest, group: Any) -> Any:
    """Return a described group with the sender's rights, or an error in its place if it has topics that the sender may not see."""
    if getattr(asked.body, "include_authorized_operations", False) and group.error_code == NONE:
        group.authorized_operations = asked.rights.operations(ALL_OPERATIONS, GROUP, group.group_id)
    if all(map(asked.rights.may_describe, _described_topics(group))):
        return group
    return type(group)(group_id=group.group_id, error_code=TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN_TOPICS)


def _described_topics(group: Any) -> set[str]:
    """Return the topics in a description of a group of a newer protocol; that of a classic group is opaque bytes."""
    found: set[str] = set()
    for member in getattr(group, "members", ()):
        for name in ("assignment", "target_assignment"):
            found |= {each.topic_name for each in getattr(getattr(member, name, None), "topic_partitions", ())}
    topology = getattr(group, "topology", None)
    for part in () if topology is None else topology.subtopologies:
        found |= {*part.source_topics, *part.repartition_sink_topics}
        found |= {topic.name for topic in (*part.repartition_source_topics, *part.state_changelog_topics)}
    return found


def _list_groups(asked: AskedRequest) -> Narrowing | None:
    if asked.rights.may_cluster(DESCRIBE):
        return None

    def finish(answer: Any) -> Any:
        seen = (group for group in answer.groups if asked.rights.may(DESCRIBE, GROUP, group.group_id))
        return with_fields(answer, groups=tuple(seen))

    return Narrowing(asked.body, finish)


def _find_coordinator(asked: AskedRequest) -> Narrowing | None:
    body, rights = asked.body, asked.rights

    def code_of_key(key: str) -> int:
        if body.key_type == 0:
            return NONE if rights.may(DESCRIBE, GROUP, key) else GROUP_AUTHORIZATION_FAILED
        if body.key_type == 1:
            return NONE if rights.may(DESCRIBE, TRANSACTIONAL_ID, key) else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return NONE if rights.may_cluster(CLUSTER_ACTION) else CLUSTER_AUTHORIZATION_FAILED

    if asked.version < 4:
        code = code_of_key(body.key)
        return None if code == NONE else asked.refused(code)
    errors = {key: code for key in body.coordinator_keys if (code := code_of_key(key)) != NONE}
    refusals = tuple(coordinator_error(key, code, "") for key, code in errors.items())
    left = tuple(key for key in body.coordinator_keys if key not in errors)
    return Narrowing(
        with_fields(body, coordinator_keys=left), lambda answer: with_fields(answer, coordinators=(*refusals, *answer.coordinators))
    )


# ---- offsets


def _by_topic(asked: AskedRequest, topics: Iterable[Any], operation: int, attribute: str = "name") -> tuple[list[Any], list[Any]]:
    """Return the topics that the sender may do `operation` on, and the others. An id that no topic has is no secret."""
    allowed: list[Any] = []
    refused: list[Any] = []
    for topic in topics:
        name = asked.topic_of(topic, attribute)
        (allowed if name is None or asked.rights.may(operation, TOPIC, name) else refused).append(topic)
    return allowed, refused


def _partitioned(asked: AskedRequest, operation: int = READ, attribute: str = "name") -> Narrowing:
    """Refuse each topic of its own, with all its partitions."""
    allowed, refused = _by_topic(asked, asked.body.topics, operation, attribute)
    name = api_name(asked.request.api_key)
    answers, refusals = error_entries(name, asked.version, refused, TOPIC_AUTHORIZATION_FAILED)

    def finish(answer: Any) -> Any:
        # Of a request without any topic left nothing is decided.
        answer = response_type(asked.request.api_key).cls() if answer is None else answer
        return with_fields(answer, **{answers: (*refusals, *getattr(answer, answers))})

    return Narrowing(with_fields(asked.body, topics=tuple(allowed)) if allowed else None, finish)


def _offset_commit(asked: AskedRequest) -> Narrowing | None:
    return _group()(asked) or _partitioned(asked)


def _offset_delete(asked: AskedRequest) -> Narrowing | None:
    return _group(DELETE)(asked) or _partitioned(asked)


def _txn_offset_commit(asked: AskedRequest) -> Narrowing | None:
    return _transaction(asked) or _group()(asked) or _partitioned(asked)


def _transaction(asked: AskedRequest) -> Narrowing | None:
    if asked.rights.may(WRITE, TRANSACTIONAL_ID, asked.body.transactional_id):
        return None
    return asked.refused(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _add_offsets(asked: AskedRequest) -> Narrowing | None:
    return _transaction(asked) or _group()(asked)


def _init_producer_id(asked: AskedRequest) -> Narrowing | None:
    if asked.body.transactional_id is not None:
        return _transaction(asked)
    names = asked.cluster.image.topics.by_name
    if asked.rights.may_cluster(IDEMPOTENT_WRITE) or any(asked.rights.may(WRITE, TOPIC, name) for name in names):
        return None
    return asked.refused(CLUSTER_AUTHORIZATION_FAILED)


def _offset_fetch(asked: AskedRequest) -> Narrowing | None:
    body, rights, kind = asked.body, asked.rights, messages.OffsetFetchResponse
    if asked.version < 8:
        if not rights.may(DESCRIBE, GROUP, body.group_id):
            return asked.refused(GROUP_AUTHORIZATION_FAILED)
        topics, refusals = _fetched_topics(asked, body.topics, kind.OffsetFetchResponseTopic, kind.OffsetFetchResponsePartition)
        return Narrowing(
            with_fields(body, topics=topics), lambda answer: with_fields(answer, topics=_seen_topics(asked, answer.topics, refusals))
        )
    allowed, refused = [], []
    refusals_of: dict[str, tuple[Any, ...]] = {}
    for group in body.groups:
        if not rights.may(DESCRIBE, GROUP, group.group_id):
            refused.append(fetch_error_group(group, GROUP_AUTHORIZATION_FAILED))
            continue
        topics, refusals_of[group.group_id] = _fetched_topics(
            asked, group.topics, kind.OffsetFetchResponseTopics, kind.OffsetFetchResponsePartitions
        )
        allowed.append(with_fields(group, topics=topics))

    def finish(answer: Any) -> Any:
        groups = (
            with_fields(
                group, topics=_seen_topics(asked, group.topics, refusals_of.get(group.group_id, ()) if group.error_code == NONE else ())
            )
            for group in answer.groups
        )
        return with_fields(answer, groups=(*refused, *groups))

    return Narrowing(with_fields(body, groups=tuple(allowed)), finish)


def _fetched_topics(
    asked: AskedRequest, topics: Collection[Any] | None, topic_kind: Any, partition_kind: Any
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
    """Return the topics whose offsets may be fetched, None for all, and the answers for the others."""
    if topics is None:
        return None, ()
    allowed, refused = _by_topic(asked, topics, DESCRIBE)

    def refuse(topic: Any) -> Any:
        partitions = tuple(
            partition_kind(partition_index=index, committed_offset=-1, metadata="", error_code=TOPIC_AUTHORIZATION_FAILED)
            for index in topic.partition_indexes
        )
        ids = {"topic_id": topic.topic_id} if hasattr(topic, "topic_id") else {}
        return topic_kind(name=topic.name, partitions=partitions, **ids)

    return tuple(allowed), tuple(map(refuse, refused))


def _seen_topics(asked: AskedRequest, topics: Iterable[Any], refusals: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return fetched topics without those that the sender may not see: a fetch of all topics finds more than it may show."""
    seen, _ = _by_topic(asked, topics, DESCRIBE)
    return (*seen, *refusals)


# ---- topics


def _metadata(asked: AskedRequest) -> Narrowing | None:
    body, rights = asked.body, asked.rights
    kind = messages.MetadataResponse.MetadataResponseTopic
    is_for_all = body.topics is None or (not body.topics and asked.version == 0)
    allowed, refusals = [], []
    for topic in () if is_for_all else body.topics:
        name = asked.topic_of(topic) or ""
        has_id = topic.topic_id != ZERO_UUID
        if name and not rights.may_describe(name):
            shown = (None if asked.version >= 12 else "") if has_id else name
            refusals.append(kind(error_code=TOPIC_AUTHORIZATION_FAILED, name=shown, topic_id=topic.topic_id))
        elif name and not has_id and body.allow_auto_topic_creation and not _may_create(asked, name):
            refusals.append(kind(error_code=TOPIC_AUTHORIZATION_FAILED, name=name))
        else:
            allowed.append(topic)

    def finish(answer: Any) -> Any:
        seen = (topic for topic in answer.topics if topic.name is None or not topic.name or rights.may_describe(topic.name))
        answer = with_fields(answer, topics=(*seen, *refusals))
        if asked.version >= 8 and body.include_topic_authorized_operations:
            for topic in answer.topics:
                if topic.error_code == NONE:
                    topic.topic_authorized_operations = rights.operations(TOPIC_OPERATIONS, TOPIC, topic.name)
        if 8 <= asked.version <= 10 and body.include_cluster_authorized_operations:
            answer.cluster_authorized_operations = _cluster_operations(rights)
        return answer

    if is_for_all:
        return Narrowing(body, finish)
    # A request whose topics were all refused does not become one for all topics, which is what none mean in version 0.
    left = tuple(allowed) if allowed or asked.version > 0 else (messages.MetadataRequest.MetadataRequestTopic(name=""),)
    return Narrowing(with_fields(body, topics=left), finish)


def _may_create(asked: AskedRequest, name: str) -> bool:
    """Return whether a topic exists already, or the sender may create it."""
    is_there = asked.cluster.leader_epoch(name, 0) is not None
    return is_there or asked.rights.may_cluster(CREATE) or asked.rights.may(CREATE, TOPIC, name)


def _cluster_operations(rights: Rights) -> int:
    return rights.operations(CLUSTER_OPERATIONS, CLUSTER, CLUSTER_NAME) if rights.may_cluster(DESCRIBE) else 0


def _describe_cluster(asked: AskedRequest) -> Narrowing | None:
    if not asked.body.include_cluster_authorized_operations:
        return None
    return Narrowing(asked.body, lambda answer: with_fields(answer, cluster_authorized_operations=_cluster_operations(asked.rights)))


def _fetch(asked: AskedRequest) -> Narrowing | None:
    return _partitioned(asked, attribute="topic") if asked.body.topics else None


def _list_offsets(asked: AskedRequest) -> Narrowing | None:
    return _partitioned(asked, DESCRIBE)


def _epoch_ends(asked: AskedRequest) -> Narrowing | None:
    return _partitioned(asked, DESCRIBE, attribute="topic")


_CONFIG_RIGHTS: Final = {
    codes.TOPIC_RESOURCE: (TOPIC, TOPIC_AUTHORIZATION_FAILED),
    codes.GROUP_RESOURCE: (GROUP, GROUP_AUTHORIZATION_FAILED),
}


def _describe_configs(asked: AskedRequest) -> Narrowing | None:
    """DESCRIBE_CONFIGS on the topic, the group or the cluster. The controller is asked about the allowed rest only.

    Kafka's controllers do not take this request in an envelope: a broker checks it, and answers it.
    """
    allowed, refusals = [], []
    for one in asked.body.resources:
        resource, code = _CONFIG_RIGHTS.get(one.resource_type, (CLUSTER, CLUSTER_AUTHORIZATION_FAILED))
        if asked.rights.may(DESCRIBE_CONFIGS, resource, CLUSTER_NAME if resource == CLUSTER else one.resource_name):
            allowed.append(one)
        else:
            refusals.append(
                messages.DescribeConfigsResponse.DescribeConfigsResult(
                    error_code=code, error_message=error_message(code), resource_type=one.resource_type, resource_name=one.resource_name
                )
            )

    def finish(answer: Any) -> Any:
        answer = messages.DescribeConfigsResponse() if answer is None else answer
        return with_fields(answer, results=(*answer.results, *refusals))

    return Narrowing(with_fields(asked.body, resources=tuple(allowed)) if allowed else None, finish)


def _refused_group(kind: Any) -> Callable[[str], Any]:
    return lambda name: kind(group_id=name, error_code=GROUP_AUTHORIZATION_FAILED)


def _refused_anyway(asked: AskedRequest) -> None:
    """Who wants to produce is refused, whoever asks, in the same words for every topic."""


RULES: Final[dict[int, Rule]] = {
    **dict.fromkeys((codes.PRODUCE, codes.ADD_PARTITIONS_TO_TXN), _refused_anyway),
    codes.FETCH: _fetch,
    codes.LIST_OFFSETS: _list_offsets,
    codes.METADATA: _metadata,
    codes.OFFSET_COMMIT: _offset_commit,
    codes.OFFSET_FETCH: _offset_fetch,
    codes.FIND_COORDINATOR: _find_coordinator,
    codes.JOIN_GROUP: _group(),
    codes.HEARTBEAT: _group(),
    codes.LEAVE_GROUP: _group(),
    codes.SYNC_GROUP: _group(),
    codes.DESCRIBE_GROUPS: _several("groups", "groups", DESCRIBE, _refused_group(messages.DescribeGroupsResponse.DescribedGroup)),
    codes.LIST_GROUPS: _list_groups,
    codes.INIT_PRODUCER_ID: _init_producer_id,
    codes.OFFSET_FOR_LEADER_EPOCH: _epoch_ends,
    codes.ADD_OFFSETS_TO_TXN: _add_offsets,
    codes.END_TXN: _transaction,
    codes.TXN_OFFSET_COMMIT: _txn_offset_commit,
    codes.DELETE_GROUPS: _several("groups_names", "results", DELETE, _refused_group(messages.DeleteGroupsResponse.DeletableGroupResult)),
    codes.OFFSET_DELETE: _offset_delete,
    codes.DESCRIBE_CLUSTER: _describe_cluster,
    codes.DESCRIBE_CONFIGS: _describe_configs,
    codes.CONSUMER_GROUP_HEARTBEAT: _heartbeat(_subscribed),
    codes.CONSUMER_GROUP_DESCRIBE: _several(
        "group_ids", "groups", DESCRIBE, _refused_group(messages.ConsumerGroupDescribeResponse.DescribedGroup)
    ),
    codes.STREAMS_GROUP_HEARTBEAT: _heartbeat(_topology_topics),
    codes.STREAMS_GROUP_DESCRIBE: _several(
        "group_ids", "groups", DESCRIBE, _refused_group(messages.StreamsGroupDescribeResponse.DescribedGroup)
    ),
}
"""By api key. Every API of a group server has a rule, or is forwarded as who asked: a test looks."""
