-- Every registration of a broker, known by its broker epoch: the state that it began with, and when it was unregistered or followed by
-- another one.
--
-- registered_ms is null where a registration is known only from checkpoints. position is that of partition_states.
with seen as (
    select
        cluster_id, broker_id, broker_epoch, rack, timestamp as at_ms, case when fenced then 1 else 0 end as fenced,
        case when in_controlled_shutdown then 1 else 0 end as shutdown, case when file like '%.checkpoint%' then 1 else 0 end as is_state,
        case when file like '%.checkpoint%'
            then 2 * coalesce(try_cast(regexp_extract(file, '([0-9]{20})-[0-9]{10}[.]checkpoint', 1) as bigint), 0)
            else 2 * log_offset + 1 end as position
    from register_broker
),
numbered as (
    select *, row_number() over (partition by cluster_id, broker_id, broker_epoch order by is_state, position) as turn from seen
),
registered as (
    select
        cluster_id, broker_id, broker_epoch, max(rack) as rack, min(case when is_state = 0 then at_ms end) as registered_ms,
        max(case when turn = 1 then position end) as position, max(case when turn = 1 then fenced end) as fenced,
        max(case when turn = 1 then shutdown end) as shutdown
    from numbered
    group by cluster_id, broker_id, broker_epoch
),
unregistered as (
    select cluster_id, broker_id, broker_epoch, min(timestamp) as at_ms, min(2 * log_offset + 1) as position
    from unregister_broker where file not like '%.checkpoint%'
    group by cluster_id, broker_id, broker_epoch
),
followed as (
    select
        *, lead(registered_ms) over history as next_ms, lead(position) over history as next_position
    from registered
    window history as (partition by cluster_id, broker_id order by broker_epoch)
)
select
    r.cluster_id, r.broker_id, r.broker_epoch, r.rack, r.registered_ms, r.position, r.fenced, r.shutdown,
    coalesce(u.at_ms, r.next_ms) as ended_ms, coalesce(u.position, r.next_position) as ended_position,
    case when u.at_ms is not null then 'unregistered' when r.next_ms is not null then 'registered again' else 'open' end as ended_by
from followed r
left join unregistered u on u.cluster_id = r.cluster_id and u.broker_id = r.broker_id and u.broker_epoch = r.broker_epoch
