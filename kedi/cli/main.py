"""Entry point of the ``kedi`` command.

This module imports nothing but ``sys``: ``kedi --version`` has to start like a
bare Python. Everything else is loaded once it is known what is asked for.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (default: the process's) and give its exit status.

    0 is success, 1 a program, suite or package that failed, 2 a command line that
    cannot be used, 130 an interrupt, 141 a reader of the output that went away. A
    ``SystemExit`` of embedded Python decides the status itself.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from kedi._version import __version__

        try:
            print(f"kedi {__version__}", flush=True)
        except OSError:
            pass  # said properly below
        else:
            return 0
    from kedi.cli.guard import guarded

    return guarded(arguments)
