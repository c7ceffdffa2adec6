-- Committed offsets by group, partition and hour: how many commits, from where to where, rewinds and deletions.
--
-- Commits of transactions count where the transaction was committed.
with commits as (
    select
        cluster_id, log, group_id, topic, partition_id, log_offset, timestamp as at_ms, tombstone, value_offset as committed,
        lag(value_offset) over (partition by cluster_id, log, group_id, topic, partition_id order by log_offset) as committed_before,
        row_number() over (
            partition by cluster_id, log, group_id, topic, partition_id, timestamp - timestamp % 3600000, tombstone order by log_offset) as first_rank,
        row_number() over (
            partition by cluster_id, log, group_id, topic, partition_id, timestamp - timestamp % 3600000, tombstone order by log_offset desc) as last_rank
    from offset_commits
    where standing = 'counts'
)
select
    cluster_id, group_id, topic, partition_id as partition, at_ms - at_ms % 3600000 as hour, count(case when not tombstone then 1 end) as commits,
    max(case when first_rank = 1 and not tombstone then committed end) as first_offset,
    max(case when last_rank = 1 and not tombstone then committed end) as last_offset,
    count(case when committed < committed_before then 1 end) as rewinds, count(case when tombstone then 1 end) as deletions
from commits
group by cluster_id, group_id, topic, partition_id, at_ms - at_ms % 3600000
order by cluster_id, group_id, topic, partition, hour
