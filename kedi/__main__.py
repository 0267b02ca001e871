"""``python -m kedi``: the same as the ``kedi`` command."""

from kedi.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
