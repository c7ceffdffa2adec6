"""The command line of `metashell configs`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, YES, command, noun
from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.errors import MetashellError, UsageError
from metashell.common.options import Argument, Option, did_you_mean, file_option, flag
from metashell.disk.properties import parse_properties, read_text_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metashell.cli.admin.configs import Change, Resource, Setting
    from metashell.common.errors import MetashellError


_RESOURCES_TEXT = "topic:NAME, broker:ID, broker:default (all brokers), group:NAME, client-metrics:NAME or broker-logger:ID"
GET = command(
    "get",
    "show settings",
    """
        Shows what somebody has set, with where it is set: for the topic, for one broker or all brokers, or in a broker's
        server.properties. --all adds defaults. Passwords are never shown: Kafka does not tell them.

        Through controllers only what was set by commands is known of brokers.
        """,
    options=(
        flag("--all", "-a", help="also what has its default"),
        Option(names=("--key", "-k"), metavar="KEY", multiple=True, help="only this key, set or not"),
        flag("--explain", help="say what each key is for"),
    ),
    arguments=(Argument("resources", _RESOURCES_TEXT, "+", "TYPE:NAME"),),
    examples=(
        ("metashell configs get topic:orders -b localhost:9092", "what is set for a topic"),
        ("metashell configs get broker:1 broker:default -b localhost:9092", "for a broker, and for all"),
        ("metashell configs get topic:orders --all --explain -k retention.ms -b localhost:9092", "one key, and what it means"),
        ("metashell configs get /var/lib/kafka topic:orders", "what a disk says was set"),
    ),
    reads=True,
)
SET = command(
    "set",
    "change settings",
    """
        Sets keys of one resource or of several, and says what they were before. KEY+=VALUE and KEY-=VALUE add to a list and take from it.
        Each resource gets all of its changes or none. A value that can lose records or availability is said and asked about first, such
        as a shorter retention.

        Passwords on a command line can be seen by other users of the machine: put them into a file for --from-file.
        """,
    options=(
        file_option("--from-file", help="a properties file with keys and values to set"),
        DRY_RUN,
        YES,
    ),
    arguments=(Argument("words", f"{_RESOURCES_TEXT}; then the settings", "+", "TYPE:NAME|KEY=VALUE"),),
    examples=(
        ("metashell configs set topic:orders retention.ms=3600000 -b localhost:9092", "keep records for an hour"),
        (
            "metashell configs set broker:default log.cleaner.threads=2 --dry-run -b localhost:9092",
            "only ask whether the cluster would take it",
        ),
        ("metashell configs set topic:orders cleanup.policy+=compact -b localhost:9092", "add to a list"),
    ),
)
UNSET = command(
    "unset",
    "let settings have their defaults again",
    "Removes keys of one resource or of several, and says what they were before and are now.",
    options=(DRY_RUN, YES),
    arguments=(Argument("words", f"{_RESOURCES_TEXT}; then the keys", "+", "TYPE:NAME|KEY"),),
    examples=(("metashell configs unset topic:orders retention.ms -b localhost:9092", "take the cluster's retention again"),),
)
CONFIGS = noun("configs", "show and change settings of topics, brokers, groups and client metrics", "Dynamic settings.", (GET, SET, UNSET))


COLUMNS = ("resource", "key", "value", "source")
_ALL_BROKERS = 3
_SOURCE_OF_KIND = {2: 1, 4: 2, 16: 7, 32: 8}
"""Kafka's code of the source of a value, by the type of the resource that it is set on."""
EXPLAINED = (*COLUMNS, "documentation")


def _get(work: Work) -> None:
    from metashell.cli.admin.configs import SOURCES, parse_resource

    values = work.values
    resources = list(dict.fromkeys(map(parse_resource, values.resources)))
    rows: list[dict[str, object]] = []
    failures: list[tuple[Resource, MetashellError]] = []
    found = _described(work, resources, values.key or None, documentation=values.explain)
    if work.asks_controllers and any(resource.node_id is not None for resource in resources):
        where = "on disk" if work.stored is not None else "through controllers"
        work.note(f"{where} only what commands have set is known of a broker: neither its server.properties nor defaults")
    for resource in resources:
        settings = found[resource]
        if isinstance(settings, MetashellError):
            failures.append((resource, settings))
            continue
        for setting in settings:
            if not (values.all or values.key or setting.is_set):
                continue
            row: dict[str, object] = {
                "type": "config",
                "resource": str(resource),
                "key": setting.name,
                "value": _shown(setting),
                "source": SOURCES.get(setting.source, str(setting.source)),
                "sensitive": setting.is_sensitive,
                "read_only": setting.is_read_only,
            }
            if values.explain:
                row["documentation"] = setting.documentation
            rows.append(row)
        if missing := set(values.key) - {setting.name for setting in settings}:
            work.fail(f"{resource}: has no key {', '.join(sorted(missing))}{_suggestion(resource, missing)}")
    if rows or not (failures or values.key):
        work.rows(rows, EXPLAINED if values.explain else COLUMNS, none="nothing is set (--all shows defaults)")
    for resource, error in failures:
        work.failed(_about(resource, error), type="config", resource=str(resource))
        _hint_at_release(work, resource, error)


