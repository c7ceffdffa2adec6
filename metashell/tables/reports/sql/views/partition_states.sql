-- Every partition after every record that touches it: a fold of PartitionChangeRecords in window functions.
--
-- Rows of a checkpoint are states, not events; they stand just before the first record that the checkpoint does not hold. A record
-- that several replicas keep counts once. `count(x)` grows with every record that sets x, so within one of its values the first x is
-- the value in force; this needs no IGNORE NULLS, which the dialects spell apart. array_except(x, x) is an empty list.
with touched as (
    select
        cluster_id, file, epoch, log_offset, timestamp as at_ms, topic_id, partition_id,
        case when in_checkpoint(file) then 'snapshot' else 'created' end as kind,
        position_of(file, log_offset) as position,
        replicas, coalesce(adding_replicas, array_except(replicas, replicas)) as adding_replicas, isr, leader,
        cast(leader_recovery_state as int) as leader_recovery_state,
        coalesce(eligible_leader_replicas, array_except(replicas, replicas)) as elr,
        coalesce(last_known_elr, array_except(replicas, replicas)) as last_known_elr
    from partition
    union all
    select
        cluster_id, file, epoch, log_offset, timestamp as at_ms, topic_id, partition_id, 'changed' as kind, 2 * log_offset + 1 as position,
        replicas, adding_replicas, isr, case when leader <> -2 then leader end as leader,
        case when leader_recovery_state <> -1 then cast(leader_recovery_state as int) end as leader_recovery_state,
        eligible_leader_replicas as elr, last_known_elr
    from partition_change
    union all
    select
        c.cluster_id, c.file, c.epoch, c.log_offset, c.timestamp as at_ms, p.topic_id, p.partition_id, 'cleared' as kind,
        2 * c.log_offset + 1 as position, null as replicas, null as adding_replicas, null as isr, null as leader,
        null as leader_recovery_state, p.none as elr, p.none as last_known_elr
    from clear_elr c
    join (
        select cluster_id, topic_id, partition_id, min(array_except(replicas, replicas)) as none
        from partition group by cluster_id, topic_id, partition_id
    ) p on p.cluster_id = c.cluster_id
    join topic_names t on t.cluster_id = p.cluster_id and t.topic_id = p.topic_id
    where (c.topic_name = '' or c.topic_name = t.topic) and t.first_position < 2 * c.log_offset + 1
        and (t.removed_position is null or t.removed_position > 2 * c.log_offset + 1)
),
numbered as (
    select *, row_number() over (
        partition by cluster_id, topic_id, partition_id, position order by epoch desc, file) as copy
    from touched
),
counted as (
    select
        *, count(replicas) over so_far as replicas_set, count(adding_replicas) over so_far as adding_set, count(isr) over so_far as isr_set,
        count(leader) over so_far as leader_set, count(leader_recovery_state) over so_far as recovery_set,
        count(elr) over so_far as elr_set, count(last_known_elr) over so_far as last_known_set
    from numbered
    where copy = 1
    window so_far as (
        partition by cluster_id, topic_id, partition_id order by position rows between unbounded preceding and current row)
),
folded as (
    select
        cluster_id, topic_id, partition_id, position, kind, log_offset, epoch, at_ms,
        first_value(replicas) over (partition by cluster_id, topic_id, partition_id, replicas_set order by position) as replicas,
        first_value(adding_replicas) over (partition by cluster_id, topic_id, partition_id, adding_set order by position) as adding_replicas,
        first_value(isr) over (partition by cluster_id, topic_id, partition_id, isr_set order by position) as isr,
        first_value(leader) over (partition by cluster_id, topic_id, partition_id, leader_set order by position) as leader,
        first_value(leader_recovery_state) over (
            partition by cluster_id, topic_id, partition_id, recovery_set order by position) as leader_recovery_state,
        first_value(elr) over (partition by cluster_id, topic_id, partition_id, elr_set order by position) as elr,
        first_value(last_known_elr) over (partition by cluster_id, topic_id, partition_id, last_known_set order by position) as last_known_elr
    from counted
    where replicas_set > 0
)
select
    *, lead(position) over history is null as is_last,
    lag(replicas) over history as previous_replicas, lag(adding_replicas) over history as previous_adding_replicas,
    lag(isr) over history as previous_isr, lag(leader) over history as previous_leader,
    lag(leader_recovery_state) over history as previous_recovery_state,
    lag(elr) over history as previous_elr, lag(last_known_elr) over history as previous_last_known_elr
from folded
window history as (partition by cluster_id, topic_id, partition_id order by position)
