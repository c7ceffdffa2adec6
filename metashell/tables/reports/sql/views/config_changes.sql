-- Every configuration value that the log sets or removes, with the value before; that of a checkpoint is the value before the first change.
--
-- The configurations of a topic go with it, and no record says so: a topic that is made again with the name of an earlier one begins anew.
with settings as (
    select
        cluster_id, log_offset, epoch, file, timestamp as at_ms, cast(resource_type as int) as resource_type, resource_name, name, value,
        in_checkpoint(file) as is_state, position_of(file, log_offset) as position
    from config
),
settings_once as (
    select *, row_number() over (
        partition by cluster_id, resource_type, resource_name, name, position order by epoch desc, file) as copy
    from settings
),
steps as (
    select cluster_id, log_offset, at_ms, resource_type, resource_name, name, value, is_state, position, 0 as is_end
    from settings_once where copy = 1
    union all
    select
        cluster_id, null as log_offset, null as at_ms, 2 as resource_type, topic as resource_name, null as name, null as value, true as is_state,
        removed_position as position, 1 as is_end
    from topic_names where removed_position is not null
),
lives as (
    select *, sum(is_end) over (
        partition by cluster_id, resource_type, resource_name order by position, is_end desc
        rows between unbounded preceding and current row) as life
    from steps
),
settings_before as (
    select *, lag(value) over (partition by cluster_id, resource_type, resource_name, life, name order by position) as value_before
    from lives where is_end = 0
)
select
    cluster_id, at_ms, log_offset, resource_name, name, value_before, value,
    case resource_type when 2 then 'topic' when 4 then 'broker' when 8 then 'broker logger' when 16 then 'client metrics'
        when 32 then 'group' else concat('resource type ', cast(resource_type as string)) end as resource
from settings_before where not is_state