def _about(resource: Resource, error: MetashellError) -> MetashellError:
    """Return an error that names the resource; an AdminError names it already."""
    from metashell.cli.admin.protocol import AdminError

    return error if isinstance(error, AdminError) else MetashellError(f"{resource}: {error}")


def _suggestion(resource: Resource, missing: Iterable[str]) -> str:
    known = known_keys(resource)
    return "".join(dict.fromkeys(did_you_mean(key, known) for key in sorted(missing)))


def known_keys(resource: Resource) -> list[str]:
    """Return the keys that Kafka knows for this type of resource; empty if they are not known."""
    from metashell.quorum.controller.settings import KINDS, config_keys

    kind = KINDS.get(resource.kind)
    return [] if kind is None else list(config_keys(kind))


def _shown(setting: Setting) -> str | None:
    from metashell.codec.redaction import REDACTED

    return REDACTED if setting.is_sensitive and setting.is_set else setting.value


def _described(
    work: Work, resources: Sequence[Resource], keys: Sequence[str] | None, *, documentation: bool = False
) -> dict[Resource, tuple[Setting, ...] | MetashellError]:
    """Return the settings of resources. Of a broker, controllers know only the dynamic settings. Errors: MetashellError."""
    from metashell.cli.admin.configs import describe_configs

    if not work.asks_controllers:
        return describe_configs(work.admin, resources, keys, documentation=documentation)
    stored = [resource for resource in resources if work.stored is not None or (resource.kind == BROKER_RESOURCE and resource.name)]
    others = [resource for resource in resources if resource not in stored]
    found = describe_configs(work.admin, others, keys, documentation=documentation) if others else {}
    if stored:
        found.update((resource, _stored(work, resource, keys)) for resource in stored)
    return found


def _stored(work: Work, resource: Resource, keys: Sequence[str] | None) -> tuple[Setting, ...] | MetashellError:
    """Return the settings of a resource from the metadata log; a broker's own settings override those of all brokers."""
    from metashell.cli.admin.configs import Setting
    from metashell.cli.admin.protocol import AdminError
    from metashell.codec.redaction import is_sensitive_config

    image = work.image()
    configs = image.configs
    if resource.kind == TOPIC_RESOURCE and resource.name not in image.topics.by_name:
        return AdminError(UNKNOWN_TOPIC_OR_PARTITION, None, str(resource))
    is_broker = resource.kind == BROKER_RESOURCE and bool(resource.name)
    if is_broker and int(resource.name) not in image.cluster.brokers and tuple(resource) not in configs:
        return AdminError(BROKER_ID_NOT_REGISTERED, "no such broker is registered, and nothing is set for it", str(resource))
    found: dict[str, Setting] = {}
    own = _SOURCE_OF_KIND.get(resource.kind, 0) if resource.kind != BROKER_RESOURCE or resource.name else _ALL_BROKERS
    for name, source in (("", _ALL_BROKERS), (resource.name, own)) if is_broker else ((resource.name, own),):
        for key, value in configs.get((resource.kind, name), {}).items():
            is_sensitive = is_sensitive_config(resource.kind, key)
            behind = found[key].value if key in found else None
            shown = None if is_sensitive else value
            found[key] = Setting(name=key, value=shown, source=source, is_sensitive=is_sensitive, behind=behind)
    return tuple(found[key] for key in sorted(found) if keys is None or key in keys)


# ---- changes


def _set(work: Work) -> None:
    from metashell.cli.admin.configs import Change, Operation

    resources, words = _split(work.values.words)
    changes = [_change(number, word) for number, word in enumerate(words, 1)]
    if work.values.from_file is not None:
        changes += [Change(key, Operation.SET, value) for key, value in _file(work.values.from_file).items()]
    if not changes:
        raise UsageError("no setting is given: KEY=VALUE, or --from-file")
    _alter(work, resources, changes)


