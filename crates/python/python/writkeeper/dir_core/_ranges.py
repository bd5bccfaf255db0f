"""A range that the kernel judges, whatever the numbers: it holds the numbers that a float can say, up to 28 digits.

What needs more is compared with each bound alone. A bound is taken for the nearest float inside of the range, a value for those
on both of its sides, which must both hold; then both are halved or doubled together until they are of a size that the kernel
holds. None of this changes which of two numbers is greater.
"""

from __future__ import annotations

import math
import sys
from decimal import Context, Decimal
from typing import Any

from ._judging import findings

# What the kernel holds: so many digits before the point, and so many behind it.
_DIGITS = 28
# Beside a number between a half and one this is as good as anything nearer to zero.
_TINY = 1e-9
# Wide enough for everything that is computed here from floats.
_WIDE = Context(prec=2_000, Emax=10_000, Emin=-10_000)
# Powers of ten beyond those of every float.
_SIZE = 400


def judged(value: Any, low: Decimal | None, high: Decimal | None, *, once: bool = False) -> tuple[str, ...]:
    """What the kernel finds against a value between two bounds, either of which may be absent.

    ``once`` is for bounds that are made for this one value.
    """
    exact = exactly(value)
    if exact is None or all(_fits(number) for number in (exact, low, high) if number is not None):
        limit = {"id": "range", "type": "range", "min": low, "max": high}
        return findings(limit, value if exact is None else exact, once=once)
    found = () if low is None else _compared(exact, low, is_least=True)
    if not found and high is not None:
        found = _compared(exact, high, is_least=False)
    if not found and high is not None and low is None and high >= 0:
        # An upper bound alone means an amount, as in the kernel.
        found = _compared(exact, Decimal(0), is_least=True)
    return found


def around(middle: Decimal, percent: Decimal) -> tuple[Decimal, Decimal]:
    """The numbers that lie so many percent below and above another."""
    margin = _WIDE.divide(_WIDE.multiply(abs(middle), percent), Decimal(100))
    return _WIDE.subtract(middle, margin), _WIDE.add(middle, margin)


def bound(number: float | None) -> Decimal | None:
    """A bound as it is written; infinity bounds nothing."""
    return None if number is None or not math.isfinite(number) else Decimal(repr(float(number)))


def exactly(value: Any) -> Decimal | None:
    """A number as it is written; nothing for what is no finite number of a size that floats have."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() and abs(number.adjusted()) < _SIZE else None


def _compared(value: Decimal, limit: Decimal, *, is_least: bool) -> tuple[str, ...]:
    if value == limit:
        return ()
    inward = _neighbours(limit)[1 if is_least else 0]
    for near in _neighbours(value):
        shift = max(math.frexp(near)[1], math.frexp(inward)[1])
        moved, end = (_of_a_size(math.ldexp(number, -shift)) for number in (near, inward))
        # The other end of the range is out of the way.
        ends = {"min": end, "max": 2} if is_least else {"min": -2, "max": end}
        found = findings({"id": "range", "type": "range", **ends}, moved, once=True)
        if found:
            return found
    return ()


def _neighbours(number: Decimal) -> tuple[float, float]:
    """The floats next to a number on both sides; the same twice for one that a float can say."""
    most = sys.float_info.max
    near = min(max(float(number), -most), most)
    written = Decimal(repr(near))
    if written < number:
        return near, min(math.nextafter(near, math.inf), most)
    return near if written == number else max(math.nextafter(near, -math.inf), -most), near


def _of_a_size(number: float) -> float:
    return number if not number or abs(number) >= _TINY else math.copysign(_TINY, number)


def _fits(number: Decimal) -> bool:
    _sign, digits, exponent = number.normalize(_WIDE).as_tuple()
    is_held = isinstance(exponent, int) and len(digits) + exponent <= _DIGITS and -exponent <= _DIGITS
    return is_held and Decimal(repr(float(number))) == number
