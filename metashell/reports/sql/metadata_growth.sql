-- Records and bytes of the metadata log by type and hour, and of every checkpoint by type.
--
-- A record that several replicas keep counts once; so does a checkpoint of the same end offset and epoch.
with placed as (
    select cluster_id, timestamp as at_ms, type, size, log_offset, epoch, file, checkpoint from records
),
numbered as (
    select *, row_number() over (partition by cluster_id, checkpoint, log_offset order by epoch desc, file) as copy from placed
),
snapshots as (
    select cluster_id, checkpoint, min(at_ms) as at_ms from numbered where checkpoint <> '' and copy = 1 group by cluster_id, checkpoint
)
select
    cluster_id, 'log' as source, '' as checkpoint, at_ms - at_ms % 3600000 as hour, type, count(*) as records,
    sum(cast(size as bigint)) as bytes
from numbered
where copy = 1 and checkpoint = ''
group by cluster_id, at_ms - at_ms % 3600000, type
union all
select
    n.cluster_id, 'snapshot' as source, n.checkpoint, s.at_ms - s.at_ms % 3600000 as hour, n.type, count(*) as records,
    sum(cast(n.size as bigint)) as bytes
from numbered n
join snapshots s on s.cluster_id = n.cluster_id and s.checkpoint = n.checkpoint
where n.copy = 1
group by n.cluster_id, n.checkpoint, s.at_ms - s.at_ms % 3600000, n.type
order by cluster_id, source, checkpoint desc, hour desc, bytes desc, type
