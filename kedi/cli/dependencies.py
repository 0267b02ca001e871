"""Which Python requirements of a package are not met in this environment.

Names, versions and the common markers are looked at with the standard library
alone. What cannot be judged here (a URL, an unusual marker, an arbitrary
equality) is left to pip: such a requirement counts as met when a distribution of
its name is installed, as unmet otherwise.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*")
_CONDITION = re.compile(r"(~=|==|!=|<=|>=|<|>)\s*([^\s,;)]+)")
_RELEASE = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_d>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?(?:\+.*)?",
    re.IGNORECASE | re.ASCII,
)
_PYTHON_MARKER = re.compile(r"python_version\s*(==|!=|<=|>=|<|>)\s*[\"']([0-9.]+)[\"']", re.ASCII)
_PLATFORM_MARKER = re.compile(r"sys_platform\s*(==|!=)\s*[\"'](\w+)[\"']", re.ASCII)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}

Version = tuple[int, tuple[int, ...], tuple[int, int], tuple[int, int], tuple[int, int]]


def unmet(requirements: Iterable[str]) -> list[str]:
    """Those of some valid PEP 508 requirements that the running environment does not meet."""
    return [item for item in requirements if not _is_met(item)]


def _is_met(requirement: str) -> bool:
    text, _, marker = requirement.partition(";")
    if marker and not _applies(marker.strip()):
        return True
    match = _NAME.match(text)
    if match is None:
        return False
    try:
        installed = version(match.group(1))
    except (PackageNotFoundError, ValueError):
        return False
    rest = text[match.end() :]
    if rest.startswith("@"):
        return True
    return all(_holds(installed, operator, wanted) for operator, wanted in _CONDITION.findall(rest))


def _applies(marker: str) -> bool:
    """Whether a marker lets its requirement apply here; an unusual one does."""
    python = _PYTHON_MARKER.fullmatch(marker)
    if python is not None:
        running = ".".join(map(str, sys.version_info[:2]))
        return _holds(running, python.group(1), python.group(2))
    platform = _PLATFORM_MARKER.fullmatch(marker)
    if platform is not None:
        return (sys.platform == platform.group(2)) == (platform.group(1) == "==")
    return not re.search(r"\bextra\s*==", marker)


def _holds(installed: str, operator: str, wanted: str) -> bool:
    here = parse_version(installed)
    if wanted.endswith(".*"):
        prefix = _release(wanted[:-2])
        if here is None or not prefix:
            return True
        same = _has_prefix(here, prefix)
        return same if operator == "==" else not same
    there = parse_version(wanted)
    if here is None or there is None:
        return True
    match operator:
        case "==":
            return here == there
        case "!=":
            return here != there
        case "<=":
            return here <= there
        case ">=":
            return here >= there
        case "<":
            return here < there
        case ">":
            return here > there
        case _:  # ~=
            return here >= there and _has_prefix(here, _release(wanted)[:-1])


def _has_prefix(here: Version, prefix: list[int]) -> bool:
    padded = [*here[1], *([0] * len(prefix))]
    return padded[: len(prefix)] == prefix


def _release(text: str) -> list[int]:
    match = _RELEASE.fullmatch(text.strip())
    return [int(part) for part in match["release"].split(".")] if match else []


def parse_version(text: str) -> Version | None:
    """A PEP 440 version as something that compares like it, local part left out.

    ``None`` for a text that is no such version.
    """
    match = _RELEASE.fullmatch(text.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match["release"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    dev = (0, int(match["dev_n"] or 0)) if match["dev"] else (1, 0)
    post = (1, int(match["post_d"] or match["post_n"] or 0)) if match["post"] else (0, 0)
    if match["pre"]:
        pre = (_STAGES[match["pre"].lower()], int(match["pre_n"] or 0))
    elif match["dev"] and not match["post"]:
        pre = (-1, 0)
    else:
        pre = (3, 0)
    return int(match["epoch"] or 0), tuple(numbers), pre, post, dev
