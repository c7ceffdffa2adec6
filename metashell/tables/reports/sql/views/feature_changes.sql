-- Every feature level that the log sets, with the level before; that of a checkpoint is the level before the first change.
with placed as (
    select
        cluster_id, log_offset, epoch, file, timestamp as at_ms, name, cast(feature_level as int) as level,
        in_checkpoint(file) as is_state,
        position_of(file, log_offset) as position
    from feature_level
),
once as (
    select *, row_number() over (partition by cluster_id, name, position order by epoch desc, file) as copy from placed
),
changed as (
    select *, lag(level) over (partition by cluster_id, name order by position) as level_before from once where copy = 1
)
select cluster_id, at_ms, log_offset, name, coalesce(level_before, 0) as level_before, level from changed where not is_state
