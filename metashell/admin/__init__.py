"""What an operator asks of a live cluster: functions that take an `Admin` and give typed, frozen values.

Promises: nothing here prints, asks a person or reads a file. A call answers or fails within the deadline of its `Admin`. Who leads the
quorum is found out, and a change of leader is followed, never shown. A mutation whose connection broke after it was sent is sent again
only where doing it twice is doing it once (`admin.requests` has the table); else it ends in UncertainError, which says that it may or
may not have been done.

Public names: `Admin(Kind.BROKERS, addresses)` and `Kind` in `admin.admin`; the errors in `admin.errors`. Beside
them one module for each subject.

Errors: AdminError is an answer of the cluster with an error code; WrongListenerError a broker where a controller was wanted, or the other
way round; UnsupportedError an API that the cluster is too old for; UncertainError; ConnectError of `metashell.client` when nobody
answered.
"""
