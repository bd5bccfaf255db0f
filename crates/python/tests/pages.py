"""Runs the Python blocks of a page of the guide, and compares what it shows beside a line with what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
SHOWN = re.compile(r"^(?P<code>\S.*?\S) {2,}# (?P<value>['\"{].*)$")
CALLS: list[dict[str, Any]] = [
    {"order": "A-1", "amount": 12.5},
    {"order": "A-2", "amount": 5000},
    {"order": "A-3", "amount": 60},
]
"""What the model of every page asks for, in its first run; in the second it asks for the last again."""


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (GUIDE / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def contract() -> str:
    """The contract of the quick start, which every page speaks of."""
    [found] = re.findall(r'contract = """(.*?)"""', blocks("python.md")[0], re.DOTALL)
    return str(found)


def check(code: str, shown: str, names: dict[str, Any]) -> None:
    value = eval(code, names)
    if not shown.startswith("{"):
        assert repr(value) == shown, f"{code} gives {value!r}"
        return
    words = re.findall(r"[\"']([^\"'…]+)[\"']", shown)
    assert words and all(word in str(value) for word in words), f"{code} gives {value!r}"


def run(page: str, folder: Path, **names: Any) -> dict[str, Any]:
    """Runs a page with these names given; the names there are afterwards."""
    (folder / "refunds.yaml").write_text(contract(), encoding="utf-8")
    names["__name__"] = "page"
    checked = 0
    for block in blocks(page):
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
    assert checked >= 4, "a page shows what comes out"
    names["keeper"].close()
    return names
