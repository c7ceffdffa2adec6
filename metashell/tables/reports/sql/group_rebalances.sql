-- Generations of groups (group epochs, for KIP-848): when each began, who joined and left, and how many partitions moved.
--
-- Classic groups tell all members with each generation, so one that is missing from the next has left; in the other protocols a
-- tombstone says so. A partition has moved when another member than its last owner gets it; share groups own nothing alone.
with members as (
    select
        *, lag(step) over of_member as step_before, lag(is_gone) over of_member as was_gone, lead(step) over of_member as step_after
    from group_history
    where not is_group
    window of_member as (partition by cluster_id, log, group_id, life, member_id order by log_offset)
),
owned as (
    select cluster_id, log, group_id, life, log_offset, generation, member_id, protocol, explode(assigned) as partition
    from group_history where not is_group and not is_gone
),
owners as (
    -- Two clusters under one id may give a partition two owners at one offset: their ids decide, so that each run answers the same.
    select
        *, lag(member_id) over (
            partition by cluster_id, log, group_id, life, partition order by log_offset, member_id) as owner_before
    from owned
),
happened as (
    select
        cluster_id, log, group_id, life, generation, log_offset, at_ms, protocol, 0 as joined, 0 as departed, 0 as moved
    from group_history where is_group and not is_gone
    union all
    select
        cluster_id, log, group_id, life, generation, log_offset, at_ms, protocol,
        case when not is_gone and (was_gone is null or was_gone or (protocol in ('classic', 'cooperative') and step_before < step - 1))
            then 1 else 0 end as joined,
        case when is_gone and was_gone is not null and not was_gone then 1 else 0 end as departed, 0 as moved
    from members
    union all
    select
        g.cluster_id, g.log, g.group_id, g.life, g.generation, g.log_offset, g.at_ms, m.protocol, 0 as joined, 1 as departed, 0 as moved
    from members m
    join group_history g on g.cluster_id = m.cluster_id and g.log = m.log and g.group_id = m.group_id and g.life = m.life
        and g.is_group and not g.is_gone and g.step = m.step + 1
    where m.protocol in ('classic', 'cooperative') and (m.step_after is null or m.step_after > m.step + 1)
    union all
    select
        cluster_id, log, group_id, life, generation, log_offset, null as at_ms, protocol, 0 as joined, 0 as departed, 1 as moved
    from owners where owner_before is not null and owner_before <> member_id and protocol <> 'share'
),
generations as (
    select
        cluster_id, log, group_id, life, generation, min(log_offset) as log_offset, min(at_ms) as at_ms, max(at_ms) as last_ms,
        max(protocol) as protocol, sum(joined) as joined, sum(departed) as departed, sum(moved) as moved
    from happened
    where generation is not null
    group by cluster_id, log, group_id, life, generation
)
select
    cluster_id, group_id, protocol, generation, at_ms as started_at, last_ms - at_ms as settled_ms, joined, departed,
    sum(joined - departed) over (
        partition by cluster_id, log, group_id, life order by generation rows between unbounded preceding and current row) as members,
    moved as partitions_moved
from generations
order by cluster_id, group_id, started_at, generation
