"""Groups of KIP-848, members of the classic protocol in them, and the ways between both kinds.

Promises:
- A request comes to records of one batch: what the member says of itself (5), the group's epoch (3), the target of whom it changes (7, 6),
  and the member's next step to it (8). The state changes only where these are replayed; but a downgrade makes the classic group itself.
- A partition is given only when nobody holds it: each member first gives up what is not its own any more, and says so.
- Client input never reaches Python's `re`: regular expressions are RE2/J's, and take a time that grows with the text.

`group` and `replay` are what a log says; `heartbeat`, `classic_member` and `describe` are the APIs; `step` has the stages that both
protocols share: `subscription`, `target`, `reconcile`. `leaving` and `timeouts` put members out, `upgrade` and `downgrade` change the kind
of group.
"""
