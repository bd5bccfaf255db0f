"""Rules of a contract, judged by the kernel.

Each rule is imported as a contract of its own with one param, which the kernel judges without a store. What the kernel finds
is said in the reference's codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from .. import _json, _native
from .._errors import WritkeeperError

# Compiled rules that are kept; a contract has a handful of them.
_RULES_MAX = 4096

_AGENT, _KIND, _PARAM, _STATE = "rules", "judge", "value", "live"

# What a rule that cannot be imported finds: it lets nothing through.
UNREADABLE = ("CONTRACT_INVALID",)


def findings(rule: Mapping[str, Any], value: Any, live: Any = None, *, once: bool = False) -> tuple[str, ...]:
    """What the kernel finds against a value under one rule; nothing where it passes. None is a missing value.

    ``once`` is for rules that are made for this one value: they are not kept.
    """
    try:
        invariant = _written({**rule, "field": f"params.{_PARAM}"})
        judge = (_judge.__wrapped__ if once else _judge)(invariant, "{}")
        params = {} if value is None else {_PARAM: value}
        state = {} if live is None else {_STATE: live}
        line = f'{{"agent":"{_AGENT}","action":"{_KIND}","params":{_written(params)}}}'
        return _objections(judge.judge(line, f'{{"state":{_written(state)}}}'))
    except (TypeError, ValueError):
        # What is no JSON is no value of a param: NaN, infinity, an object of the program's.
        return ("PARAM_INVALID",)
    except WritkeeperError:
        return UNREADABLE


def _written(members: Mapping[str, Any]) -> str:
    """JSON text in which a decimal number is a number, however many digits it has."""
    return "{" + ",".join(f"{_json.encode(name)}:{_value(value)}" for name, value in members.items()) + "}"


def _value(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) and value.is_finite() else _json.encode(value)


def reaches(confidence: float, threshold: Any) -> bool:
    """True if a confidence is not below the threshold of a contract."""
    try:
        responsibility = _json.encode({"escalate_on_uncertainty": float(threshold)})
        line = {"agent": _AGENT, "action": _KIND, "params": {}, "confidence": confidence}
        return not _objections(_judge("", responsibility).judge(_json.encode(line)))
    except (TypeError, ValueError, WritkeeperError):
        return False


@lru_cache(maxsize=_RULES_MAX)
def _judge(invariant: str, responsibility: str) -> _native.Rehearsal:
    authority = f'{{"allowed_policy_types":["{_KIND}"],"invariants":[{invariant}]}}'
    members = {"subject": f'{{"agent_id":"{_AGENT}"}}', "authority": authority, "responsibility": responsibility}
    contract = ",".join(f'"{name}":{text}' for name, text in members.items())
    return _native.Rehearsal(_native.import_dir(f"{{{contract}}}")[0])


def _objections(answer: str) -> tuple[str, ...]:
    told = _json.decode(answer)
    return () if told["verdict"] == "ACCEPT" else tuple(told["reasons"])
