"""Rules of a contract, judged by the kernel.

Each rule is imported as a contract of its own with one param, which the kernel judges without a store. What the kernel finds
is said in the reference's codes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from .. import _json, _native
from .._errors import WritkeeperError

# Compiled rules that are kept; a contract has a handful of them.
_RULES_MAX = 4096

_AGENT, _KIND, _PARAM, _STATE = "rules", "judge", "value", "live"

# What a rule that cannot be imported finds: it lets nothing through.
UNREADABLE = ("CONTRACT_INVALID",)


def findings(rule: Mapping[str, Any], value: Any, live: Any = None) -> tuple[str, ...]:
    """What the kernel finds against a value under one rule; nothing where it passes. None is a missing value."""
    params = {} if value is None else {_PARAM: value}
    state = {} if live is None else {_STATE: live}
    try:
        judge = _judge(_json.encode({"invariants": [{**rule, "field": f"params.{_PARAM}"}]}))
        line = _json.encode({"agent": _AGENT, "action": _KIND, "params": params})
        return _objections(judge.judge(line, _json.encode({"state": state})))
    except (TypeError, ValueError):
        # What is no JSON is no value of a param: NaN, infinity, an object of the program's.
        return ("PARAM_INVALID",)
    except WritkeeperError:
        return UNREADABLE


def reaches(confidence: float, threshold: Any) -> bool:
    """True if a confidence is not below the threshold of a contract."""
    try:
        block = {"responsibility": {"escalate_on_uncertainty": float(threshold)}}
        line = {"agent": _AGENT, "action": _KIND, "params": {}, "confidence": confidence}
        return not _objections(_judge(_json.encode(block)).judge(_json.encode(line)))
    except (TypeError, ValueError, WritkeeperError):
        return False


def bound(number: float | None) -> float | None:
    """A bound as the importer reads it: infinity bounds nothing."""
    return None if number is not None and math.isinf(number) else number


@lru_cache(maxsize=_RULES_MAX)
def _judge(block: str) -> _native.Rehearsal:
    given: dict[str, Any] = _json.decode(block)
    authority = {"allowed_policy_types": [_KIND], "invariants": given.pop("invariants", [])}
    contract = {"subject": {"agent_id": _AGENT}, "authority": authority, **given}
    return _native.Rehearsal(_native.import_dir(_json.encode(contract))[0])


def _objections(answer: str) -> tuple[str, ...]:
    told = _json.decode(answer)
    return () if told["verdict"] == "ACCEPT" else tuple(told["reasons"])
