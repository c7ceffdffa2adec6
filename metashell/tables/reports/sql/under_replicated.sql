-- Intervals in which a partition had fewer in-sync replicas than replicas, open ones first, then the longest.
--
-- Replicas that a reassignment is adding do not count, as in Kafka's own gauge. An interval ends with the record that fills the ISR,
-- with the topic's removal, or is still open at the last record of the cluster that was read.
with states as (
    select
        cluster_id, topic_id, partition_id, position, at_ms, leader, size(isr) as isr_size,
        size(replicas) - size(adding_replicas) as wanted, array_except(replicas, isr) as missing,
        size(isr) < size(replicas) - size(adding_replicas) as is_under,
        coalesce(size(previous_isr) < size(previous_replicas) - size(previous_adding_replicas), false) as was_under
    from partition_states
),
runs as (
    select
        *, sum(case when was_under then 0 else 1 end) over (
            partition by cluster_id, topic_id, partition_id order by position rows between unbounded preceding and current row) as run
    from states
    where is_under or was_under
),
bounded as (
    select
        cluster_id, topic_id, partition_id, run, min(case when is_under and not was_under then at_ms end) as at_ms,
        min(case when is_under then isr_size end) as isr_size_min, max(case when is_under then wanted end) as replicas,
        max(case when is_under and leader = -1 then 1 else 0 end) as was_leaderless,
        max(case when is_under and not was_under then missing end) as missing_at_start, min(case when not is_under then at_ms end) as restored_ms
    from runs
    group by cluster_id, topic_id, partition_id, run
)
select
    b.cluster_id, coalesce(t.topic, '') as topic, b.partition_id as partition, b.at_ms as started_at,
    coalesce(b.restored_ms, t.removed_ms) as ended_at,
    coalesce(b.restored_ms, t.removed_ms, e.end_ms, b.at_ms) - b.at_ms as lasted_ms,
    case when b.restored_ms is not null then 'restored' when t.removed_ms is not null then 'topic removed' else 'open' end as ended_by,
    b.replicas, b.isr_size_min, b.was_leaderless = 1 as was_leaderless, b.missing_at_start
from bounded b
left join topic_names t on t.cluster_id = b.cluster_id and t.topic_id = b.topic_id
left join log_ends e on e.cluster_id = b.cluster_id
order by
    case when b.restored_ms is null and t.removed_ms is null then 0 else 1 end, lasted_ms desc, b.cluster_id, topic, partition, started_at,
    b.topic_id
