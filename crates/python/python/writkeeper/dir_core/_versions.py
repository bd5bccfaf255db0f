"""Whether an agent's version lies in the range that a registry supports.

`1.x` is any 1.…; `1.2.x` is 1.2 with any patch; `1.2` is 1.2 and later within 1; `>=1.2,<2` is
what it says; `1.x || 2.x` is either.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

Version = tuple[int, int, int]

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")
_COMPARED = re.compile(r"(>=|<=|==|>|<)\s*(\d+(?:\.\d+){0,2})")
_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def is_supported(agent_version: object, supported: str) -> bool:
    """True if the text is a version and lies in the range."""
    version = _parse(agent_version) if isinstance(agent_version, str) else None
    if version is None:
        return False
    return any(_in_range(version, part.strip()) for part in supported.split("||"))


def _parse(text: str) -> Version | None:
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def _in_range(version: Version, wanted: str) -> bool:
    if wanted[:1] in ("<", ">", "="):
        return all(_holds(version, part.strip()) for part in wanted.split(","))
    if wanted.endswith(".x"):
        fixed = wanted.removesuffix(".x").split(".")
        if not all(part.isdecimal() for part in fixed):
            return False
        return list(version[: len(fixed)]) == [int(part) for part in fixed]
    least = _parse(wanted)
    return least is not None and version[0] == least[0] and version[1] >= least[1]


def _holds(version: Version, comparison: str) -> bool:
    found = _COMPARED.fullmatch(comparison)
    if found is None:
        return False
    parts = [int(part) for part in found[2].split(".")]
    major, minor, patch = (parts + [0, 0])[:3]
    return _OPERATORS[found[1]](version, (major, minor, patch))
