-- Records and their bytes by log or checkpoint, hour and type, and the time of the first; one that several replicas keep counts once, and so
-- does a checkpoint of the same end offset and epoch.
with placed as (
    select cluster_id, timestamp as at_ms, type, size, log_offset, epoch, file, checkpoint from records
),
numbered as (
    select *, row_number() over (partition by cluster_id, checkpoint, log_offset order by epoch desc, file) as copy from placed
)
select
    cluster_id, checkpoint, at_ms - at_ms % 3600000 as hour, type, count(*) as records, sum(cast(size as bigint)) as bytes,
    min(at_ms) as first_ms
from numbered
where copy = 1
group by cluster_id, checkpoint, at_ms - at_ms % 3600000, type
