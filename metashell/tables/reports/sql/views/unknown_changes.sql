-- Changes of partitions whose state before was not read, once each: when they were written.
select c.cluster_id, min(c.timestamp) as at_ms
from partition_change c
left join partition_states s on s.cluster_id = c.cluster_id and s.topic_id = c.topic_id and s.partition_id = c.partition_id
    and s.log_offset = c.log_offset and s.kind = 'changed' and s.previous_isr is not null
where s.log_offset is null
group by c.cluster_id, c.topic_id, c.partition_id, c.log_offset
