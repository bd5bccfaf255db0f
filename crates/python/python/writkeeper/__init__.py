"""Writkeeper decides what AI agents may do.

Agents propose actions; a contract of a dozen lines judges each one; the verdict is exact, explained, and the same every
time. The kernel runs in this process, on a store that is one file.

>>> import writkeeper
>>> contract = '''
... agent: refund-bot
... actions:
...   refund:
...     once: "refund:{order}"
...     params: { order: text, amount: money EUR }
...     allow: amount <= 25
...     ask: amount <= 100
... approvers: [desk]
... '''
>>> keeper = writkeeper.open("memory:", contract=contract)
>>> guard = keeper.guard("refund-bot")
>>> @guard.tool
... def refund(order: str, amount: float) -> str:
...     return f"{amount} EUR for {order}"
>>> refund(order="A-1", amount=12.5)
'12.5 EUR for A-1'
>>> refund(order="A-2", amount=60)["writkeeper"]["status"]
'pending'
>>> _ = keeper.people({"desk": ["ann"]})
>>> question = keeper.questions()[0]
>>> _ = keeper.answer(question, "approve", by="ann", because="the parcel was late")
>>> refund(order="A-2", amount=60)
'60 EUR for A-2'
>>> keeper.close()
"""

from writkeeper._contracts import (
    ImportedContract,
    draft,
    explain,
    import_contract,
    verify,
)
from writkeeper._errors import (
    Closed,
    ContractInvalid,
    DidNotHappen,
    InDoubt,
    Invalid,
    NotFound,
    Refusal,
    Refused,
    Unavailable,
    WritkeeperError,
)
from writkeeper._flow import Flow
from writkeeper._guard import Guard, Permit
from writkeeper._keeper import Keeper, open
from writkeeper._native import __version__
from writkeeper._state import State
from writkeeper._types import (
    Attempt,
    Decision,
    Finding,
    Intent,
    Question,
    Snapshot,
    Tally,
)

__all__ = [
    "Attempt",
    "Closed",
    "ContractInvalid",
    "Decision",
    "DidNotHappen",
    "Finding",
    "Flow",
    "Guard",
    "ImportedContract",
    "InDoubt",
    "Intent",
    "Invalid",
    "Keeper",
    "NotFound",
    "Permit",
    "Question",
    "Refusal",
    "Refused",
    "Snapshot",
    "State",
    "Tally",
    "Unavailable",
    "WritkeeperError",
    "__version__",
    "draft",
    "explain",
    "import_contract",
    "open",
    "verify",
]
