-- Every topic by its id: its name, where it was first seen, when a record of the log made it, and when it was removed.
--
-- Positions are those of partition_states. created_ms is null where only checkpoints know the topic. Where a part of the log was not read, the
-- record that removed a topic may lie in it: the first checkpoint without the topic tells, and removed_position is even then.
with named as (
    select
        cluster_id, topic_id, name, timestamp as at_ms, in_checkpoint(file) as is_state, position_of(file, log_offset) as position
    from topic
),
removed as (
    select cluster_id, topic_id, min(timestamp) as at_ms, min(2 * log_offset + 1) as position
    from remove_topic
    where not in_checkpoint(file)
    group by cluster_id, topic_id
),
topics as (
    select
        cluster_id, topic_id, max(name) as topic, min(position) as first_position, min(case when not is_state then at_ms end) as created_ms,
        min(case when not is_state then position end) as created_position
    from named
    group by cluster_id, topic_id
),
-- One without any topic is told by its header.
checkpoints as (
    select cluster_id, position, max(at_ms) as at_ms
    from (
        select cluster_id, position, at_ms from named where is_state
        union all
        select cluster_id, position_of(file, log_offset) as position, timestamp as at_ms from control where in_checkpoint(file)
    ) told
    group by cluster_id, position
),
held as (
    select distinct cluster_id, topic_id, position from named where is_state
),
missed as (
    select t.cluster_id, t.topic_id, min(c.position) as position
    from topics t
    join checkpoints c on c.cluster_id = t.cluster_id and c.position > t.first_position
    left join held h on h.cluster_id = t.cluster_id and h.topic_id = t.topic_id and h.position = c.position
    where h.topic_id is null
    group by t.cluster_id, t.topic_id
)
select
    t.cluster_id, t.topic_id, t.topic, t.first_position, t.created_ms, t.created_position, coalesce(r.at_ms, c.at_ms) as removed_ms,
    coalesce(r.position, m.position) as removed_position
from topics t
left join removed r on r.cluster_id = t.cluster_id and r.topic_id = t.topic_id
left join missed m on m.cluster_id = t.cluster_id and m.topic_id = t.topic_id
left join checkpoints c on c.cluster_id = m.cluster_id and c.position = m.position
