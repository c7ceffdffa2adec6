"""The administration commands for the shell's verbs, chosen by what their paths name.

The shell decides nothing about a change: `set /image/configs/TOPIC:orders retention.ms=3600000` becomes `metashell configs set
topic:orders retention.ms=3600000`, which warns, asks, checks and reports as usual. An `Administrator`, which cli passes in, runs the
command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from metashell.codec.codes import ACL_OPERATIONS, ACL_PATTERN_TYPES, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES, CONFIG_TYPES, code_name
from metashell.codec.releases import METADATA_VERSION, NEWEST_LEVEL, OLDEST_LEVEL, metadata_version_name
from metashell.common.errors import UsageError
from metashell.metadata.nodes.places import resource_of

if TYPE_CHECKING:
    from metashell.metadata.image import Acl, MetadataImage
    from metashell.metadata.nodes.places import Subject


_LEVEL_DIGITS = 9
_ACL_OPTIONS = {
    "TOPIC": "--topic",
    "GROUP": "--group",
    "TRANSACTIONAL_ID": "--transactional-id",
    "DELEGATION_TOKEN": "--delegation-token",
    "USER": "--user-principal",
}


class AdminCommand(NamedTuple):
    """`metashell NOUN VERB WORDS...` without the cluster. `question` is the text to confirm first; empty if the command itself asks."""

    noun: str
    verb: str
    words: tuple[str, ...]
    question: str = ""


def set_commands(subjects: Sequence[Subject], words: Sequence[str], image: MetadataImage) -> list[AdminCommand]:
    """Return the commands that set KEY=VALUE words, or the value of a single key or feature.

    A credential takes no words: its command asks for the password. Errors: UsageError for a subject that cannot be set; the message
    never repeats a value.
    """
    for subject in subjects:
        match subject:
            case ("scram", _, _):
                if words:
                    raise UsageError("a password is not typed on the line: the command asks for it, or `metashell scram set` reads it")
            case ("config", _, _, str(key)) | ("quota", _, str(key)):
                if len(words) != 1:
                    raise UsageError(f"{key}: name one value")
            case ("feature", feature):
                if len(words) != 1 or "=" in words[0]:
                    raise UsageError(f"{feature}: name one level")
            case _:
                if not words:
                    raise UsageError("missing KEY=VALUE")
                if any(not word.partition("=")[1] for word in words):
                    raise UsageError("a word is not KEY=VALUE")
    deeds = _together("set", [subject for subject in subjects if _is_whole(subject)], words)
    for subject in subjects:
        match subject:
            case ("scram", mechanism, user):
                deeds.append(AdminCommand("scram", "set", (f"--mechanism={mechanism}", "--", user)))
            case ("feature", name):
                deeds.append(_level(name, words[0], image))
            case ("config", _, _, str(key)):
                deeds.append(AdminCommand("configs", "set", ("--", _resource(subject), f"{key}={words[0]}")))
            case ("quota", entity, key):
                settings = words if key is None else (f"{key}={words[0]}",)
                keys = ", ".join(word.partition("=")[0] for word in settings)
                question = f"Set {keys} of {_entity_text(entity)}?"
                deeds.append(AdminCommand("quotas", "set", (*_entity_options(entity), "--", *settings), question))
    return deeds


def unset_commands(subjects: Sequence[Subject], keys: Sequence[str]) -> list[AdminCommand]:
    """Return the commands that remove keys; no keys are given if the path names the key itself. Errors: UsageError."""
    for subject in subjects:
        match subject:
            case ("config", _, _, str(key)) | ("quota", _, str(key)):
                if keys:
                    raise UsageError(f"{key}: the path names the key already")
            case _:
                if not keys:
                    raise UsageError("missing KEY; `delete` removes all settings")
    deeds = _together("unset", [subject for subject in subjects if _is_whole(subject)], keys)
    for subject in subjects:
        match subject:
            case ("config", _, _, str(key)) | ("quota", _, str(key)):
                deeds.append(_removal(subject, (key,)))
            case ("quota", _, None):
                deeds.append(_removal(subject, tuple(keys)))
            case ("scram", _, _):
                raise UsageError("a credential has no keys: `delete` removes it")
            case ("feature", name):
                raise UsageError(f"{name}: a feature has no keys: `delete` switches it off")
    return deeds


def _level(name: str, text: str, image: MetadataImage) -> AdminCommand:
    """Return the command that sets the level of a feature; for metadata.version the level may be a release."""
    features = image.features
    now = features.metadata_version or 0 if name == METADATA_VERSION else features.levels.get(name, 0)
    named = [
        level
        for level in range(OLDEST_LEVEL, NEWEST_LEVEL + 1)
        if name == METADATA_VERSION and f"{metadata_version_name(level)}-".startswith(f"{text}-")
    ]
    wanted = int(text[:_LEVEL_DIGITS]) if text.isascii() and text.isdigit() else max(named, default=now)
    if wanted == 0:
        return AdminCommand("features", "disable", ("--", name))
    return AdminCommand("features", "downgrade" if wanted < now else "upgrade", ("--", f"{name}={text}"))


def _is_whole(subject: Subject) -> bool:
    """Return whether the subject is a whole resource with settings, not one of its keys."""
    return subject[0] not in ("quota", "scram", "feature") and not (subject[0] == "config" and subject[-1] is not None)


def _together(verb: str, subjects: Sequence[Subject], words: Sequence[str]) -> list[AdminCommand]:
    """Return one command for all resources, so that it asks only once. Errors: UsageError for a subject without settings."""
    resources = [_resource(subject) for subject in subjects]
    return [AdminCommand("configs", verb, ("--", *resources, *words))] if resources else []


def _removal(subject: Subject, keys: tuple[str, ...]) -> AdminCommand:
    match subject:
        case ("quota", entity, _):
            question = f"Remove {', '.join(keys)} of {_entity_text(entity)}?"
            return AdminCommand("quotas", "unset", (*_entity_options(entity), "--", *keys), question)
        case _:
            return AdminCommand("configs", "unset", ("--", _resource(subject), *keys))


def delete_commands(subjects: Sequence[Subject], image: MetadataImage) -> list[AdminCommand]:
    """Return one command for all topics, and one each for settings, quotas, credentials and ACLs. Errors: UsageError."""
    topics = [subject[1] for subject in subjects if subject[0] == "topic"]
    deeds = [AdminCommand("topics", "delete", ("--", *topics))] if topics else []
    for subject in subjects:
        match subject:
            case ("topic", _):
                continue
            case ("config", type, name, key):
                keys = tuple(image.configs.get((type, name), {})) if key is None else (key,)
                if not keys:
                    raise UsageError(f"{_resource(subject)}: nothing is set")
                deeds.append(_removal(subject, tuple(sorted(keys))))
            case ("quota", entity, None):
                question = f"Remove all quotas of {_entity_text(entity)}?"
                deeds.append(AdminCommand("quotas", "unset", (*_entity_options(entity), "--all"), question))
            case ("quota", _, key):
                deeds.append(_removal(subject, (key,)))
            case ("scram", mechanism, user):
                deeds.append(AdminCommand("scram", "delete", (f"--mechanism={mechanism}", "--", user)))
            case ("acl", acl):
                deeds.append(AdminCommand("acls", "remove", tuple(_acl_options(acl))))
            case ("feature", name):
                deeds.append(AdminCommand("features", "disable", ("--", name)))
            case ("broker" | "controller", _):
                raise UsageError(f"a {subject[0]} is not deleted: `unregister` removes one that is gone for good")
            case _:
                raise UsageError("a partition cannot be deleted, only its topic")
    return deeds


def elect_commands(subjects: Sequence[Subject], *, is_unclean: bool) -> list[AdminCommand]:
    """Return the commands for partitions, or for all partitions of topics. Errors: UsageError for anything else."""
    words = []
    for subject in subjects:
        match subject:
            case ("topic", name):
                words.append(name)
            case ("partition", name, number):
                words.append(f"{name}:{number}")
            case _:
                raise UsageError("leaders are elected for topics and partitions")
    if is_unclean:
        return [AdminCommand("elect", "unclean", ("--", *words))]
    return [AdminCommand("elect", "preferred", ("--", *words), f"Elect the preferred leaders of {', '.join(words)}?")]


def unregister_commands(subjects: Sequence[Subject], *, is_forced: bool) -> list[AdminCommand]:
    """Return one command for all brokers, and one for each controller. Errors: UsageError for anything else."""
    if any(subject[0] not in ("broker", "controller") for subject in subjects):
        raise UsageError("only brokers and controllers are unregistered: /image/cluster/brokers/ID, /image/cluster/controllers/ID")
    options = ("--force", "--") if is_forced else ("--",)
    brokers = [str(id) for kind, id in subjects if kind == "broker"]
    deeds = [AdminCommand("brokers", "unregister", (*options, *brokers))] if brokers else []
    return deeds + [AdminCommand("quorum", "unregister-controller", (*options, str(id))) for kind, id in subjects if kind == "controller"]


def create_commands(subjects: Sequence[Subject], settings: Sequence[str], options: Sequence[str]) -> list[AdminCommand]:
    """Return the commands that create topics, all with the same settings. Errors: UsageError for anything else."""
    if any(subject[0] != "topic" for subject in subjects):
        raise UsageError("only topics are created: /image/topics/byName/NAME; `set` makes settings, quotas and credentials")
    names = [subject[1] for subject in subjects]
    words = (*options, *(f"--config={setting}" for setting in settings), "--", *names)
    return [AdminCommand("topics", "create", words, f"Create {', '.join(names)}?")]


def alter_commands(subjects: Sequence[Subject], partitions: int) -> list[AdminCommand]:
    """Return the commands that give topics a number of partitions. Errors: UsageError for anything else."""
    if any(subject[0] != "topic" for subject in subjects):
        raise UsageError("only topics have a number of partitions: /image/topics/byName/NAME")
    return [AdminCommand("topics", "alter", (f"--partitions={partitions}", "--", *(subject[1] for subject in subjects)))]


# ---- words of the commands


def _resource(subject: Subject) -> str:
    """Return the resource as text: `topic:orders`, `broker:default`. Errors: UsageError for a subject without settings."""
    found = resource_of(subject)
    if found is None:
        raise UsageError("it has no settings: name a topic, a broker, or what is below /image/configs or /image/clientQuotas")
    type, name = found
    return f"{code_name(CONFIG_TYPES, type).lower().replace('_', '-')}:{name or 'default'}"


def _entity_text(entity: Iterable[tuple[str, str | None]]) -> str:
    return " and ".join(f"{kind} {'default' if name is None else name}" for kind, name in entity)


def _entity_options(entity: Iterable[tuple[str, str | None]]) -> list[str]:
    return [f"--{kind}-default" if name is None else f"--{kind}={name}" for kind, name in entity]


def _acl_options(acl: Acl) -> Iterable[str]:
    """Yield the options that select only this ACL."""
    kind = code_name(ACL_RESOURCE_TYPES, acl.resource_type)
    yield "--cluster" if kind == "CLUSTER" else f"{_ACL_OPTIONS.get(kind, '--topic')}={acl.resource_name}"
    yield f"--pattern={code_name(ACL_PATTERN_TYPES, acl.pattern_type).lower()}"
    yield f"--principal={acl.principal}"
    yield f"--host={acl.host}"
    yield f"--operation={code_name(ACL_OPERATIONS, acl.operation)}"
    yield f"--permission={code_name(ACL_PERMISSION_TYPES, acl.permission_type).lower()}"


class Administrator(Protocol):
    """An object that runs administration commands on the cluster that the shell shows."""

    def perform(self, called: str, deed: AdminCommand, options: Sequence[str]) -> int:
        """Run a command, which prints its answer under the name `called`, and return its status. Errors: MetashellError."""

    def committed_offset(self) -> int | None:
        """Return an offset below which all changes so far lie, or None if it is not known."""

    def keys(self, subject: Subject) -> Sequence[str]:
        """Return the keys that a resource or an entity may have."""
