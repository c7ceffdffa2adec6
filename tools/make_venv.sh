#!/bin/bash
# Makes .venv and installs metashell into it, editable and byte-compiled. Called by `make`, from the root of the checkout.
#
# The interpreter is $PYTHON if that is set, else the first of 3.11 or later that can make an environment. The distribution's comes
# first: it is built with profile-guided optimisation, and decoding is 1.3 to 1.7 times slower without.
set -u
VENV=.venv
LOG=$(mktemp) || exit 1
trap 'rm -f "$LOG"' EXIT

usable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
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

# Where an environment is there already, only its packages are brought up to date.
if ! { [ -x "$VENV/bin/python" ] && "$VENV/bin/python" -m pip --version >/dev/null 2>&1 && [ -z "${PYTHON:-}" ]; }; then
    made=
    for candidate in $(candidates); do
        usable "$candidate" || continue
        if make_environment "$candidate"; then
            made=$candidate
            break
        fi
    done
    if [ -z "$made" ]; then
        cat "$LOG" >&2
        echo "make: no Python 3.11 or later that can make a virtual environment (name one with PYTHON=...)" >&2
        exit 1
    fi
fi

if ! "$VENV/bin/python" -m pip install --disable-pip-version-check -q -e '.[dev]' >"$LOG" 2>&1; then
    cat "$LOG" >&2
    echo "make: installing metashell into $VENV failed" >&2
    exit 1
fi
# Start-up is measured byte-compiled; without this, PYTHONDONTWRITEBYTECODE would have every start compile the project again.
PYTHONDONTWRITEBYTECODE= "$VENV/bin/python" -m compileall -q metashell "$VENV/lib" >/dev/null 2>&1
touch "$VENV/.stamp"