def _unset(work: Work) -> None:
    from metashell.cli.admin.configs import Change, Operation

    resources, keys = _split(work.values.words)
    if not keys:
        raise UsageError("no key is given")
    for key in keys:
        if "=" in key:
            raise UsageError(f"{key.partition('=')[0]}=...: unset takes the key alone", key)
    _alter(work, resources, [Change(key, Operation.DELETE) for key in keys])


def _split(words: Sequence[str]) -> tuple[list[Resource], list[str]]:
    """Split words into the resources and the settings that follow them. Errors: UsageError without a resource."""
    from metashell.cli.admin.configs import is_resource, parse_resource

    resources = list(dict.fromkeys(parse_resource(word) for word in words if is_resource(word)))
    if not resources:
        raise UsageError("no resource is given: topic:NAME, broker:ID, broker:default, group:NAME, client-metrics:NAME")
    return resources, [word for word in words if not is_resource(word)]


def _change(number: int, word: str) -> Change:
    """Parse `KEY=VALUE`, `KEY+=VALUE` or `KEY-=VALUE`. Errors: UsageError with the word's number only, for it may hold a secret."""
    from metashell.cli.admin.configs import Change, Operation

    key, equals, value = word.partition("=")
    if not equals or not key.strip("+- "):
        raise UsageError(f"setting {number} is not KEY=VALUE (unset takes a key away)")
    if key.endswith("+"):
        return Change(key[:-1].strip(), Operation.APPEND, value)
    if key.endswith("-"):
        return Change(key[:-1].strip(), Operation.SUBTRACT, value)
    return Change(key.strip(), Operation.SET, value)


def _file(path: str) -> Mapping[str, str]:
    try:
        return parse_properties(read_text_file(path))
    except ValueError as error:
        raise UsageError(f"{path}: {error}", path) from None


def _alter(work: Work, resources: Sequence[Resource], changes: Sequence[Change]) -> None:
    from metashell.cli.admin.configs import Operation, alter_configs, warnings_of

    keys = [change.name for change in changes]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise UsageError(f"{twice} is given twice", twice)
    before = _in_force(work, resources, keys)
    question = f"Change {', '.join(keys)} of {', '.join(map(str, resources))}?"
    work.confirm(*warnings_of(resources, changes, before), question=question)
    _hint_at_command_line(work, resources, changes)
    resources = [resource for resource in resources if not _is_refused(work, resource, keys)]
    if not resources:
        return
    with work.looking_after(lambda: "`metashell configs get` shows what is set"):
        results = alter_configs(work.admin, dict.fromkeys(resources, changes), validate_only=work.is_dry)
    after = {} if work.is_dry else _after(work, resources, changes, before)
    if work.asks_controllers and any(resource.node_id is not None for resource in resources):
        work.note("controllers do not check what only the broker itself can: a value that it refuses is in force nowhere (-b asks it)")
    for resource in resources:
        if (error := results[resource]) is not None:
            work.failed(_about(resource, error), type="config", resource=str(resource))
            _hint_at_keys(work, resource, keys)
            _hint_at_release(work, resource, error)
            continue
        never = [change.name for change in changes if change.operation is Operation.DELETE and (resource, change.name) not in before]
        if _hint_at_keys(work, resource, never):
            work.fail()
        for change in changes:
            _tell_changed(work, resource, change, before.get((resource, change.name)), after.get((resource, change.name)))


def _hint_at_keys(work: Work, resource: Resource, keys: Iterable[str]) -> bool:
    """Note the keys that Kafka does not know, with suggestions; return whether there are any."""
    known = known_keys(resource)
    unknown = [key for key in keys if known and key not in known]
    if unknown:
        work.note(f"{resource}: Kafka {NEWEST_RELEASE.name} knows no key {', '.join(unknown)}{_suggestion(resource, unknown)}")
    return bool(unknown)


def _hint_at_release(work: Work, resource: Resource, error: MetashellError) -> None:
    """Note the release that a type of resource needs: older clusters answer with INVALID_REQUEST, which does not say so."""
    from metashell.cli.admin.protocol import AdminError

    since = {GROUP_RESOURCE: "4.0", CLIENT_METRICS_RESOURCE: "3.7"}.get(resource.kind)
    if since is not None and isinstance(error, AdminError) and error.code == INVALID_REQUEST:
        work.note(f"{resource}: clusters have such settings since Kafka {since}")


