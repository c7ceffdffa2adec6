#!/bin/bash
# Makes .venv, or brings it up to date, and installs metashell into it, editable and byte-compiled. Called by `make`, from the root of
# the checkout, as `tools/make_venv.sh shell` (what the commands need to run) or `tools/make_venv.sh dev` (and what the tests need).
#
# Where .venv/.shell or .venv/.dev is newer than pyproject.toml and this script there is nothing to do, and no network is needed.
# An environment that was cut short while it was made has no such file: the next run completes it.
#
# The interpreter is $PYTHON if that is set, else the first of 3.11 or later that can make an environment. The distribution's comes
# first: it is built with profile-guided optimisation, and decoding is 1.3 to 1.7 times slower without.
set -u
VENV=.venv
LEVEL=${1:-dev}
LOG=$(mktemp) || exit 1
trap 'rm -f "$LOG"' EXIT

usable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# The interpreter that an environment was made of, or the interpreter itself.
base_of() {
    "$1" -c 'import os, sys; print(os.path.realpath(sys._base_executable))' 2>/dev/null
}

# Whether .venv runs, and is of the interpreter that $PYTHON names.
is_right_environment() {
    [ -x "$VENV/bin/python" ] && usable "$VENV/bin/python" || return 1
    [ -z "${PYTHON:-}" ] || [ "$(base_of "$VENV/bin/python")" = "$(base_of "$PYTHON")" ]
}

is_up_to_date() {
    [ "$VENV/.$LEVEL" -nt pyproject.toml ] && [ "$VENV/.$LEVEL" -nt tools/make_venv.sh ] && is_right_environment
}

make_environment() {
    # Without python3-venv, Debian's python has no ensurepip; virtualenv serves as well where it is installed.
    rm -rf "$VENV"
    "$1" -m venv "$VENV" >>"$LOG" 2>&1 && return
    rm -rf "$VENV"
    "$1" -m virtualenv -q "$VENV" >>"$LOG" 2>&1 && return
    rm -rf "$VENV"
    command -v virtualenv >/dev/null && virtualenv -q -p "$1" "$VENV" >>"$LOG" 2>&1
}

candidates() {
    if [ -n "${PYTHON:-}" ]; then
        echo "$PYTHON"
        return
    fi
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        [ -x "/usr/bin/$name" ] && echo "/usr/bin/$name"
    done
    for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
        command -v "$name"
    done
}

find_and_make_environment() {
    local candidate
    for candidate in $(candidates); do
        usable "$candidate" && make_environment "$candidate" && return
    done
    return 1
}

# Built with what the environment itself has, so that a later change of pyproject.toml needs nothing from the network either.
# setuptools makes wheels by itself from 70.1 on, and knows license-files from 77 on.
install() {
    "$VENV/bin/python" -m pip install --disable-pip-version-check -q "$@" >"$LOG" 2>&1
}

fail() {
    cat "$LOG" >&2
    echo "make: $1" >&2
    exit 1
}

is_up_to_date && exit 0
if [ "$LEVEL" = shell ]; then
    WHAT=. SIZE="60 MB, a few seconds"
else
    WHAT=".[dev]" SIZE="1 GB with Spark and the linters, a minute or more"
fi
installed=
if is_right_environment && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    # Where all that is required is there already, as after a change of pyproject.toml that adds nothing, no network is needed.
    install --no-index --no-build-isolation -e "$WHAT" && installed=yes
else
    echo "make: making $VENV" >&2
    find_and_make_environment || fail "no Python 3.11 or later that can make a virtual environment (name one with PYTHON=...)"
fi
if [ -z "$installed" ]; then
    echo "make: installing metashell into $VENV ($SIZE)" >&2
    install 'setuptools>=77' && install --no-build-isolation -e "$WHAT" || fail "installing metashell into $VENV failed"
fi
# Start-up is measured byte-compiled; without this, PYTHONDONTWRITEBYTECODE would have every start compile the project again.
PYTHONDONTWRITEBYTECODE= "$VENV/bin/python" -m compileall -q metashell "$VENV/lib" >/dev/null 2>&1
# What the tests need holds all that the shell needs.
touch "$VENV/.shell"
[ "$LEVEL" = shell ] || touch "$VENV/.$LEVEL"
