"""The checks whose next steps are run on a live quorum, or not; `test_next_steps.py` beside this runs them."""

from __future__ import annotations

from typing import Final

LIVE: Final[dict[str, str]] = {
    "fenced": "metashell brokers unregister ID",
    "vanished": "metashell reassign plan --off ID",
    "unregistered_replica": "metashell reassign plan --off ID",
    "leaderless": "metashell elect unclean",
    "stuck_reassignment": "metashell reassign cancel",
    "not_preferred": "metashell elect preferred --all",
    "unclean_allowed": "metashell configs unset RESOURCE unclean.leader.election.enable",
    "min_isr_at_factor": "metashell configs set topic:TOPIC min.insync.replicas=N",
    "left_throttles": "metashell reassign status --clear-throttle",
    "tiny_quota": "metashell quotas unset --user-default KEY",
    "tiny_directory_rate": "metashell configs unset broker:default",
    "one_replica": "metashell reassign apply",
    "uneven_leaders": "metashell reassign plan --even leaders",
    "even_quorum": "metashell quorum add-controller",
    "registered_without_vote": "metashell quorum unregister-controller",
    "no_leader": "metashell quorum restore",
    "endless_elections": "metashell quorum restore",
}
"""The command in the next step of each check."""
NOT_RUN: Final[dict[str, str]] = {
    "unreadable_min_isr": "no controller of today takes such a value, so none can be made",
    "few_state_replicas": "the command is that of `one_replica`",
    "offline_directory": "`brokers describe` only shows; the step is a disk to replace",
    "other_disk_votes": "the commands are those of `even_quorum`, run for a controller that left",
    "configured_without_vote": "the command is that of `even_quorum`",
    "unregistered_voter": "the command is that of `even_quorum`",
    "voter_registered_elsewhere": "a line of the configuration",
    "stale_controller": "the command is that of `registered_without_vote`",
    "unsupported_feature": "a server to upgrade",
}
"""Steps whose command is not run for this check, and why."""
