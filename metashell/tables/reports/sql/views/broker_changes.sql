-- Every record that fenced or unfenced a registered broker or said that it shuts down: fencing is 1, -1 or 0, shutdown 1 or 0.
select distinct
    cluster_id, log_offset, timestamp as at_ms, broker_id, broker_epoch, cast(fenced as int) as fencing,
    cast(in_controlled_shutdown as int) as shutdown
from broker_registration_change where not in_checkpoint(file)
union
select cluster_id, log_offset, timestamp as at_ms, id as broker_id, value_epoch as broker_epoch, 1 as fencing, 0 as shutdown
from fence_broker where not in_checkpoint(file)
union
select cluster_id, log_offset, timestamp as at_ms, id as broker_id, value_epoch as broker_epoch, -1 as fencing, 0 as shutdown
from unfence_broker where not in_checkpoint(file)
