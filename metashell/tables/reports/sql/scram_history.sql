-- Every SCRAM credential that the log sets or removes, the newest first; never its salt or keys. What a checkpoint holds was there before.
with placed as (
    select
        *, in_checkpoint(file) as is_state,
        position_of(file, log_offset) as position
    from scram_records
),
numbered as (
    select *, row_number() over (partition by cluster_id, user_name, mechanism, position order by epoch desc, file) as copy from placed
),
changed as (
    select
        *, lag(iterations) over (partition by cluster_id, user_name, mechanism order by position) as iterations_before
    from numbered where copy = 1
)
select
    cluster_id, timestamp as at, log_offset, user_name, mechanism,
    case when is_removed then 'removed' when iterations_before is null then 'added' else 'changed' end as event, iterations_before, iterations
from changed where not is_state
order by cluster_id, log_offset desc, user_name, mechanism
