-- What happened to the cluster, and when: leaders of the quorum, states of brokers, ISR storms, feature levels, configurations.
--
-- Brokers that are not active at the end of the log come first, then the newest. Configurations that a topic was created with are no change, and
-- several that are set at once are one.
with new_topics as (
    select cluster_id, topic, created_ms from topic_names where created_ms is not null group by cluster_id, topic, created_ms
),
settings as (
    select
        c.cluster_id, c.resource, c.resource_name, c.at_ms, min(c.log_offset) as log_offset, count(*) as changes, min(c.name) as name,
        min(substring(c.value_before, 1, 40)) as value_before, min(substring(c.value, 1, 40)) as value
    from config_changes c
    left join new_topics t
        on t.cluster_id = c.cluster_id and c.resource = 'topic' and t.topic = c.resource_name and t.created_ms = c.at_ms
    where t.topic is null
    group by c.cluster_id, c.resource, c.resource_name, c.at_ms
),
happened as (
    select
        cluster_id, 'election' as kind, concat('node ', cast(leader_id as string)) as subject,
        concat('leads epoch ', cast(epoch as string)) as event, at_ms, next_ms as ended_ms,
        case when next_ms is null then true else false end as is_open, log_offset
    from elections
    union all
    select
        cluster_id, 'broker' as kind, concat('broker ', cast(broker_id as string)) as subject, state as event, at_ms, ended_ms,
        case when is_open = 1 then true else false end as is_open, cast((position - position % 2) / 2 as bigint) as log_offset
    from broker_states
    union all
    select
        cluster_id, 'broker' as kind, concat('broker ', cast(broker_id as string)) as subject, 'unregistered' as event,
        ended_ms as at_ms, cast(null as bigint) as ended_ms, false as is_open,
        cast((ended_position - ended_position % 2) / 2 as bigint) as log_offset
    from registrations where ended_by = 'unregistered' and ended_ms is not null
    union all
    select
        cluster_id, 'ISR storm' as kind, concat('broker ', cast(broker_id as string)) as subject,
        concat(cast(shrinks as string), ' shrinks, ', cast(times as string), ' of this broker') as event, at_ms, ended_ms, false as is_open, log_offset
    from isr_storms
    union all
    select
        cluster_id, 'feature' as kind, name as subject, concat(cast(level_before as string), ' -> ', cast(level as string)) as event, at_ms,
        null as ended_ms, false as is_open, log_offset
    from feature_changes
    union all
    select
        cluster_id, 'config' as kind,
        concat(resource, ' ', case when resource_name = '' and resource = 'broker' then '(default)' else resource_name end) as subject,
        case when changes > 1 then concat(cast(changes as string), ' settings')
            when value is null then concat(name, ': removed', case when value_before is null then '' else concat(', was ', value_before) end)
            when value_before is null then concat(name, ': set to ', value)
            else concat(name, ': ', value_before, ' -> ', value) end as event,
        at_ms, null as ended_ms, false as is_open, log_offset
    from settings
)
select
    h.cluster_id, h.kind, h.subject, h.event, h.at_ms as started_at, h.ended_ms as ended_at,
    case when h.is_open then e.end_ms else h.ended_ms end - h.at_ms as lasted_ms, h.is_open, h.log_offset
from happened h
left join log_ends e on e.cluster_id = h.cluster_id
order by h.cluster_id, case when h.is_open and h.kind = 'broker' and h.event <> 'active' then 0 else 1 end, h.log_offset desc, h.kind, h.subject
