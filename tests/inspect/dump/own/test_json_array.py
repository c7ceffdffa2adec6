"""One JSON array, also where it is interrupted."""

from __future__ import annotations

import fcntl
import json
import os

import pytest

from metashell.inspect.dump.options import Output
from metashell.inspect.dump.own_session import ArrayOutput


def test_lines_become_the_elements_of_one_array() -> None:
    reader, writer = os.pipe()
    with ArrayOutput(Output(writer)) as array:
        array.write(b'{"a":1}\n{"a":2}\n')
        array.write(b'{"a":3}\n')
    os.close(writer)
    with open(reader, "rb") as read:
        assert json.loads(read.read()) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_an_interrupted_array_is_closed_if_somebody_reads() -> None:
    reader, writer = os.pipe()
    with pytest.raises(KeyboardInterrupt), ArrayOutput(Output(writer)) as array:
        array.write(b'{"a":1}\n')
        raise KeyboardInterrupt
    os.close(writer)
    with open(reader, "rb") as read:
        assert json.loads(read.read()) == [{"a": 1}]


def test_an_interrupt_does_not_wait_for_a_reader_that_has_stalled() -> None:
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
    with pytest.raises(KeyboardInterrupt), ArrayOutput(Output(writer)):
        os.write(writer, b" " * size)
        raise KeyboardInterrupt
    os.close(writer)
    with open(reader, "rb") as read:
        assert read.read() == b" " * size
