"""A client for administering a live cluster: functions that take an `Admin` and return typed, frozen values.

Promises: nothing here prints, asks a person or reads a file. A call answers or fails within the deadline of its `Admin`. It finds the
quorum's leader and follows a change of leader. A change whose connection broke after it was sent is sent again only if repeating it has no
further effect (the table is in `admin.protocol`); otherwise it ends in UncertainError: the change may or may not have been made.

`Admin(Kind.BROKERS, addresses)` is in `admin.client`, `Kind` and the errors in `admin.protocol`; each other module is one subject. The
package imports nothing else of `cli`.

Errors: AdminError is an answer of the cluster with an error code; WrongListenerError a broker where a controller was needed, or the other
way round; UnsupportedError an API that the cluster is too old for; UncertainError; ConnectError of the client when nobody answers."""
