"""A client for administering a live cluster: functions that take an `Admin` and return typed, frozen values.

Promises: nothing here prints, asks a person or reads a file. A call returns or fails within the deadline of its `Admin`. It finds the
quorum's leader and follows a change of leader. If the connection breaks after a change was sent, the change is sent again only if repeating
it has no further effect (`admin.protocol` has the table). Otherwise UncertainError is raised: the change may or may not have been made.

`Admin(Kind.BROKERS, addresses)` is in `admin.client`, `Kind` and the errors in `admin.protocol`; each other module is one subject. The
package imports nothing else of `cli`.

Errors: AdminError if the cluster answered with an error code; WrongListenerError if an address is a broker's where a controller's is
needed, or the other way round; UnsupportedError if the cluster is too old for an API; UncertainError; ConnectError if no node answers."""
