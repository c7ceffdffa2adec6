-- Times in which many ISRs shrank: at least 10 shrinks, none more than a minute after the one before, and the broker that left the most.
with shrinks as (
    select cluster_id, log_offset, at_ms, array_except(previous_isr, isr) as left_isr
    from partition_states where kind = 'changed' and size(array_except(previous_isr, isr)) > 0
),
spaced as (
    select
        *, case when at_ms - lag(at_ms) over (partition by cluster_id order by log_offset, at_ms) <= 60000 then 0 else 1 end as is_first
    from shrinks
),
grouped as (
    select
        *, sum(is_first) over (
            partition by cluster_id order by log_offset, at_ms rows between unbounded preceding and current row) as storm
    from spaced
),
storms as (
    select
        cluster_id, storm, min(at_ms) as at_ms, max(at_ms) as ended_ms, min(log_offset) as log_offset, count(*) as shrinks
    from grouped
    group by cluster_id, storm
    having count(*) >= 10
),
leavers as (
    select cluster_id, storm, broker_id, count(*) as times
    from (select cluster_id, storm, explode(left_isr) as broker_id from grouped) each
    group by cluster_id, storm, broker_id
),
ranked as (
    select *, row_number() over (partition by cluster_id, storm order by times desc, broker_id) as place from leavers
)
select s.cluster_id, s.at_ms, s.ended_ms, s.log_offset, s.shrinks, r.broker_id, r.times
from storms s
join ranked r on r.cluster_id = s.cluster_id and r.storm = s.storm and r.place = 1
