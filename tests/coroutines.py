"""Tests that are coroutines: each runs on a loop of its own, and fails when a callback of the loop raises unseen."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
LIMIT_S = 3600.0 if os.environ.get("METASHELL_SOAK") else 120.0
"""A test that hangs fails after so long."""


def run(main: Callable[[], Awaitable[T]], limit_s: float = LIMIT_S) -> T:
    """Run a coroutine to its end; an exception that a callback lets escape fails the test."""
    escaped: list[dict[str, Any]] = []

    async def guarded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: escaped.append(context))
        async with asyncio.timeout(limit_s):
            return await main()

    found = asyncio.run(guarded())
    assert not escaped, escaped
    return found


async def eventually(holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Return once `holds`; the loop runs on meanwhile. The limit ends what hangs; how fast something is no test says by it."""
    async with asyncio.timeout(limit_s):
        while not holds():
            await asyncio.sleep(0.005)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test; tests/conftest.py hands this to pytest."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    run(lambda: test(**arguments))
    return True
