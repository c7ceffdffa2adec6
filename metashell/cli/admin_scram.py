"""metashell scram: the credentials that users log in with by SASL SCRAM."""

from __future__ import annotations

from metashell.cli.administering import Work, noun_tool
from metashell.options.scram_tools import SCRAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.admin.errors import AdminError
    from metashell.admin.scram import ScramUser

COLUMNS = ("user", "mechanism", "iterations")
_DEFAULT_MECHANISM = "SCRAM-SHA-512"


def _list(work: Work) -> None:
    found, errors = _found(work, work.values.user)
    for error in errors:
        work.failed(error, type="scram", user=error.thing)
    if found or not errors:
        work.rows(map(_row, found), COLUMNS, none="no SCRAM credentials")


def _found(work: Work, users: Sequence[str]) -> tuple[list[ScramUser], list[AdminError]]:
    """The credentials of these users, of all if there are none; and an error for each that has none."""
    from metashell.admin.scram import describe_scram, scram_users

    if work.asks_controllers:
        return scram_users(work.image().scram, users)
    return describe_scram(work.admin, users)


def _row(credential: ScramUser) -> dict[str, object]:
    return {"type": "scram", **{name: getattr(credential, name) for name in COLUMNS}}


def _set(work: Work) -> None:
    from metashell.admin.errors import AdminError
    from metashell.admin.scram import ITERATIONS_MAX, ScramUser, set_scram
    from metashell.cli.passwords import read_password
    from metashell.errors import UsageError
    from metashell.net.scram import ITERATIONS_MIN

    values = work.values
    if len(values.user) != 1:
        # What follows the name may be meant as its password, so it is not repeated.
        raise UsageError("name one USER; a password is no part of the command line" if values.user else "missing USER", "USER")
    if not ITERATIONS_MIN <= values.iterations <= ITERATIONS_MAX:
        raise UsageError(f"option --iterations: {values.iterations} is not between {ITERATIONS_MIN} and {ITERATIONS_MAX}", "--iterations")
    user = values.user[0]
    credentials = [ScramUser(user, name, values.iterations) for name in dict.fromkeys(values.mechanism or (_DEFAULT_MECHANISM,))]
    password = read_password(f"Password of {user}", file=values.password_file, variable=values.password_env)
    if work.is_dry:
        present = {found.mechanism for found in _found(work, ())[0] if found.user == user}
        for credential in credentials:
            _tell(work, credential, "would be replaced" if credential.mechanism in present else "would be made")
        return
    for credential in credentials:
        try:
            set_scram(work.admin, credential, password)
        except AdminError as error:
            work.failed(error, **_row(credential))
        else:
            _tell(work, credential, "set")


def _delete(work: Work) -> None:
    from metashell.admin.errors import AdminError
    from metashell.admin.scram import delete_scram

    found, errors = _found(work, tuple(dict.fromkeys(work.values.user)))
    for error in errors:
        work.failed(error, type="scram", user=error.thing)
    chosen = [each for each in found if each.mechanism in (work.values.mechanism or (each.mechanism,))]
    for user in sorted({each.user for each in found} - {each.user for each in chosen}):
        work.fail(f"{user}: has no credential of {' or '.join(work.values.mechanism)}")
    if not chosen:
        return
    if work.is_dry:
        for credential in chosen:
            _tell(work, credential, "would be deleted")
        return
    work.confirm(
        *(f"{each.user} will not be able to log in by {each.mechanism}" for each in chosen), question=f"Delete {_counted(len(chosen))}?"
    )
    for credential in chosen:
        try:
            delete_scram(work.admin, credential.user, credential.mechanism)
        except AdminError as error:
            work.failed(error, **_row(credential))
        else:
            _tell(work, credential, "deleted")


def _counted(count: int) -> str:
    from metashell.forms import counted

    return counted(count, "credential")


def _tell(work: Work, credential: ScramUser, result: str) -> None:
    work.tell(f"{credential.user}: {credential.mechanism}, {credential.iterations} iterations: {result}", **_row(credential), result=result)


main = noun_tool("scram", SCRAM, {"list": _list, "set": _set, "delete": _delete})
