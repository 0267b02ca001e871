"""The working directory, also after somebody has deleted it."""

from __future__ import annotations

import os
from pathlib import Path


def working_directory() -> Path:
    """The absolute working directory; when it is gone, a path where nothing can be."""
    try:
        return Path.cwd()
    except OSError:
        pass  # deleted under the process
    try:
        # Linux says where it was and that it was deleted. Not ``PWD``: a process that has
        # changed its directory has an old one, which may still hold files.
        return Path(os.readlink("/proc/self/cwd"))  # noqa: PTH115 - nothing is there to resolve
    except OSError:
        return Path(os.devnull, "deleted working directory")


def absolute(path: str | os.PathLike[str]) -> Path:
    """``Path(path).absolute()``, also where the working directory is gone."""
    return working_directory() / path
