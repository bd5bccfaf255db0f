"""Whether an agent's version lies in the range that a registry supports.

`1.x` and `1.*` are any 1.…; `1.2.x` and `~1.2` are 1.2 with any patch; `1.2` and `^1.2` are 1.2 and
later within 1; `>=1.2,<2` and `>=1.2 <2` are what they say; `1.x || 2.x` is either.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

Version = tuple[int, int, int]

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")
_COMPARED = re.compile(r"(>=|<=|==|!=|=|>|<)\s*(\d+(?:\.\d+){0,2})")
_COMPARISONS = re.compile(rf"{_COMPARED.pattern}(?:(?:\s*,\s*|\s+){_COMPARED.pattern})*")
_OPERATORS: dict[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
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
    if _COMPARISONS.fullmatch(wanted) is not None:
        return all(_holds(version, *found) for found in _COMPARED.findall(wanted))
    if wanted[:1] in ("^", "~"):
        return _is_close(version, wanted[0], _parse(wanted[1:]))
    if wanted.endswith((".x", ".*")):
        fixed = wanted[:-2].split(".")
        if not all(part.isdecimal() for part in fixed):
            return False
        return list(version[: len(fixed)]) == [int(part) for part in fixed]
    least = _parse(wanted)
    return least is not None and version[0] == least[0] and version[1] >= least[1]


def _is_close(version: Version, sign: str, least: Version | None) -> bool:
    """Not older than the least, and alike in what must not change: `~1.2` the minor, `^1.2` the first part above 0."""
    if least is None or version < least:
        return False
    first = next((at for at, part in enumerate(least) if part), len(least) - 1)
    alike = 2 if sign == "~" else first + 1
    return version[:alike] == least[:alike]


def _holds(version: Version, comparison: str, bound: str) -> bool:
    parts = [int(part) for part in bound.split(".")]
    major, minor, patch = (parts + [0, 0])[:3]
    return _OPERATORS[comparison](version, (major, minor, patch))
