-- Every client quota that the log sets or removes, with the value before, the newest first; what a checkpoint holds is the value before.
with placed as (
    select
        *, in_checkpoint(file) as is_state,
        position_of(file, log_offset) as position
    from quota_records
),
numbered as (
    select *, row_number() over (partition by cluster_id, entity_key, name, position order by epoch desc, file) as copy from placed
),
changed as (
    select *, lag(value) over (partition by cluster_id, entity_key, name order by position) as value_before from numbered where copy = 1
)
select
    cluster_id, timestamp as at, log_offset, entity, name as quota, case when is_removed then 'removed' else 'set' end as event, value_before, value
from changed where not is_state
order by cluster_id, log_offset desc, entity, quota
