"""The session core: what every front end is a client of."""

from __future__ import annotations

from kedi.session.session import Fragment, InteractiveSession

__all__ = ["Fragment", "InteractiveSession"]
