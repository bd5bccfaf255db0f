"""Mappings that are given out and cannot be changed; JSON, pickle and copies take them as the dictionaries that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn


class Frozen(dict[str, Any]):
    """A dictionary that is read only.

    >>> Frozen(order="A-1")["order"]
    'A-1'
    >>> Frozen(order="A-1").update(order="A-2")
    Traceback (most recent call last):
        ...
    TypeError: this mapping is read-only; change a copy of it: dict(…)
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)

    if not TYPE_CHECKING:

        def _refuse(self, *_: object, **__: object) -> NoReturn:
            raise TypeError("this mapping is read-only; change a copy of it: dict(…)")

        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse
