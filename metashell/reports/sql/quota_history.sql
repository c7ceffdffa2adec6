-- Every client quota that the log sets or removes, with the value before, the newest first; what a checkpoint holds is the value before.
with placed as (
    select
        *, file like '%.checkpoint%' as is_state,
        case when file like '%.checkpoint%'
            then 2 * coalesce(try_cast(regexp_extract(file, '([0-9]{20})-[0-9]{10}[.]checkpoint', 1) as bigint), 0)
            else 2 * log_offset + 1 end as position
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
