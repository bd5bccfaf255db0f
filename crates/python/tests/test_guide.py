"""The guide's blocks run, and give what the comments beside them say."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

GUIDE = Path(__file__).parents[3] / "docs/guide/python.md"
SHOWN = re.compile(r"^(?P<code>\S.*?\S) {2,}# (?P<value>['{].*)$")


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def check(code: str, said: str, names: dict[str, Any]) -> None:
    value = eval(code, names)
    if said.startswith("'"):
        assert repr(value) == said.split(",")[0], code
    for word in re.findall(r"'[^'…]+'", said) if said.startswith("{") else []:
        assert word in repr(value), f"{code}: {word} is not in {value!r}"


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bank = SimpleNamespace(pay=lambda order, idempotency_key: order)
    names: dict[str, Any] = {"Decimal": Decimal, "bank": bank}
    checked = 0
    for block in blocks():
        pending: list[str] = []
        for line in block.splitlines():
            found = SHOWN.match(line)
            if found is None:
                pending.append(line)
                continue
            exec("\n".join(pending), names)
            pending = []
            check(found["code"], found["value"], names)
            checked += 1
        exec("\n".join(pending), names)
    assert checked >= 6
    names["keeper"].close()
