#!/bin/sh
# Create .venv in this clone and install Kedi into it, editable. Usage: setup.sh EXTRAS
# Does nothing when .venv is up to date. `make clean` first to change the interpreter.
set -eu
cd "$(dirname "$0")/.."
extras=${1:?usage: setup.sh EXTRAS}
stamp=.venv/.kedi-setup

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        recent "$PYTHON" && echo "$PYTHON" && return
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer." >&2
        return 1
    fi
    for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
        if recent "$name"; then echo "$name" && return; fi
    done
    echo "Kedi needs Python 3.11 or newer: install it, or name it with PYTHON=/path/to/python3." >&2
    return 1
}

key="$(pwd) | $extras | $(cat pyproject.toml kedi/_version.py scripts/setup.sh | cksum)"
if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi

# Scripts inside an environment name the folder it was made in: one that moved is made anew.
if ! .venv/bin/python -c '' 2>/dev/null || [ "$(cut -d'|' -f1 "$stamp" 2>/dev/null)" != "$(pwd) " ]; then
    python=$(find_python)
    echo "Creating .venv with $("$python" --version)"
    if ! "$python" -m venv --clear .venv; then
        echo "Python's venv module is incomplete here; on Debian: apt-get install python3-venv" >&2
        exit 1
    fi
fi
echo "Installing kedi[$extras] into .venv"
quiet=-q
[ -t 1 ] && quiet=
# The pip that comes with older Pythons writes start scripts that import `re`: a quarter of the
# time of `kedi --version`.
.venv/bin/python -m pip install --disable-pip-version-check -q --upgrade pip
# shellcheck disable=SC2086
.venv/bin/python -m pip install --disable-pip-version-check $quiet -e ".[$extras]"
printf '%s\n' "$key" >"$stamp"
