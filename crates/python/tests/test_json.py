"""Numbers go in and out exactly, and what JSON cannot hold is refused before anything is asked."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any

import pytest

from writkeeper import _json


class Colour(enum.Enum):
    RED = "red"


UUID = uuid.UUID("01890000-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.5, "12.5"),
        (0.1, "0.1"),
        (1e22, "1e+22"),
        (7, "7"),
        (2**70, str(2**70)),
        (True, "true"),
        (None, "null"),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+2"), "1E+2"),
        (Decimal("0.10000000000000000001"), '"0.10000000000000000001"'),
        (Decimal(2**60), f'"{2**60}"'),
        ("ä\n", '"ä\\n"'),
        (Colour.RED, '"red"'),
        (UUID, f'"{UUID}"'),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), '"2026-01-01T00:00:00+00:00"'),
        ({"a": [1, (2, 3)], "b": {}}, '{"a":[1,[2,3]],"b":{}}'),
    ],
)
def test_what_json_holds(value: object, text: str) -> None:
    assert _json.encode(value) == text


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (float("nan"), ValueError),
        (float("inf"), ValueError),
        (Decimal("NaN"), ValueError),
        (b"bytes", TypeError),
        ({1, 2}, TypeError),
        ({1: 2}, TypeError),
        (object(), TypeError),
        (datetime.datetime(2026, 1, 1), ValueError),
        ("\ud800", ValueError),
        (nested(40), ValueError),
    ],
)
def test_what_json_cannot_hold(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        _json.encode({"it": value})


@pytest.mark.parametrize(
    ("given", "decided", "expected"),
    [
        (12.5, Decimal("12.5"), 12.5),
        (Decimal("12.50"), Decimal("12.5"), Decimal("12.50")),
        (60.0, 50, 50),
        (60.5, Decimal("50.5"), 50.5),
        ("60.5", "60.5", "60.5"),
        ([1.5, 2], [Decimal("1.5"), 3], [1.5, 3]),
        ({"a": 1.5}, {"a": Decimal("1.5"), "b": Decimal("2.5")}, {"a": 1.5, "b": 2.5}),
    ],
)
def test_a_tool_gets_the_types_it_was_called_with(given: object, decided: object, expected: object) -> None:
    got = _json.as_given(given, decided)
    assert got == expected and type(got) is type(expected)


@dataclasses.dataclass
class Line:
    order: str
    amount: float


def test_a_dataclass_is_its_fields_and_is_made_again() -> None:
    assert _json.encode({"line": Line("A-1", 5.0)}) == '{"line":{"order":"A-1","amount":5.0}}'
    given = {"line": Line("A-1", 5.0)}
    assert _json.as_given(given, {"line": {"order": "A-1", "amount": 5}})["line"] is given["line"]
    assert _json.as_given(given, {"line": {"order": "A-1", "amount": Decimal("2.5")}})["line"] == Line("A-1", 2.5)


def test_a_model_is_its_fields_and_is_made_again() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Line", order=(str, ...), lines=(list[int], []), at=(datetime.date, ...))
    line = model(order="A-1", at=datetime.date(2026, 1, 2))
    assert _json.encode(line) == '{"order":"A-1","lines":[],"at":"2026-01-02"}'
    again = _json.as_given(line, {"order": "A-2", "lines": [1], "at": "2026-01-03"})
    assert again == model(order="A-2", lines=[1], at=datetime.date(2026, 1, 3))
    with pytest.raises(TypeError):
        _json.encode(model)
