-- The time of the newest batch of each cluster's log: what is open then is counted up to it.
select cluster_id, max(timestamp) as end_ms from batches where not in_checkpoint(file) group by cluster_id
