"""The error for an effect of which nobody knows whether it happened."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Base = Exception
else:
    try:
        _Base = importlib.import_module("writkeeper").InDoubt
    except (ImportError, AttributeError):
        _Base = Exception


class InDoubt(_Base):
    """A step was started and its outcome is not known, so it is not started again.

    Look at the world, then tell the guard with `IdempotencyGuard.settle`.
    """

    def __init__(self, dfid: str, step_id: str, key: str) -> None:
        Exception.__init__(
            self,
            f"step {step_id} of flow {dfid} was started and its outcome is not known; "
            "find out whether it happened, then call settle",
        )
        self.dfid = dfid
        self.step_id = step_id
        self.key = key
        self.intent: Any = key

    def __str__(self) -> str:
        return str(self.args[0])
