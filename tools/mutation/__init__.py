"""Mutation runs over every room of metashell: does a test fail when a line there is wrong?

`python -m tools.mutation` makes one-line changes (an operator swapped, a bound moved by one, a statement or a call left out, arguments
exchanged, an error passed on) and runs the nearest tests, and for Raft seeds of the simulation, until one fails. A change that nothing
finds is a survivor: either a test is missing, or the change makes no difference and is listed in `equivalent.tsv` with the reason.

What it promises:

- The checkout is only read. A run works on a copy of it in a temporary directory, and the changed source exists in memory alone
  (a Python that a test starts reads it from the scratch folder of that test).
- A mutation has a name (`Mutation.id`) made from its module, function, the text of its line and the change: it stays the same while
  lines move, and so do samples, the list of equivalent ones and the results of earlier runs.
- A mutation that nothing found within the limit counts as survived, also on a machine too busy to finish. Only a single test that
  takes far longer than it did on the sound code counts as hanging, which is a kill.
- A test that kills is asked about the sound code too: one that fails there judges nothing.

In the order of a run: `rooms` has what is judged by what, `operators` finds the edits, `mutants` names them, `sampling` chooses,
`checkout` copies, `recording` notes which test enters which function, `choosing` puts the tests of a mutation in order, `server` is the
warm process which forks for each mutation, `child` what runs in the fork, `running` the side that asks, `results` what is kept between
runs, `report` what is printed.

Libraries: mutmut and cosmic-ray were looked at. Both start a process or need a rewritten source tree for each mutation, know neither
the simulation as a judge nor equivalents that survive moves; this package needs the standard library and pytest alone.
"""
