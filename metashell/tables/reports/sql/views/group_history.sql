-- The rows of group_members once each, with the life of the group (deleted groups may come back) and the generation in force.
--
-- log is the partition of __consumer_offsets, told by the file's folder; replicas of it hold the same offsets.
with placed as (
    select *, log_of(file) as log from group_members
),
numbered as (
    select *, row_number() over (
        partition by cluster_id, log, log_offset, group_id, is_group, coalesce(member_id, '') order by epoch desc, file) as copy
    from placed
),
lives as (
    select
        *, coalesce(sum(case when is_group and is_gone then 1 else 0 end) over (
            partition by cluster_id, log, group_id order by log_offset rows between unbounded preceding and 1 preceding), 0) as life
    from numbered
    where copy = 1
)
select
    cluster_id, log, group_id, life, log_offset, timestamp as at_ms, protocol, is_group, is_gone, member_id, assigned,
    coalesce(
        max(case when is_group and not is_gone then generation end) over so_far, case when not is_gone then generation end) as generation,
    sum(case when is_group then 1 else 0 end) over so_far as step,
    sum(case when is_group then 1 else 0 end) over (partition by cluster_id, log, group_id, life) as last_step
from lives
window so_far as (partition by cluster_id, log, group_id, life order by log_offset)
