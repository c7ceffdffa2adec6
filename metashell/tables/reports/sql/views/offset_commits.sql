-- Every record about a committed offset, once, and how it stands: `counts`, or its transaction was `aborted`, or is `open` at the end of the log.
--
-- log is the partition of __consumer_offsets, told by the file's folder; replicas of it hold the same offsets. A batch of a transaction
-- stands as the next marker of its producer says. Batches do not overlap, so a record is in one where the furthest end so far is not before it.
with placed as (
    select *, log_of(file) as log from offset_commit
),
numbered as (
    select *, row_number() over (partition by cluster_id, log, log_offset order by epoch desc, file) as copy from placed
),
steps as (
    select distinct cluster_id, log_of(file) as log, log_offset, last_offset, producer_id, marker
    from group_transactions
),
ended as (
    select
        *, min(case when marker is not null then log_offset end) over (
            partition by cluster_id, log, producer_id order by log_offset desc rows between unbounded preceding and 1 preceding) as marked
    from steps
),
undone as (
    select e.cluster_id, e.log, e.log_offset, e.last_offset, case when m.marker is null then 'open' else 'aborted' end as standing
    from ended e
    left join steps m
        on m.cluster_id = e.cluster_id and m.log = e.log and m.producer_id = e.producer_id and m.log_offset = e.marked and m.marker is not null
    where e.marker is null and (m.marker is null or m.marker = 'ABORT')
),
together as (
    select
        cluster_id, log, log_offset, 1 as is_commit, null as aborted_to, null as open_to, file, epoch, timestamp, group_id, topic, partition_id,
        tombstone, value_offset, commit_timestamp, expire_timestamp
    from numbered where copy = 1
    union all
    select
        cluster_id, log, log_offset, 0 as is_commit, case when standing = 'aborted' then last_offset end as aborted_to,
        case when standing = 'open' then last_offset end as open_to, null as file, null as epoch, null as timestamp, null as group_id, null as topic,
        null as partition_id, null as tombstone, null as value_offset, null as commit_timestamp, null as expire_timestamp
    from undone
),
reached as (
    select *, max(aborted_to) over so_far as aborted_until, max(open_to) over so_far as open_until
    from together
    window so_far as (partition by cluster_id, log order by log_offset, is_commit rows between unbounded preceding and current row)
)
select
    cluster_id, log, log_offset, timestamp, group_id, topic, partition_id, tombstone, value_offset, commit_timestamp, expire_timestamp,
    case when aborted_until >= log_offset then 'aborted' when open_until >= log_offset then 'open' else 'counts' end as standing
from reached where is_commit = 1
