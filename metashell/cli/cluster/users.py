"""The commands of `metashell quotas` and `metashell scram`: quotas of users, client ids and addresses, and SASL SCRAM credentials."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from metashell.cli.cluster.noun_tool import Work, noun_tool
from metashell.cli.connection import DRY_RUN, YES, command, noun, read_password
from metashell.codec.releases import NEWEST_RELEASE
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import counted
from metashell.common.options import Argument, Option, choice, did_you_mean, file_option, flag
from metashell.net.scram_credentials import ITERATIONS_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.users import Entity, Quotas, ScramUser


_KEYS = """
        producer_byte_rate, consumer_byte_rate (bytes per second and broker), request_percentage, controller_mutation_rate (partitions per
        second), and of addresses connection_creation_rate"""


def _entity_options(named: str, applied: str) -> tuple[Option, ...]:
    return (
        Option(names=("--user",), metavar="NAME", help=f"{named} a user"),
        flag("--user-default", help=f"{applied} users without a quota of their own"),
        Option(names=("--client-id", "--client"), metavar="ID", help=f"{named} a client id; together with a user, of that user's client"),
        flag("--client-id-default", help=f"{applied} client ids without a quota of their own"),
        Option(names=("--ip",), metavar="HOST", help=f"{named} an address, alone"),
        flag("--ip-default", help=f"{applied} addresses without a quota of their own"),
    )


LIST_QUOTAS = command(
    "list",
    "show quotas",
    """
        Without options shows all quotas. Of several that apply to a connection the most special one counts: user and client id, then user,
        then client id, each before its default.

        Controllers do not describe quotas: with -C they are read from the metadata log, which needs the right CLUSTER_ACTION.
        """,
    options=(
        *_entity_options("quotas of", "what applies to"),
        flag("--strict", help="leave out what is also about a type that is not named"),
    ),
    examples=(
        ("metashell quotas list -b broker-1:9092", "all quotas"),
        ("metashell quotas list --user alice", "those of alice, and of alice with client ids"),
        ("metashell quotas list --user alice --strict -o json", "of alice alone, for a program"),
    ),
    reads=True,
)
SET_QUOTAS = command(
    "set",
    "set quotas of a user, client id or address",
    f"""
        Sets each KEY=VALUE of one entity; other quotas of it stay. The keys are {_KEYS}. Bytes may be written 512k, 10M or 1G.
        """,
    options=(*_entity_options("set for", "set for all"), DRY_RUN),
    arguments=(Argument(name="quota", metavar="KEY=VALUE", nargs="+", help="a quota and its value"),),
    examples=(
        ("metashell quotas set --user alice producer_byte_rate=10M consumer_byte_rate=20M", "limit a user"),
        ("metashell quotas set --user-default --client-id-default request_percentage=50", "limit each client of each user"),
        ("metashell quotas set --ip 10.0.0.7 connection_creation_rate=20 --dry-run", "ask the cluster whether it would take that"),
    ),
)
UNSET_QUOTAS = command(
    "unset",
    "remove quotas of a user, client id or address",
    """
        Removes each KEY of one entity, to which less special quotas apply then. The answer names keys that were not set; that is no error,
        unless Kafka knows no such key.
        """,
    options=(*_entity_options("remove from", "remove from what applies to all"), flag("--all", help="all quotas of the entity"), DRY_RUN),
    arguments=(Argument(name="key", nargs="*", help="a quota: producer_byte_rate and so on"),),
    examples=(
        ("metashell quotas unset --user alice producer_byte_rate", "one quota of a user"),
        ("metashell quotas unset --client-id-default --all", "all default quotas of client ids"),
    ),
)

QUOTAS = noun(
    "quotas",
    "quotas of users, client ids and addresses: list, set, unset",
    """
        Lists and changes how much users, client ids and addresses may use. Listing needs the right DESCRIBE_CONFIGS on the cluster,
        changes need ALTER_CONFIGS.
        """,
    (LIST_QUOTAS, SET_QUOTAS, UNSET_QUOTAS),
)


QUOTA_COLUMNS = ("entity", "quota", "value")
_NAMES = {"user": ("user", "user_default"), "client-id": ("client_id", "client_id_default"), "ip": ("ip", "ip_default")}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_VALUE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)([kmgt]?)", re.ASCII | re.IGNORECASE)


def _list_quotas(work: Work) -> None:
    wanted = dict(_names(work.values))
    rows = [row for found in _matching_quotas(work, wanted, is_strict=work.values.strict) for row in _quota_rows(found)]
    work.rows(rows, QUOTA_COLUMNS, none="no quota fits" if wanted else "no quotas")


def _matching_quotas(work: Work, wanted: Mapping[str, str | None], *, is_strict: bool) -> list[Quotas]:
    from metashell.cli.admin.users import describe_quotas, matching_quotas

    if work.asks_controllers:
        return matching_quotas(work.image().client_quotas, wanted, is_strict=is_strict)
    return describe_quotas(work.admin, wanted, is_strict=is_strict)


def _quota_rows(found: Quotas) -> list[dict[str, object]]:
    return [{**_fields(found.entity), "quota": key, "value": _number(value)} for key, value in sorted(found.values.items())]


def _fields(entity: Entity) -> dict[str, object]:
    """Return the fields of the entity that every object has; a null name is the default."""
    from metashell.cli.admin.users import entity_text

    return {"type": "quota", "entity": entity_text(entity), "names": dict(entity)}


def _number(value: float) -> float | int:
    return int(value) if math.isfinite(value) and value == int(value) else value


def _set_quotas(work: Work) -> None:
    entity = _entity(work.values)
    changes = _assignments(work.values.quota)
    # Through controllers, the old values are not read: that would fetch the whole metadata log.
    _alter_quotas(work, entity, changes, None if work.asks_controllers else _present(work, entity))


def _unset_quotas(work: Work) -> None:
    entity, keys = _entity(work.values), list(work.values.key)
    if keys and work.values.all:
        raise UsageError("--all and names of quotas exclude each other", "--all")
    if not keys and not work.values.all:
        raise UsageError("name the quotas to remove, or give --all", "--all")
    before = _present(work, entity)
    if not keys:
        if before is None:
            # The quotas could not be read: read them again for the error.
            _matching_quotas(work, dict(entity), is_strict=True)
        keys = sorted(before or ())
        if not keys:
            from metashell.cli.admin.users import entity_text

            work.fail(f"{entity_text(entity)}: it has no quotas")
            return
    _alter_quotas(work, entity, dict.fromkeys(keys), before)


def _present(work: Work, entity: Entity) -> Mapping[str, float] | None:
    """Return the quotas of an entity; None if they cannot be read, as for a user who may only change them."""
    try:
        return {key: value for found in _matching_quotas(work, dict(entity), is_strict=True) for key, value in found.values.items()}
    except MetashellError:
        return None


def _hint(key: str) -> str:
    """Return a suggestion for an unknown quota; empty for a known one."""
    from metashell.cli.admin.users import QUOTAS

    return "" if key in QUOTAS else did_you_mean(key, list(QUOTAS)) or f"; there are {', '.join(QUOTAS)}"


def _alter_quotas(work: Work, entity: Entity, changes: Mapping[str, float | None], before: Mapping[str, float] | None) -> None:
    """Change the quotas, and report each change with the old value if it is known."""
    from metashell.cli.admin.users import alter_quotas

    for _, error in alter_quotas(work.admin, [(entity, changes)], is_dry_run=work.is_dry):
        if error is not None:
            work.failed(error, **_fields(entity), quotas=list(changes))
            for key in changes:
                if hint := _hint(key):
                    work.note(f"{key}: Kafka {NEWEST_RELEASE.name} knows no such quota{hint}")
            return
    for key, value in changes.items():
        _report_quota(work, entity, key, value, before)


def _report_quota(work: Work, entity: Entity, key: str, value: float | None, before: Mapping[str, float] | None) -> None:
    from metashell.cli.admin.users import entity_text

    name, was = entity_text(entity), None if before is None else before.get(key)
    fields = {**_fields(entity), "quota": key, "value": None if value is None else _number(value)}
    fields["value_before"] = None if was is None else _number(was)
    if value is None and before is not None and was is None:
        work.tell(f"{name}: {key}: is not set{_hint(key)}", **fields, result="not set")
        if _hint(key):
            work.fail()
        return
    result = f"{'would be ' if work.is_dry else ''}{'removed' if value is None else 'set'}"
    text = f"{name}: {key}: {result}{'' if value is None else f' to {_number(value)}'}"
    if before is not None:
        text += ", not set before" if was is None else f", {_number(was)} before"
    work.tell(text, **fields, result=result)


# ---- from the command line


def _names(values: SimpleNamespace) -> list[tuple[str, str | None]]:
    """Return the type and name of each part of the entity that is named, None for a default. Errors: UsageError."""
    found: list[tuple[str, str | None]] = []
    for kind, (name, default) in _NAMES.items():
        given, is_default = getattr(values, name), getattr(values, default)
        if given is not None and is_default:
            raise UsageError(f"--{kind} and --{kind}-default exclude each other", f"--{kind}")
        if given is not None or is_default:
            found.append((kind, given))
    return found


def _entity(values: SimpleNamespace) -> Entity:
    names = _names(values)
    if not names:
        raise UsageError("name whose quotas: --user, --client-id, --ip, or one of these with -default", "--user")
    if len(names) > 1 and names[-1][0] == "ip":
        raise UsageError("an address has its quotas alone, without --user and --client-id", "--ip")
    return tuple(names)


def _assignments(words: Sequence[str]) -> dict[str, float]:
    """Parse KEY=VALUE words into values by key. Errors: UsageError."""
    found: dict[str, float] = {}
    for word in words:
        key, value = quota_assignment(word)
        if key in found:
            raise UsageError(f"{key}: given twice", word)
        found[key] = value
    return found


def quota_assignment(word: str) -> tuple[str, float]:
    """Parse KEY=VALUE; a byte rate may be written as a size, such as 512k. Errors: UsageError."""
    key, equals, text = word.partition("=")
    match = _VALUE.fullmatch(text)
    if not equals or not key:
        raise UsageError(f"{word!r} is not KEY=VALUE", word)
    if match is None or (match[2] and not key.endswith("_byte_rate")) or not float(match[1]):
        raise UsageError(
            f"{key}: {text!r} is not a number above 0{' such as 1048576, 512k or 10M' if key.endswith('_byte_rate') else ''}", word
        )
    return key, float(match[1]) * _UNITS[match[2].lower()]


quotas_main = noun_tool("quotas", QUOTAS, {"list": _list_quotas, "set": _set_quotas, "unset": _unset_quotas})


_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

LIST_SCRAM = command(
    "list",
    "show which users have SCRAM credentials",
    """
        Shows users, mechanisms and iterations; a cluster tells no more. Controllers do not describe credentials: with -C they are read from
        the metadata log, which needs the right CLUSTER_ACTION.
        """,
    arguments=(Argument(name="user", nargs="*", help="users; without any, all"),),
    examples=(
        ("metashell scram list -b broker-1:9092", "all users"),
        ("metashell scram list alice -o json", "one user, for a program"),
    ),
    reads=True,
)
SET_SCRAM = command(
    "set",
    "give a user a password",
    """
        Makes or replaces the credential of a user, with a new salt. The password is never part of the command line. It is the first line of
        standard input; a terminal asks for it twice and does not show it. --password-file and --password-env name other places. Whoever is
        connected stays so; a new login needs the new password.

        The password itself is not sent, but what is sent is enough to log in: use a connection with TLS.
        """,
    options=(
        choice(
            "--mechanism",
            metavar="NAME",
            choices=_MECHANISMS,
            multiple=True,
            help="which credential, SCRAM-SHA-512 if none is named",
        ),
        Option(names=("--iterations",), metavar="N", type="int", default=4096, help="how often the password is hashed, 4096 to 16384"),
        file_option(
            "--password-file", help="read the password from this file, which holds nothing else; - is standard input", exclusive="password"
        ),
        Option(names=("--password-env",), metavar="NAME", help="read the password from this environment variable", exclusive="password"),
        DRY_RUN._replace(help="change nothing: check the password's place, and show what would be made or replaced"),
    ),
    arguments=(Argument(name="user", nargs="*", metavar="USER", help="the user"),),
    examples=(
        ("metashell scram set alice", "ask for the password"),
        ("metashell scram set alice --password-file /run/secrets/alice", "read it from a file"),
        ("pass show kafka/alice | metashell scram set alice --mechanism SCRAM-SHA-256", "read it from another program"),
    ),
)
DELETE_SCRAM = command(
    "delete",
    "delete SCRAM credentials of users",
    """
        Deletes all credentials of the users, or those of the mechanisms that are named. A user without one cannot log in by SCRAM any more;
        whoever is connected stays so. Without --mechanism the credentials are listed first.
        """,
    options=(
        choice("--mechanism", metavar="NAME", choices=_MECHANISMS, multiple=True, help="only this one"),
        DRY_RUN._replace(help="change nothing: show what would be deleted"),
        YES,
    ),
    arguments=(Argument(name="user", nargs="+", help="users"),),
    examples=(
        ("metashell scram delete alice", "all credentials of a user"),
        ("metashell scram delete alice --mechanism SCRAM-SHA-256 --yes", "one of them, without a question"),
    ),
)

SCRAM = noun(
    "scram",
    "SCRAM credentials of users: list, set, delete",
    """
        Lists, sets and deletes the credentials that users log in with by SASL SCRAM. Listing needs the right DESCRIBE on the cluster,
        changes need ALTER.
        """,
    (LIST_SCRAM, SET_SCRAM, DELETE_SCRAM),
)


SCRAM_COLUMNS = ("user", "mechanism", "iterations")
_DEFAULT_MECHANISM = "SCRAM-SHA-512"


def _list_scram(work: Work) -> None:
    found, errors = _described_users(work, work.values.user)
    for error in errors:
        work.failed(error, type="scram", user=error.thing)
    if found or not errors:
        work.rows(map(_credential_row, found), SCRAM_COLUMNS, none="no SCRAM credentials")


def _described_users(work: Work, users: Sequence[str]) -> tuple[list[ScramUser], list[AdminError]]:
    """Return the credentials of these users, or of all if none is named, and an error for each user that has none."""
    from metashell.cli.admin.users import describe_scram, scram_users

    if work.asks_controllers:
        return scram_users(work.image().scram, users)
    return describe_scram(work.admin, users)


def _credential_row(credential: ScramUser) -> dict[str, object]:
    return {"type": "scram", **{name: getattr(credential, name) for name in SCRAM_COLUMNS}}


def _set_scram(work: Work) -> None:
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.users import ITERATIONS_MAX, ScramUser, set_scram

    values = work.values
    if len(values.user) != 1:
        # A second word may be a password, so the message does not repeat it.
        raise UsageError("name one USER; a password is no part of the command line" if values.user else "missing USER", "USER")
    if not ITERATIONS_MIN <= values.iterations <= ITERATIONS_MAX:
        raise UsageError(f"option --iterations: {values.iterations} is not between {ITERATIONS_MIN} and {ITERATIONS_MAX}", "--iterations")
    user = values.user[0]
    credentials = [ScramUser(user, name, values.iterations) for name in dict.fromkeys(values.mechanism or (_DEFAULT_MECHANISM,))]
    password = read_password(f"Password of {user}", file=values.password_file, variable=values.password_env)
    if work.is_dry:
        present = {found.mechanism for found in _described_users(work, ())[0] if found.user == user}
        for credential in credentials:
            _report_credential(work, credential, "would be replaced" if credential.mechanism in present else "would be made")
        return
    for credential in credentials:
        try:
            set_scram(work.admin, credential, password)
        except AdminError as error:
            work.failed(error, **_credential_row(credential))
        else:
            _report_credential(work, credential, "set")


def _delete_scram(work: Work) -> None:
    from metashell.cli.admin.protocol import AdminError
    from metashell.cli.admin.users import delete_scram

    found, errors = _described_users(work, tuple(dict.fromkeys(work.values.user)))
    for error in errors:
        work.failed(error, type="scram", user=error.thing)
    chosen = [each for each in found if each.mechanism in (work.values.mechanism or (each.mechanism,))]
    for user in sorted({each.user for each in found} - {each.user for each in chosen}):
        work.fail(f"{user}: has no credential of {' or '.join(work.values.mechanism)}")
    if not chosen:
        return
    if work.is_dry:
        for credential in chosen:
            _report_credential(work, credential, "would be deleted")
        return
    work.confirm(
        *(f"{each.user} will not be able to log in by {each.mechanism}" for each in chosen), question=f"Delete {_counted(len(chosen))}?"
    )
    for credential in chosen:
        try:
            delete_scram(work.admin, credential.user, credential.mechanism)
        except AdminError as error:
            work.failed(error, **_credential_row(credential))
        else:
            _report_credential(work, credential, "deleted")


def _counted(count: int) -> str:
    return counted(count, "credential")


def _report_credential(work: Work, credential: ScramUser, result: str) -> None:
    work.tell(
        f"{credential.user}: {credential.mechanism}, {credential.iterations} iterations: {result}",
        **_credential_row(credential),
        result=result,
    )


scram_main = noun_tool("scram", SCRAM, {"list": _list_scram, "set": _set_scram, "delete": _delete_scram})
