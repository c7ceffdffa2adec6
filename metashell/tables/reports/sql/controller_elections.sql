-- Every leader of the metadata quorum: when it was elected, how long it led, what it wrote, and the silence before.
--
-- silence_ms is the time from the last batch of the epoch before to the election.
with written as (
    select cluster_id, epoch, min(last_ms) as first_ms, max(last_ms) as last_ms, sum(records) as records, count(*) as batches
    from (
        select cluster_id, epoch, log_offset, max(timestamp) as last_ms, max(count) as records
        from batches
        where not in_checkpoint(file)
        group by cluster_id, epoch, log_offset
    ) once
    group by cluster_id, epoch
),
spans as (
    select w.*, lag(last_ms) over (partition by cluster_id order by epoch) as before_ms from written w
)
select
    f.cluster_id, f.at_ms as elected_at, f.epoch, f.log_offset, f.previous_leader_id, f.leader_id,
    coalesce(f.next_ms, s.last_ms, f.at_ms) - f.at_ms as led_ms, f.at_ms - s.before_ms as silence_ms,
    coalesce(s.records, 0) as records, coalesce(s.batches, 0) as batches
from elections f
left join spans s on s.cluster_id = f.cluster_id and s.epoch = f.epoch
order by f.cluster_id, f.epoch desc
