"""Whether one contract allows something that another does not.

A handshake is the agent's own act, so it must not widen what the agent may do. A contract is no
wider than another if each rule of the other has a rule in it that is at least as narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._numbers import finite_number
from .amendments import effective_invariants
from .contract_projection import confidence_threshold, project_contract
from .models import InvariantSpec, RuntimeContractProjection


def widens(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """True if the contract `after` may allow something that `before` refuses."""
    if not before or before == after or not after:
        return False
    try:
        old, new = project_contract(before), project_contract(after)
    except ValueError:
        # Whichever of the two cannot be read refuses every proposal; only leaving it widens.
        return not _is_readable(before) and _is_readable(after)
    if not has_rules(before, old):
        return has_rules(after, new)
    if not has_rules(after, new):
        return False
    if _threshold(after, new) < _threshold(before, old):
        return True
    if _is_wider(new.invariants, old.invariants):
        return True
    # Amendments are for people to make: those that an agent brings along must not widen either.
    brought = [one for one in new.parameter_amendments if one not in old.parameter_amendments]
    return bool(brought) and _is_wider(effective_invariants(new), old.invariants)


def _is_wider(new: list[InvariantSpec], old: list[InvariantSpec]) -> bool:
    return not all(any(_at_least_as_narrow(one, rule) for one in new) for rule in old)


def has_rules(contract: Mapping[str, Any], projection: RuntimeContractProjection) -> bool:
    """True if anything in the contract can refuse a proposal."""
    return bool(projection.invariants) or _threshold(contract, projection) > 0


def _is_readable(contract: Mapping[str, Any]) -> bool:
    try:
        project_contract(contract)
    except ValueError:
        return False
    return True


def _threshold(contract: Mapping[str, Any], projection: RuntimeContractProjection) -> float:
    wanted = confidence_threshold(contract)
    if wanted is None:
        wanted = projection.escalation_policy.get("confidence_below")
    number = finite_number(wanted)
    return 0.0 if number is None else number


def _at_least_as_narrow(new: InvariantSpec, old: InvariantSpec) -> bool:
    same_place = (new.type, new.field, new.match, new.snapshot_path) == (
        old.type,
        old.field,
        old.match,
        old.snapshot_path,
    )
    covers_kinds = not new.applies_to_policy_kinds or (
        bool(old.applies_to_policy_kinds)
        and set(old.applies_to_policy_kinds) <= set(new.applies_to_policy_kinds)
    )
    if not same_place or not covers_kinds or (old.required and not new.required):
        return False
    if new.type == "range":
        return _range_narrower(new, old)
    if new.type == "set":
        return _set_narrower(new, old)
    return new.expected == old.expected and (new.drift_envelope_pct or 0.0) <= (
        old.drift_envelope_pct or 0.0
    )


def _range_narrower(new: InvariantSpec, old: InvariantSpec) -> bool:
    if old.max is not None and (new.max is None or new.max > old.max):
        return False
    if old.min is not None and (new.min is None or new.min < old.min):
        return False
    if not new.runtime_amendable:
        return True
    # What an amendment can reach counts as reached.
    highest = old.max_ceiling if old.runtime_amendable else old.max
    lowest = old.min_floor if old.runtime_amendable else old.min
    if highest is not None and (new.max_ceiling is None or new.max_ceiling > highest):
        return False
    return lowest is None or (new.min_floor is not None and new.min_floor >= lowest)


def _set_narrower(new: InvariantSpec, old: InvariantSpec) -> bool:
    if any(value not in new.denied for value in old.denied):
        return False
    if not old.allowed:
        return True
    return bool(new.allowed) and all(value in old.allowed for value in new.allowed)
