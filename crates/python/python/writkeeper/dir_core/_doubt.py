"""The error for an effect of which nobody knows whether it happened."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_FIX = "find out whether it happened, then call settle"

if TYPE_CHECKING:

    class _Doubt(Exception):
        def __init__(self, intent: str, message: str = "", fix: str = "") -> None: ...

else:
    try:
        _Doubt = importlib.import_module("writkeeper").InDoubt
    except (ImportError, AttributeError):

        class _Doubt(Exception):
            """Stands in where the native half of the package is not built."""

            def __init__(self, intent: str, message: str = "", fix: str = "") -> None:
                super().__init__(f"{message}; {fix}")
                self.intent = intent


class InDoubt(_Doubt):
    """A step was started and its outcome is not known, so it is not started again.

    Look at the world, then tell the guard with `IdempotencyGuard.settle`. It is a
    `writkeeper.InDoubt`, with the key of the effect as its intent.
    """

    def __init__(self, dfid: str, step_id: str, key: str) -> None:
        text = f"step {step_id} of flow {dfid} was started and its outcome is not known"
        super().__init__(key, text, _FIX)
        self.dfid = dfid
        self.step_id = step_id
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return InDoubt, (self.dfid, self.step_id, self.key)
