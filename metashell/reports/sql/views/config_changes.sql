-- Every configuration value that the log sets or removes, with the value before; that of a checkpoint is the value before the first change.
with settings as (
    select
        cluster_id, log_offset, epoch, file, timestamp as at_ms, cast(resource_type as int) as resource_type, resource_name, name, value,
        file like '%.checkpoint%' as is_state,
        case when file like '%.checkpoint%'
            then 2 * coalesce(try_cast(regexp_extract(file, '([0-9]{20})-[0-9]{10}[.]checkpoint', 1) as bigint), 0)
            else 2 * log_offset + 1 end as position
    from config
),
settings_once as (
    select *, row_number() over (
        partition by cluster_id, resource_type, resource_name, name, position order by epoch desc, file) as copy
    from settings
),
settings_before as (
    select *, lag(value) over (partition by cluster_id, resource_type, resource_name, name order by position) as value_before
    from settings_once where copy = 1
)
select
    cluster_id, at_ms, log_offset, resource_name, name, value_before, value,
    case resource_type when 2 then 'topic' when 4 then 'broker' when 8 then 'broker logger' when 16 then 'client metrics'
        when 32 then 'group' else concat('resource type ', cast(resource_type as string)) end as resource
from settings_before where not is_state
