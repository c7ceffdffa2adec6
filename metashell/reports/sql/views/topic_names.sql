-- Every topic by its id: its name, where it was first seen, when a record of the log made it, and when one removed it.
--
-- Positions are those of partition_states. created_ms is null where only checkpoints know the topic.
with named as (
    select
        cluster_id, topic_id, name, timestamp as at_ms, file like '%.checkpoint%' as is_state,
        case when file like '%.checkpoint%'
            then 2 * coalesce(try_cast(regexp_extract(file, '([0-9]{20})-[0-9]{10}[.]checkpoint', 1) as bigint), 0)
            else 2 * log_offset + 1 end as position
    from topic
),
removed as (
    select cluster_id, topic_id, min(timestamp) as at_ms, min(2 * log_offset + 1) as position
    from remove_topic
    where file not like '%.checkpoint%'
    group by cluster_id, topic_id
)
select
    n.cluster_id, n.topic_id, max(n.name) as topic, min(n.position) as first_position,
    min(case when not n.is_state then n.at_ms end) as created_ms,
    min(case when not n.is_state then n.position end) as created_position,
    max(r.at_ms) as removed_ms, max(r.position) as removed_position
from named n
left join removed r on r.cluster_id = n.cluster_id and r.topic_id = n.topic_id
group by n.cluster_id, n.topic_id
