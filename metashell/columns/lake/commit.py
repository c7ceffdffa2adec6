"""How a commit gets into a lake, whole or not at all, whatever ends the process between two of its steps.

    1  parts lie below _metashell/work, written and closed
    2  pending.json: the commit, and where its files lie
    3  the files get their names
    4  commits/NUMBER.json: from here on the commit is there
    5  removals, the folder of work, pending.json

Whoever has the lock next goes on. Without pending.json the work is dropped. With it and without the commit's file, every file must be there
with its size, under one name or the other: then 3 to 5 are done again, each of which may be done twice. If one is not, the commit never
was: what has its name is removed. With both, 5 is done again.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.columns.lake.lake import CHECKPOINT_EVERY, json_bytes, read_commit, read_pending
from metashell.columns.lake.ledger import Commit, LakeState
from metashell.columns.lake.names import PENDING, WORK, checkpoint_name, commit_name
from metashell.errors import MetashellError
from metashell.stores import Held, Store


def make_commit(store: Store, held: Held, state: LakeState, commit: Commit, staged: Sequence[str]) -> None:
    """Make a commit whose files lie under the names `staged`, in the order of `commit.added`; the state has it then.

    Errors: MetashellError of the store, or where the lock was lost; the next to write goes on.
    """
    assert len(staged) == len(commit.added), "each file has a staged name"
    held.require()
    store.put(PENDING, json_bytes({"commit": commit.to_json(), "staged": list(staged)}), durable=True)
    _finish(store, held, commit, staged)
    state.apply(commit)
    if commit.number % CHECKPOINT_EVERY == 0:
        store.put(checkpoint_name(commit.number), json_bytes(state.to_json()), durable=True)


def recover(store: Store, held: Held) -> str:
    """Finish or undo what another writer left; what was done, in a line, or nothing. Errors: MetashellError."""
    found = read_pending(store)
    if found is None:
        _drop_work(store)
        return ""
    commit, staged = found
    made = read_commit(store, commit.number)
    if made is None and not _is_complete(store, commit, staged):
        held.require()
        store.remove_all([file.name for file in commit.added])
        _drop_work(store)
        store.remove(PENDING)
        return "an interrupted export was undone: not all of its files were there"
    _finish(store, held, commit, staged, is_made=made is not None)
    return "an interrupted export was completed"


def _finish(store: Store, held: Held, commit: Commit, staged: Sequence[str], *, is_made: bool = False) -> None:
    name = commit_name(commit.number)
    if not is_made:
        store.move_all([(source, file.name, file.size) for source, file in zip(staged, commit.added, strict=True)])
        held.require()
        store.put(name, json_bytes(commit.to_json()), durable=True)
    there = read_commit(store, commit.number)
    if there is None or there.id != commit.id:
        raise MetashellError(f"{store.shown_name(name)}: was written by another export at the same time: nothing more is done here")
    held.require()
    store.remove_all(commit.removed)
    _drop_work(store)
    store.remove(PENDING)


def _is_complete(store: Store, commit: Commit, staged: Sequence[str]) -> bool:
    sizes = {file.name: file.size for file in store.files()}
    return all(file.size in (sizes.get(source), sizes.get(file.name)) for source, file in zip(staged, commit.added, strict=True))


def _drop_work(store: Store) -> None:
    """Remove what is being written. A worker of a killed run may live a moment longer and write there: that goes the next time."""
    try:
        store.remove_below(WORK)
    except MetashellError:
        store.remove_below(WORK)
