-- Topics made, grown and removed, and every change of a configuration, the newest first.
--
-- What a checkpoint holds is not an event: it is the value before the first event. Secret values are redacted.
with sizes as (
    select
        cluster_id, topic_id, position, max(at_ms) as at_ms, min(log_offset) as log_offset, max(partition_id) + 1 as partitions,
        min(case when kind = 'snapshot' then 1 else 0 end) as is_state
    from partition_states
    where kind in ('created', 'snapshot')
    group by cluster_id, topic_id, position
),
grown as (
    select *, coalesce(max(partitions) over (
        partition by cluster_id, topic_id order by position rows between unbounded preceding and 1 preceding), 0) as partitions_before
    from sizes
),
grown_together as (
    select
        cluster_id, topic_id, at_ms, min(log_offset) as log_offset, min(partitions_before) as partitions_before, max(partitions) as partitions
    from grown
    where is_state = 0 and partitions > partitions_before
    group by cluster_id, topic_id, at_ms
),
events as (
    select
        cluster_id, created_ms as at, cast((created_position - 1) / 2 as bigint) as log_offset, 'topic' as resource, topic as name,
        'created' as event, cast(null as string) as setting, cast(null as string) as value_before, cast(null as string) as value
    from topic_names where created_ms is not null
    union all
    select
        cluster_id, removed_ms as at, cast((removed_position - 1) / 2 as bigint) as log_offset, 'topic' as resource, topic as name,
        'removed' as event, null as setting, null as value_before, null as value
    from topic_names where removed_position % 2 = 1
    union all
    select
        g.cluster_id, g.at_ms as at, g.log_offset, 'topic' as resource, coalesce(t.topic, '') as name, 'partitions' as event, null as setting,
        cast(g.partitions_before as string) as value_before, cast(g.partitions as string) as value
    from grown_together g
    left join topic_names t on t.cluster_id = g.cluster_id and t.topic_id = g.topic_id
    union all
    select
        cluster_id, at_ms as at, log_offset, resource, resource_name as name,
        case when value is null then 'config removed' else 'config set' end as event, name as setting, value_before, value
    from config_changes
)
select * from events order by cluster_id, log_offset desc, event, setting, name
