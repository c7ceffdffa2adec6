-- Every state of a registered broker: fenced, active or shutting down; from when to when.
--
-- at_ms is null for the state that a registration had at the checkpoint from which alone it is known; ended_ms is null for a state that
-- lasts. A record that does not change the state begins no other one.
with steps as (
    select cluster_id, broker_id, broker_epoch, position, registered_ms as at_ms, fenced, shutdown from registrations
    union all
    select
        c.cluster_id, c.broker_id, c.broker_epoch, 2 * c.log_offset + 1 as position, c.at_ms,
        case c.fencing when 1 then 1 when -1 then 0 end as fenced, case when c.shutdown = 1 then 1 end as shutdown
    from broker_changes c
),
counted as (
    select
        *, count(fenced) over so_far as fenced_set, count(shutdown) over so_far as shutdown_set
    from steps
    window so_far as (
        partition by cluster_id, broker_id, broker_epoch order by position rows between unbounded preceding and current row)
),
folded as (
    select
        cluster_id, broker_id, broker_epoch, position, at_ms,
        first_value(fenced) over (partition by cluster_id, broker_id, broker_epoch, fenced_set order by position) as fenced,
        first_value(shutdown) over (partition by cluster_id, broker_id, broker_epoch, shutdown_set order by position) as shutdown
    from counted
),
named as (
    select *, case when fenced = 1 then 'fenced' when shutdown = 1 then 'shutting down' else 'active' end as state from folded
),
compared as (
    select *, lag(state) over (partition by cluster_id, broker_id, broker_epoch order by position) as state_before from named
),
begun as (
    select *, lead(at_ms) over history as next_ms, lead(position) over history as next_position
    from compared where state_before is null or state_before <> state
    window history as (partition by cluster_id, broker_id, broker_epoch order by position)
)
select
    b.cluster_id, b.broker_id, b.broker_epoch, b.state, b.at_ms, b.position, coalesce(b.next_ms, r.ended_ms) as ended_ms,
    case when b.next_position is null and r.ended_by = 'open' then 1 else 0 end as is_open
from begun b
join registrations r on r.cluster_id = b.cluster_id and r.broker_id = b.broker_id and r.broker_epoch = b.broker_epoch
