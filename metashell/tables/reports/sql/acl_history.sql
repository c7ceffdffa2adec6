-- Every ACL that the log adds or removes, the newest first. A removal names the ACL only by its id: what it said is that of the adding.
with placed as (
    select
        *, in_checkpoint(file) as is_state,
        position_of(file, log_offset) as position
    from acl_records
),
numbered as (
    select *, row_number() over (partition by cluster_id, acl_id, position order by epoch desc, file) as copy from placed
),
told as (
    select
        cluster_id, acl_id, max(principal) as principal, max(permission_type) as permission, max(operation) as operation,
        max(resource_type) as resource_type, max(resource_name) as resource_name, max(pattern_type) as pattern_type, max(host) as host
    from numbered where not is_removed
    group by cluster_id, acl_id
)
select
    n.cluster_id, n.timestamp as at, n.log_offset, case when n.is_removed then 'removed' else 'added' end as event, t.principal, t.permission,
    t.operation, t.resource_type, t.resource_name, t.pattern_type, t.host, n.acl_id
from numbered n
left join told t on t.cluster_id = n.cluster_id and t.acl_id = n.acl_id
where n.copy = 1 and not n.is_state
order by n.cluster_id, n.log_offset desc, n.acl_id
