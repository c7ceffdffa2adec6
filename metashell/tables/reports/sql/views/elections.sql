-- Every leader of the metadata quorum that wrote: a LEADER_CHANGE control record, the first of its epoch; and when the next one was elected.
with elected as (
    select cluster_id, epoch, min(log_offset) as log_offset, min(timestamp) as at_ms, max(leader_id) as leader_id
    from control
    where type = 'LEADER_CHANGE' and not in_checkpoint(file)
    group by cluster_id, epoch
)
select
    *, lead(at_ms) over (partition by cluster_id order by epoch) as next_ms,
    lag(leader_id) over (partition by cluster_id order by epoch) as previous_leader_id
from elected
