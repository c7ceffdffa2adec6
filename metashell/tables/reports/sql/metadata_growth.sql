-- Records and bytes of the metadata log by type and hour, and of every checkpoint by type.
with snapshots as (
    select cluster_id, checkpoint, type, sum(records) as records, sum(bytes) as bytes, min(min(first_ms)) over (partition by cluster_id, checkpoint) as at_ms
    from record_sums where checkpoint <> ''
    group by cluster_id, checkpoint, type
)
select cluster_id, 'log' as source, '' as checkpoint, hour, type, records, bytes from record_sums where checkpoint = ''
union all
select cluster_id, 'snapshot' as source, checkpoint, at_ms - at_ms % 3600000 as hour, type, records, bytes from snapshots
order by cluster_id, source, checkpoint desc, hour desc, bytes desc, type
