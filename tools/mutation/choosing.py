"""The order of the tests for a mutation: the one that killed it last, the tests of its module, then all others that enter its function."""

from __future__ import annotations

from pathlib import PurePosixPath

from tools.mutation.child import SEED, file_of
from tools.mutation.mutants import Mutation
from tools.mutation.recording import Recording

FILES_FIRST = 6
"""Files of the first stage: few, so that little is imported."""


def stages(mutation: Mutation, recording: Recording, killer: str | None) -> list[dict[str, float]]:
    """Two lists of tests with their seconds: the likely ones, in a few files, so that little is imported; then the others.

    What stands outside of functions runs when the module is imported, and then holds for every test that enters the module. Of a module
    that only has such things, any test of the room may notice.
    """
    module = mutation.key.module
    tests = recording.entered.get((module, mutation.key.function))
    if tests is None:
        tests = recording.tests_of_module(module)
    if not tests:
        tests = [test for test in recording.seconds if not test.startswith(SEED)]
    tests = [*tests, *(test for test in recording.seconds if test.startswith(SEED) or is_own(test, module))]
    tests = sorted(set(tests), key=lambda test: (test != killer, not is_own(test, module), recording.seconds[test]))
    files: list[str] = []
    for test in tests:
        if file_of(test) not in files:
            files.append(file_of(test))
    likely = [name for name in files if name != SEED][:FILES_FIRST]
    if killer is not None and killer in tests:
        likely = [file_of(killer), *likely]
    first = {test: recording.seconds[test] for test in tests if file_of(test) in likely}
    return [first, {test: recording.seconds[test] for test in tests if test not in first}]


def is_own(test: str, module: str) -> bool:
    """Whether a test lies in the file that mirrors the module."""
    path = PurePosixPath(module)
    return file_of(test) == f"tests/{path.parent}/test_{path.stem}.py"
