-- Elections that were not from the ISR, partitions left without leader, and every change of eligible leader replicas.
--
-- What is without a leader lasts until one is elected or the topic removed; what is open comes first, then the newest.
-- An unclean election puts the partition into recovery; one during recovery does not say so again, so the state counts, not the record.
with leaderless as (
    select distinct cluster_id, topic_id, partition_id from partition_states where leader = -1 and previous_leader >= 0
),
led as (
    select
        s.cluster_id, s.topic_id, s.partition_id, s.position, min(case when s.leader >= 0 then s.at_ms end) over (
            partition by s.cluster_id, s.topic_id, s.partition_id order by s.position desc rows between unbounded preceding and 1 preceding) as led_ms
    from partition_states s
    join leaderless l on l.cluster_id = s.cluster_id and l.topic_id = s.topic_id and l.partition_id = s.partition_id
),
events as (
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
),
bounded as (
    select e.*, t.topic, case when e.event = 'no leader' then coalesce(l.led_ms, t.removed_ms) end as ended_ms
    from events e
    left join topic_names t on t.cluster_id = e.cluster_id and t.topic_id = e.topic_id
    left join led l on l.cluster_id = e.cluster_id and l.topic_id = e.topic_id and l.partition_id = e.partition_id and l.position = e.position
    where e.event is not null
)
select
    b.cluster_id, b.at_ms as at, b.log_offset, coalesce(b.topic, '') as topic, b.partition_id as partition, b.event,
    case when b.event = 'no leader' then coalesce(b.ended_ms, e.end_ms) - b.at_ms end as lasted_ms, b.ended_ms as ended_at,
    b.event = 'no leader' and b.ended_ms is null as is_open,
    b.previous_leader, b.leader, b.previous_isr, b.isr, b.previous_elr, b.elr, b.last_known_elr
from bounded b
left join log_ends e on e.cluster_id = b.cluster_id
order by
    b.cluster_id, case when b.event = 'no leader' and b.ended_ms is null then 0 else 1 end, b.log_offset desc, topic, partition
