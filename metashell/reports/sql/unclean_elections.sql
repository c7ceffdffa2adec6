-- Elections that were not from the ISR, partitions left without leader, and every change of eligible leader replicas.
--
-- An unclean election puts the partition into recovery; one during recovery does not say so again, so the state counts, not the record.
with events as (
    select
        *, case
            when kind <> 'cleared' and leader >= 0 and leader <> previous_leader and array_contains(previous_elr, leader)
                and not array_contains(previous_isr, leader) then 'elected from ELR'
            when kind <> 'cleared' and leader >= 0 and leader <> previous_leader and leader_recovery_state = 1
                and not array_contains(previous_isr, leader) then 'unclean election'
            when leader = -1 and previous_leader >= 0 then 'no leader'
            when leader_recovery_state = 0 and previous_recovery_state = 1 then 'recovered'
            when kind = 'cleared' and (size(previous_elr) > 0 or size(previous_last_known_elr) > 0) then 'ELR cleared'
            when elr <> previous_elr or last_known_elr <> previous_last_known_elr then 'ELR changed'
        end as event
    from partition_states
    where kind in ('changed', 'cleared') and previous_isr is not null
)
select
    e.cluster_id, e.at_ms as at, e.log_offset, coalesce(t.topic, '') as topic, e.partition_id as partition, e.event,
    e.previous_leader, e.leader, e.previous_isr, e.isr, e.previous_elr, e.elr, e.last_known_elr
from events e
left join topic_names t on t.cluster_id = e.cluster_id and t.topic_id = e.topic_id
where e.event is not null
order by e.cluster_id, e.log_offset, topic, partition
