"""Errors of configuring and choosing a model."""

from __future__ import annotations

from kedi.errors import KediError, KediModelError


class ConfigurationError(KediError, ValueError):
    """A configuration value, name or combination that cannot be used; the message says what can."""


class DirectoryError(ConfigurationError, NotADirectoryError):
    """A path that is to be a directory and is none."""


class NoModelSelected(KediModelError):
    """A model is needed and none was chosen; the message says what to set or install."""


class ModelInstallError(KediError):
    """The local model could not be installed; nothing half-done is left behind."""


__all__ = ["ConfigurationError", "DirectoryError", "ModelInstallError", "NoModelSelected"]
