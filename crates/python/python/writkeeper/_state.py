"""State: facts that decisions are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from writkeeper import _json
from writkeeper._awaiting import to_thread

if TYPE_CHECKING:
    from writkeeper._keeper import Keeper


class State:
    """Facts that agents see and that decisions are compared with, each with a version.

    >>> import writkeeper
    >>> keeper = writkeeper.open("memory:")
    >>> keeper.state.merge({"accounts/7/balance": 100})
    {'accounts/7/balance': 1}
    >>> keeper.state.get("accounts/7/balance")
    100
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def merge(self, values: Mapping[str, object], *, expect: Mapping[str, int] | None = None) -> dict[str, int]:
        """Writes all values or none; ``expect`` demands versions (0: not there yet). The versions they have now."""
        wanted = expect or {}
        writes: list[dict[str, object]] = []
        for key, value in values.items():
            write: dict[str, object] = {"key": key, "value": value}
            if key in wanted:
                write["expect"] = wanted[key]
            writes.append(write)
        told = _json.decode(self._keeper._native.merge(_json.encode(writes)))
        versions: dict[str, int] = told["versions"]
        return versions

    async def merge_async(
        self, values: Mapping[str, object], *, expect: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """The same, awaited."""
        return await to_thread(self.merge, values, expect=expect)

    def get(self, key: str, default: object = None) -> Any:
        """The value of a key."""
        found = self._keeper._native.state(key)
        return default if found is None else _json.decode(found)["value"]

    async def get_async(self, key: str, default: object = None) -> Any:
        """The same, awaited."""
        return await to_thread(self.get, key, default)

    def version(self, key: str) -> int:
        """The version of a key; 0 where it is not there."""
        found = self._keeper._native.state(key)
        return 0 if found is None else int(_json.decode(found)["version"])
