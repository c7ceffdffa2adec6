-- Every registration of a broker, known by its broker epoch: the state that it began with, and when it was unregistered or followed by
-- another one.
--
-- registered_ms is null where a registration is known only from checkpoints, ended_ms where a part of the log was not read in which it ended:
-- a later registration, or a checkpoint without this one, tells that it did. position is that of partition_states.
with seen as (
    select
        cluster_id, broker_id, broker_epoch, rack, timestamp as at_ms, case when fenced then 1 else 0 end as fenced,
        case when in_controlled_shutdown then 1 else 0 end as shutdown, case when in_checkpoint(file) then 1 else 0 end as is_state,
        position_of(file, log_offset) as position
    from register_broker
),
numbered as (
    select
        *, row_number() over (partition by cluster_id, broker_id, broker_epoch order by is_state, position) as turn,
        row_number() over (partition by cluster_id, broker_id, broker_epoch order by position desc) as turn_from_last
    from seen
),
registered as (
    select
        cluster_id, broker_id, broker_epoch, max(case when turn_from_last = 1 then rack end) as rack,
        min(case when is_state = 0 then at_ms end) as registered_ms, min(position) as first_position,
        max(case when turn = 1 then position end) as position, max(case when turn = 1 then fenced end) as fenced,
        max(case when turn = 1 then shutdown end) as shutdown
    from numbered
    group by cluster_id, broker_id, broker_epoch
),
unregistered as (
    select cluster_id, broker_id, broker_epoch, min(timestamp) as at_ms, min(2 * log_offset + 1) as position
    from unregister_broker where not in_checkpoint(file)
    group by cluster_id, broker_id, broker_epoch
),
-- One without any broker is told by its header.
checkpoints as (
    select cluster_id, position from seen where is_state = 1
    union
    select cluster_id, position_of(file, log_offset) as position from control where in_checkpoint(file)
),
missed as (
    select r.cluster_id, r.broker_id, r.broker_epoch, min(c.position) as position
    from registered r
    join checkpoints c on c.cluster_id = r.cluster_id and c.position > r.first_position
    left join (select distinct cluster_id, broker_id, broker_epoch, position from seen where is_state = 1) h
        on h.cluster_id = r.cluster_id and h.broker_id = r.broker_id and h.broker_epoch = r.broker_epoch and h.position = c.position
    where h.broker_id is null
    group by r.cluster_id, r.broker_id, r.broker_epoch
),
followed as (
    select
        *, lead(registered_ms) over history as next_ms, lead(position) over history as next_position
    from registered
    window history as (partition by cluster_id, broker_id order by broker_epoch)
)
select
    r.cluster_id, r.broker_id, r.broker_epoch, r.rack, r.registered_ms, r.position, r.fenced, r.shutdown,
    coalesce(u.at_ms, r.next_ms) as ended_ms, coalesce(u.position, r.next_position, m.position) as ended_position,
    case when u.at_ms is not null then 'unregistered' when r.next_position is not null then 'registered again'
        when m.position is not null then 'unregistered' else 'open' end as ended_by
from followed r
left join unregistered u on u.cluster_id = r.cluster_id and u.broker_id = r.broker_id and u.broker_epoch = r.broker_epoch
left join missed m on m.cluster_id = r.cluster_id and m.broker_id = r.broker_id and m.broker_epoch = r.broker_epoch
