-- Who became and ceased to be leader, and who left and joined an ISR: a row for each broker and hour with any of these.
--
-- What a change altered is known only where the partition's state before it was read; changes of which it was not are counted in rows
-- without a broker. A change that several replicas keep counts once.
with changes as (
    select * from partition_states where kind = 'changed' and previous_isr is not null
),
moves as (
    select cluster_id, at_ms, leader as broker_id, 'leader gained' as move
    from changes where leader <> previous_leader and leader >= 0
    union all
    select cluster_id, at_ms, previous_leader as broker_id, 'leader lost' as move
    from changes where leader <> previous_leader and previous_leader >= 0
    union all
    select cluster_id, at_ms, explode(array_except(previous_isr, isr)) as broker_id, 'isr left' as move from changes
    union all
    select cluster_id, at_ms, explode(array_except(isr, previous_isr)) as broker_id, 'isr joined' as move from changes
    union all
    select cluster_id, at_ms, null as broker_id, 'unknown' as move from unknown_changes
)
select
    cluster_id, at_ms - at_ms % 3600000 as hour, broker_id,
    count(case when move = 'leader gained' then 1 end) as leaders_gained,
    count(case when move = 'leader lost' then 1 end) as leaders_lost,
    count(case when move = 'isr left' then 1 end) as isr_shrinks,
    count(case when move = 'isr joined' then 1 end) as isr_expands,
    count(case when move = 'unknown' then 1 end) as changes_left_out
from moves
group by cluster_id, at_ms - at_ms % 3600000, broker_id
order by cluster_id, hour desc, broker_id nulls last
