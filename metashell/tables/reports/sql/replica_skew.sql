-- Replicas, leaders and replicas out of sync at the end of the log, by broker and by rack, and how far from an even share.
--
-- 100 percent is the share of the brokers among all of the cluster, so a rack of more brokers has more. A broker that holds replicas and
-- is not registered has no state.
with present as (
    select s.cluster_id, s.replicas, s.isr, s.leader
    from partition_states s
    left join topic_names t on t.cluster_id = s.cluster_id and t.topic_id = s.topic_id
    where s.is_last and t.removed_position is null
),
held as (
    select cluster_id, explode(replicas) as broker_id, replicas, isr, leader from present
),
counted as (
    select
        cluster_id, broker_id, count(*) as replicas, count(case when leader = broker_id then 1 end) as leaders,
        count(case when array_position(replicas, broker_id) = 1 then 1 end) as preferred_leaders,
        count(case when not array_contains(isr, broker_id) then 1 end) as out_of_sync
    from held
    group by cluster_id, broker_id
),
states as (
    select cluster_id, broker_id, broker_epoch, max(state) as state from broker_states where is_open = 1 group by cluster_id, broker_id, broker_epoch
),
registered as (
    select r.cluster_id, r.broker_id, max(r.rack) as rack, max(s.state) as state
    from registrations r
    left join states s on s.cluster_id = r.cluster_id and s.broker_id = r.broker_id and s.broker_epoch = r.broker_epoch
    where r.ended_by = 'open'
    group by r.cluster_id, r.broker_id
),
known as (
    select cluster_id, broker_id from counted
    union
    select cluster_id, broker_id from registered
),
brokers as (
    select
        k.cluster_id, k.broker_id, r.rack, r.state, coalesce(c.replicas, 0) as replicas, coalesce(c.leaders, 0) as leaders,
        coalesce(c.preferred_leaders, 0) as preferred_leaders, coalesce(c.out_of_sync, 0) as out_of_sync
    from known k
    left join counted c on c.cluster_id = k.cluster_id and c.broker_id = k.broker_id
    left join registered r on r.cluster_id = k.cluster_id and r.broker_id = k.broker_id
),
scopes as (
    select cluster_id, 'broker' as scope, rack, broker_id, state, 1 as brokers, replicas, leaders, preferred_leaders, out_of_sync from brokers
    union all
    select
        cluster_id, 'rack' as scope, rack, null as broker_id, null as state, count(*) as brokers, sum(replicas) as replicas, sum(leaders) as leaders,
        sum(preferred_leaders) as preferred_leaders, sum(out_of_sync) as out_of_sync
    from brokers where rack is not null
    group by cluster_id, rack
),
totals as (
    select cluster_id, cast(count(*) as double) as brokers, sum(replicas) as replicas, sum(leaders) as leaders from brokers group by cluster_id
)
select
    s.cluster_id, s.scope, s.rack, s.broker_id, s.state, s.brokers, s.replicas, s.leaders, s.preferred_leaders, s.out_of_sync,
    case when t.replicas > 0 then cast(floor(100 * t.brokers * s.replicas / (t.replicas * s.brokers)) as bigint) end as replicas_percent,
    case when t.leaders > 0 then cast(floor(100 * t.brokers * s.leaders / (t.leaders * s.brokers)) as bigint) end as leaders_percent
from scopes s
join totals t on t.cluster_id = s.cluster_id
order by s.cluster_id, s.scope, replicas_percent desc nulls last, s.broker_id, s.rack
