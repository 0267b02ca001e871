"""The ``kedi`` command."""
