-- Registrations of brokers: from when to when each held, how often it was fenced, and when its controlled shutdown began; those that
-- last first, then the newest.
with changed as (
    select
        cluster_id, broker_id, broker_epoch, count(case when fencing = 1 then 1 end) as fenced_count,
        count(case when fencing = -1 then 1 end) as unfenced_count, min(case when fencing = -1 then at_ms end) as unfenced_ms,
        min(case when shutdown = 1 then at_ms end) as shutdown_ms
    from broker_changes
    group by cluster_id, broker_id, broker_epoch
)
select
    r.cluster_id, r.broker_id, r.broker_epoch, r.rack, r.registered_ms as registered_at, c.unfenced_ms as first_unfenced_at,
    coalesce(c.fenced_count, 0) as fenced_count, coalesce(c.unfenced_count, 0) as unfenced_count,
    c.shutdown_ms as controlled_shutdown_at, r.ended_ms as ended_at, r.ended_by,
    case when r.ended_by = 'open' then e.end_ms else r.ended_ms end - r.registered_ms as lasted_ms
from registrations r
left join changed c on c.cluster_id = r.cluster_id and c.broker_id = r.broker_id and c.broker_epoch = r.broker_epoch
left join log_ends e on e.cluster_id = r.cluster_id
order by r.cluster_id, case when r.ended_by = 'open' then 0 else 1 end, r.broker_epoch desc, r.broker_id
