-- Registrations of brokers: from when to when each held, how often it was fenced, and when its controlled shutdown began.
--
-- A registration is known by its broker epoch. registered_at is null where a registration is known only from checkpoints.
with registrations as (
    select
        cluster_id, broker_id, broker_epoch, max(rack) as rack, max(case when is_state = 0 then fenced end) as fenced_at_first,
        min(case when is_state = 0 then at_ms end) as registered_ms, min(position) as position, max(case when shutdown = 1 then 1 else 0 end) as shutdown
    from (
        select
            cluster_id, broker_id, broker_epoch, rack, timestamp as at_ms, case when fenced then 1 else 0 end as fenced,
            case when in_controlled_shutdown then 1 else 0 end as shutdown, case when file like '%.checkpoint%' then 1 else 0 end as is_state,
            case when file like '%.checkpoint%'
                then 2 * coalesce(try_cast(regexp_extract(file, '([0-9]{20})-[0-9]{10}[.]checkpoint', 1) as bigint), 0)
                else 2 * log_offset + 1 end as position
        from register_broker
    ) seen
    group by cluster_id, broker_id, broker_epoch
),
changes as (
    select distinct
        cluster_id, log_offset, timestamp as at_ms, broker_id, broker_epoch, cast(fenced as int) as fencing,
        cast(in_controlled_shutdown as int) as shutdown
    from broker_registration_change where file not like '%.checkpoint%'
    union
    select cluster_id, log_offset, timestamp as at_ms, id as broker_id, value_epoch as broker_epoch, 1 as fencing, 0 as shutdown
    from fence_broker where file not like '%.checkpoint%'
    union
    select cluster_id, log_offset, timestamp as at_ms, id as broker_id, value_epoch as broker_epoch, -1 as fencing, 0 as shutdown
    from unfence_broker where file not like '%.checkpoint%'
),
changed as (
    select
        cluster_id, broker_id, broker_epoch, count(case when fencing = 1 then 1 end) as fenced_count,
        count(case when fencing = -1 then 1 end) as unfenced_count, min(case when fencing = -1 then at_ms end) as unfenced_ms,
        min(case when shutdown = 1 then at_ms end) as shutdown_ms
    from changes
    group by cluster_id, broker_id, broker_epoch
),
unregistered as (
    select cluster_id, broker_id, broker_epoch, min(timestamp) as at_ms
    from unregister_broker where file not like '%.checkpoint%'
    group by cluster_id, broker_id, broker_epoch
),
followed as (
    select *, lead(registered_ms) over (partition by cluster_id, broker_id order by broker_epoch) as next_ms from registrations
)
select
    r.cluster_id, r.broker_id, r.broker_epoch, r.rack, r.registered_ms as registered_at, c.unfenced_ms as first_unfenced_at,
    coalesce(c.fenced_count, 0) as fenced_count, coalesce(c.unfenced_count, 0) as unfenced_count,
    c.shutdown_ms as controlled_shutdown_at, coalesce(u.at_ms, r.next_ms) as ended_at,
    case when u.at_ms is not null then 'unregistered' when r.next_ms is not null then 'registered again' end as ended_by,
    coalesce(u.at_ms, r.next_ms) - r.registered_ms as lasted_ms
from followed r
left join changed c on c.cluster_id = r.cluster_id and c.broker_id = r.broker_id and c.broker_epoch = r.broker_epoch
left join unregistered u on u.cluster_id = r.cluster_id and u.broker_id = r.broker_id and u.broker_epoch = r.broker_epoch
order by r.cluster_id, r.broker_epoch, r.broker_id
