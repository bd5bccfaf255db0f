"""What needs no store: contracts, reasons, and exports to verify."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from writkeeper import _json, _native
from writkeeper._draft import schemas_of
from writkeeper._errors import Invalid
from writkeeper._shapes import ReasonShape


def contract_text(contract: str | os.PathLike[str]) -> str:
    """The text of a contract: text that holds a line or a brace is the contract, anything else names its file."""
    text = os.fspath(contract)
    if isinstance(contract, str) and ("\n" in text or "{" in text):
        return text
    try:
        with open(text, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read the contract `{text}`: {error}", fix="name a file, or pass the text") from None


def explain(code: str) -> ReasonShape:
    """What a reason means and what to do about it."""
    told: ReasonShape = _json.decode(_native.explain(code))
    return told


def draft(tools: Iterable[object], *, agent: str = "agent") -> str:
    """A closed contract from the schemas of tools; amounts get a limit of 0 until someone writes a number.

    >>> print(draft([{"name": "pay", "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}}}]))
    ... # doctest: +ELLIPSIS
    # yaml-language-server: ...
    """
    return _native.draft(_json.encode(schemas_of(tools)), agent)


class ImportedContract(NamedTuple):
    """A contract that was written for something else, as text of ours."""

    text: str
    notes: list[str]
    """What it adds, leaves out or takes as given."""


def import_contract(contract: Mapping[str, Any] | str, *, source: Literal["dir"] = "dir") -> ImportedContract:
    """A contract of the Decision Intelligence Runtime as a contract here; what cannot be carried over is refused.

    >>> made = import_contract({"agent_id": "bot", "allowed_policy_types": ["HOLD"], "max_drawdown_limit": 0.05})
    >>> made.notes
    ["`max_drawdown_limit` is a limit of the agent's whole conduct: it is a note and no rule on each proposal"]
    >>> import writkeeper
    >>> _ = writkeeper.open("memory:", contract=made.text)
    """
    if source != "dir":
        raise ValueError(f"contracts are imported from 'dir', not from {source!r}")
    text = contract if isinstance(contract, str) else _json.encode(dict(contract))
    return ImportedContract(*_native.import_dir(text))


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Verifies an export without its store: ``whole``, how many records were ``replayed``, and what is the ``damage``."""
    told: dict[str, Any] = _json.decode(_native.verify(os.fspath(path)))
    return told
