"""Reads a password from where no other user of the machine sees it: a terminal, a file, standard input, the environment.

No message repeats any of it.
"""

from __future__ import annotations

import os
import sys

from metashell.errors import MetashellError, PathError, UsageError

SIZE_MAX = 16 * 1024
STANDARD_INPUT = "-"


def read_password(question: str, *, file: str | None, variable: str | None) -> str:
    """The password from a file (`-` is standard input), a variable, else from a terminal, asked twice, or standard input.

    Shape: bytes that are not UTF-8 are surrogates, as in words of the command line. One line feed at the end is none of it.
    Errors: UsageError, PathError; MetashellError where two answers differ.
    """
    if variable is not None:
        return _from_variable(variable)
    if file is not None and file != STANDARD_INPUT:
        return _from_file(file)
    if file is None and sys.stdin.isatty():
        return _asked(question)
    return _checked(sys.stdin.buffer.read(SIZE_MAX + 1), "standard input")


def _from_variable(variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        # What stands there may be the password itself, so it is not repeated.
        raise UsageError("option --password-env: no variable of this name is set", "--password-env")
    return _checked(os.fsencode(value), "the variable of --password-env")


def _from_file(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return _checked(opened.read(SIZE_MAX + 1), file)
    except OSError as error:
        raise PathError.of(file, error) from None


def _checked(raw: bytes, place: str) -> str:
    text = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(raw) > SIZE_MAX:
        raise UsageError(f"{place}: a password has at most {SIZE_MAX} bytes")
    if b"\n" in text or b"\r" in text or b"\0" in text:
        raise UsageError(f"{place}: a password is a single line")
    if not text:
        raise UsageError(f"{place}: the password is empty")
    return text.decode("utf-8", "surrogateescape")


def _asked(question: str) -> str:
    import warnings
    from getpass import GetPassWarning, getpass

    from metashell.progress import end

    end()
    with warnings.catch_warnings():
        # A terminal that cannot hide what is typed.
        warnings.simplefilter("error", GetPassWarning)
        try:
            first = getpass(f"{question}: ")
            again = getpass("The same again: ")
        except GetPassWarning:
            raise MetashellError("this terminal shows what is typed: use --password-file or --password-env") from None
        except KeyboardInterrupt:
            sys.stderr.write("\nnothing was changed\n")
            raise
        except EOFError:
            sys.stderr.write("\n")  # after the question
            raise MetashellError("no password was typed") from None
    if first != again:
        raise MetashellError("the two passwords differ: nothing was changed")
    return _checked(os.fsencode(first), "the terminal")
