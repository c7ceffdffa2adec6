"""The command line of `metashell scram`."""

from __future__ import annotations

from metashell.options.administering import DRY_RUN, YES, command, noun
from metashell.options.spec import Argument, Option, choice, file_option

_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

LIST = command(
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
SET = command(
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
DELETE = command(
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
    (LIST, SET, DELETE),
)
