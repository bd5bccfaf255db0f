"""Every example in the docstrings runs."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "",
    "._json",
    "._errors",
    "._types",
    "._contracts",
    "._state",
    "._flow",
    "._people",
    "._effects",
    "._keeper",
    "._guard",
    "._draft",
    "._functions",
    "._provenance",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"writkeeper{name}"))
    assert failed == 0


def test_there_are_examples() -> None:
    tried = [doctest.testmod(importlib.import_module(f"writkeeper{name}")).attempted for name in MODULES]
    assert sum(tried) >= 25, tried
