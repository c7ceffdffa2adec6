"""The broker settings of the golden conversations, by profile."""

from __future__ import annotations

from dataclasses import replace

from metashell.groups.state import KindSettings, Settings

_BASE = Settings(
    min_session_timeout_ms=500,
    max_session_timeout_ms=60_000,
    initial_rebalance_delay_ms=0,
    consumer=KindSettings(assignment_interval_ms=0, is_assignor_offloaded=False),
    streams=KindSettings(assignors=("sticky",), assignment_interval_ms=0, is_assignor_offloaded=False),
    partitions=1,
)


def _with_sessions(settings: Settings, session_timeout_ms: int) -> Settings:
    short = {"session_timeout_ms": session_timeout_ms, "heartbeat_interval_ms": 300}
    return replace(
        settings,
        consumer=replace(settings.consumer, **short),
        streams=replace(settings.streams, **short),
    )


_TIMED = _with_sessions(_BASE, 1500)
PROFILES: dict[str, Settings] = {
    "base": _BASE,
    "timed": _TIMED,
    "expiry": replace(_TIMED, offsets_retention_check_interval_ms=400),
    "small": replace(
        _BASE,
        max_size=2,
        consumer=replace(_BASE.consumer, max_size=2),
        streams=replace(_BASE.streams, max_size=2),
        offset_metadata_max_bytes=10,
    ),
    # What it does not set are 4.3's defaults.
    "delay": replace(
        _BASE,
        initial_rebalance_delay_ms=2000,
        consumer=replace(_BASE.consumer, assignment_interval_ms=1000, is_assignor_offloaded=True),
        streams=replace(_BASE.streams, initial_rebalance_delay_ms=2000),
    ),
    "interval": replace(
        _BASE,
        streams=replace(_BASE.streams, assignment_interval_ms=1000),
    ),
    "policy-disabled": replace(_BASE, migration_policy="disabled"),
    "policy-upgrade": replace(_BASE, migration_policy="upgrade"),
    "policy-downgrade": replace(_BASE, migration_policy="downgrade"),
    "standby": replace(_BASE, streams=replace(_BASE.streams, standby_replicas=1)),
    "restart": _with_sessions(_BASE, 45_000),
}
