-- Committed offsets that expire, by the newest record about each: the group, its members' topics, and the commit.
--
-- An offset counts from its commit; in an empty classic group that had members, from when it became empty. While a classic group has
-- members, only a group of consumers whose subscriptions are known lets offsets go, those of other topics. What an open transaction
-- commits holds the partition's offset; what an aborted one did is nothing.
with placed as (
    select *, log_of(file) as log from group_topics
),
ranked as (
    select *, row_number() over (
        partition by cluster_id, log, group_id, is_group, case when is_group then '' else concat(kind, ' ', part) end
        order by log_offset desc, epoch desc, file) as age
    from placed
),
known_groups as (
    select * from ranked where age = 1 and is_group and not is_gone
),
parts as (
    select p.* from ranked p
    join known_groups g on g.cluster_id = p.cluster_id and g.log = p.log and g.group_id = p.group_id and g.kind = p.kind
    where p.age = 1 and not p.is_group and not p.is_gone
),
peopled as (
    select distinct cluster_id, log, group_id from parts where is_member
),
said as (
    select cluster_id, log, group_id, kind, topics from known_groups
    union all
    select cluster_id, log, group_id, kind, topics from parts
),
named as (
    select s.cluster_id, s.log, s.group_id, s.kind, explode(s.topics) as topic from said s
),
subscribed as (
    select distinct n.cluster_id, n.log, n.group_id, n.topic from named n
    left join peopled m on m.cluster_id = n.cluster_id and m.log = n.log and m.group_id = n.group_id
    where n.kind = 'classic' or m.group_id is not null
),
latest as (
    select
        *, row_number() over (
            partition by cluster_id, log, group_id, topic, partition_id
            order by case when standing = 'counts' then 0 else 1 end, log_offset desc) as age,
        max(case when standing = 'open' then log_offset end) over (partition by cluster_id, log, group_id, topic, partition_id) as held_at,
        max(case when tombstone then log_offset end) over (partition by cluster_id, log, group_id, topic, partition_id) as deleted_at
    from offset_commits
),
newest as (
    select cluster_id, max(timestamp) as now_ms from (
        select cluster_id, timestamp from offset_commit union all select cluster_id, timestamp from group_topics) all_records
    group by cluster_id
),
judged as (
    select
        c.cluster_id, c.group_id, coalesce(g.kind, 'classic') as kind, c.topic, c.partition_id as partition, c.value_offset as committed,
        c.commit_timestamp as committed_at,
        case
            when s.topic is not null or (g.kind = 'classic' and g.protocol_type = 'consumer' and g.topics is null) then null
            when g.kind = 'classic' and g.protocol_type is not null and not g.has_members and g.state_ms >= 0
                then coalesce(case when c.expire_timestamp >= 0 then c.expire_timestamp end, g.state_ms + 604800000)
            when g.kind is null or g.kind in ('consumer', 'streams') or g.protocol_type is null or not g.has_members
                or g.protocol_type = 'consumer'
                then coalesce(case when c.expire_timestamp >= 0 then c.expire_timestamp end, c.commit_timestamp + 604800000)
        end as expires_at
    from latest c
    left join known_groups g on g.cluster_id = c.cluster_id and g.log = c.log and g.group_id = c.group_id
    left join subscribed s on s.cluster_id = c.cluster_id and s.log = c.log and s.group_id = c.group_id and s.topic = c.topic
    where c.age = 1 and c.standing = 'counts' and not c.tombstone and (c.held_at is null or c.held_at < c.deleted_at)
)
select
    j.cluster_id, j.group_id, j.kind, j.topic, j.partition, j.committed, j.committed_at, j.expires_at,
    floor((j.expires_at - n.now_ms) / 3600000) as hours_left
from judged j
join newest n on n.cluster_id = j.cluster_id
where j.expires_at is not null
order by j.cluster_id, j.expires_at, j.group_id, j.topic, j.partition
