"""All benchmarks, one table: ``python -m benchmarks [NAME …] [--json FILE]``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks.harness import Row, print_rows

#: Modules of this folder with a ``rows()``; each runs in this process, one after another.
NAMES = ("startup", "parsing", "running", "hooks", "repl", "snapshots")


def main() -> int:
    """Run the chosen benchmarks and print their rows; exit 0 also when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark named {unknown[0]}: choose from {', '.join(NAMES)}")
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; "
        "medians, peers in the same run; garbage collection on unless a row says otherwise\n"
    )
    rows: list[Row] = []
    for name in options.names or NAMES:
        found: list[Row] = importlib.import_module(f"benchmarks.{name}").rows()
        print_rows(found)
        print()
        rows += found
    missed = [row for row in rows if row.met is False]
    print(f"{len(rows)} rows, {len(missed)} goals missed")
    if options.json:
        options.json.write_text(json.dumps([row.as_dict() for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
