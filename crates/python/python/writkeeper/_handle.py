"""A handle on a store."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Self

from writkeeper import _native
from writkeeper._awaiting import to_thread
from writkeeper._errors import Closed
from writkeeper._shared import SharedStore, release


class Handle:
    """A store that is open, until it is closed."""

    def __init__(self, shared: SharedStore) -> None:
        self._shared: SharedStore | None = shared
        # Also where nobody closes it: when it is let go of, and when the interpreter ends.
        self._finalizer = weakref.finalize(self, release, shared)

    @property
    def _native(self) -> _native.Store:
        shared = self._shared
        if shared is None:
            raise Closed()
        return shared.store

    @property
    def location(self) -> str:
        """Where the store lies."""
        return self._native.location

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should hear about the store."""
        return tuple(self._native.notices())

    def close(self) -> None:
        """Lets go of the store. The last handle of this process serves what waits and closes it."""
        self._shared = None
        self._finalizer()

    async def close_async(self) -> None:
        """The same, awaited."""
        await to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await to_thread(self.close)