def _hint_at_command_line(work: Work, resources: Sequence[Resource], changes: Sequence[Change]) -> None:
    from metashell.codec.redaction import A_PASSWORD, secret_reason

    given = {change.name for change in changes if change.value is not None} & {word.partition("=")[0] for word in work.values.words}
    reasons = {key: reason for resource in resources for key in sorted(given) if (reason := secret_reason(resource.kind, key))}
    if not any(resource.kind == BROKER_RESOURCE for resource in resources):
        # Elsewhere Kafka refuses keys that it does not know, so an unknown one is a typing error.
        reasons = {key: reason for key, reason in reasons.items() if reason == A_PASSWORD}
    for key, reason in reasons.items():
        work.note(f"{key} is {reason}; other users of this machine can see it on a command line: --from-file keeps it out")


def _is_refused(work: Work, resource: Resource, keys: Sequence[str]) -> bool:
    """Report keys that a broker reads only at start, which a controller does not check; return whether there are any."""
    from metashell.quorum.controller.settings import config_keys

    if not work.asks_controllers or resource.kind != BROKER_RESOURCE:
        return False
    fixed = [key for key in keys if (known := config_keys("broker").get(key)) is not None and not known.is_dynamic]
    if fixed:
        text = f"{resource}: {', '.join(fixed)}: a broker reads it only from server.properties, when it starts"
        work.failed(MetashellError(text), type="config", resource=str(resource))
    return bool(fixed)


_SEEN_S = 1.0
"""The longest wait for a change to show: a broker learns of it a moment after the controller has made it."""


def _after(
    work: Work, resources: Sequence[Resource], changes: Sequence[Change], before: Mapping[tuple[Resource, str], Setting]
) -> dict[tuple[Resource, str], Setting]:
    """Wait for the changes to show, and return the settings in force; empty if all changes are SET, whose values are known."""

    from metashell.cli.admin.configs import Operation

    keys = [change.name for change in changes if change.operation is not Operation.SET]
    ends_at = time.monotonic() + _SEEN_S
    while keys:
        found = _in_force(work, resources, keys)
        if all(found.get(place) != before.get(place) or not setting.is_dynamic for place, setting in found.items()):
            return found
        if time.monotonic() > ends_at:
            return found
        time.sleep(_SEEN_S / 20)
    return {}


def _in_force(work: Work, resources: Sequence[Resource], keys: Sequence[str]) -> dict[tuple[Resource, str], Setting]:
    """Return the settings of these keys that can be read: a user who may change settings need not be allowed to read them."""
    found: dict[tuple[Resource, str], Setting] = {}
    for resource, settings in _described(work, resources, keys).items():
        if not isinstance(settings, MetashellError):
            found.update(((resource, setting.name), setting) for setting in settings)
    return found


def _tell_changed(work: Work, resource: Resource, change: Change, before: Setting | None, after: Setting | None) -> None:
    from metashell.cli.admin.configs import SOURCES, Operation, value_after
    from metashell.codec.redaction import REDACTED, is_sensitive_config

    is_secret = is_sensitive_config(resource.kind, change.name)
    new = REDACTED if is_secret else change.value
    was = None if before is None else _shown(before)
    where = "" if before is None else SOURCES.get(before.source, str(before.source))
    would = "would be " if work.is_dry else ""
    done = {
        Operation.SET: f"{would}set to {new}",
        Operation.DELETE: f"{would}unset",
        Operation.APPEND: f"{new} {would}added",
        Operation.SUBTRACT: f"{new} {would}taken away",
    }[change.operation]
    is_vain = change.operation is Operation.DELETE and (before is None or not before.is_set_on(resource))
    if is_vain:
        done = "was not set"
    text = f"{resource}: {change.name}: {done}"
    if is_vain and before is not None:
        text += f", {was or 'nothing'} comes from elsewhere ({where})" if before.is_set else ""
    elif before is not None:
        text += f", {'nothing' if was is None else was or 'empty'} before ({where})"
    if work.is_dry and change.operation is Operation.DELETE and not is_vain and before is not None and not is_secret:
        then, is_sure = value_after(change, before), before.behind is not None
        text += "" if then is None else f", {then or 'empty'} then" + ("" if is_sure else " (Kafka's default, unless brokers have another)")
    now = None
    if not work.is_dry and after is not None:
        now = _shown(after)
        if change.operation is not Operation.SET and not is_vain:
            text += f", now {'nothing' if now is None else now or 'empty'} ({SOURCES.get(after.source, '')})"
    work.tell(
        text,
        type="config",
        resource=str(resource),
        key=change.name,
        result="was not set" if is_vain else f"{would}{'unset' if change.operation is Operation.DELETE else 'set'}",
        operation=change.operation.name.lower(),
        value=new,
        before=was,
        before_source=where or None,
        now=now,
    )


main = noun_tool("configs", CONFIGS, {"get": _get, "set": _set, "unset": _unset})
