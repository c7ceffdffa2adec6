-- Intervals in which a partition had fewer in-sync replicas than replicas, open ones first, then the longest.
--
-- Replicas that a reassignment is adding do not count, as in Kafka's own gauge. An interval ends with the record that fills the ISR,
-- with the topic's removal, or is still open at the last record of the cluster that was read.
with states as (
    select
        cluster_id, topic_id, partition_id, position, at_ms, kind, size(isr) as isr_size,
        size(array_except(replicas, adding_replicas)) as wanted, array_except(replicas, isr) as missing, leader,
        size(isr) < size(array_except(replicas, adding_replicas)) as is_under
    from partition_states
),
flagged as (
    select *, lag(is_under) over (partition by cluster_id, topic_id, partition_id order by position) as was_under from states
),
runs as (
    select
        *, sum(case when was_under is null or was_under <> is_under then 1 else 0 end) over (
            partition by cluster_id, topic_id, partition_id order by position rows between unbounded preceding and current row) as run
    from flagged
),
grouped as (
    select
        cluster_id, topic_id, partition_id, run, is_under, min(position) as position, min(at_ms) as at_ms, min(isr_size) as isr_size_min,
        max(wanted) as replicas, max(case when leader = -1 then 1 else 0 end) as was_leaderless
    from runs
    group by cluster_id, topic_id, partition_id, run, is_under
),
bounded as (
    select *, lead(at_ms) over (partition by cluster_id, topic_id, partition_id order by run) as restored_ms from grouped
)
select
    b.cluster_id, coalesce(t.topic, '') as topic, b.partition_id as partition, b.at_ms as started_at,
    coalesce(b.restored_ms, t.removed_ms) as ended_at,
    coalesce(b.restored_ms, t.removed_ms, e.end_ms, b.at_ms) - b.at_ms as lasted_ms,
    case when b.restored_ms is not null then 'restored' when t.removed_ms is not null then 'topic removed' else 'open' end as ended_by,
    b.replicas, b.isr_size_min, b.was_leaderless = 1 as was_leaderless, s.missing as missing_at_start
from bounded b
join states s on s.cluster_id = b.cluster_id and s.topic_id = b.topic_id and s.partition_id = b.partition_id and s.position = b.position
left join topic_names t on t.cluster_id = b.cluster_id and t.topic_id = b.topic_id
left join log_ends e on e.cluster_id = b.cluster_id
where b.is_under
order by case when b.restored_ms is null and t.removed_ms is null then 0 else 1 end, lasted_ms desc, b.cluster_id, topic, partition, started_at
