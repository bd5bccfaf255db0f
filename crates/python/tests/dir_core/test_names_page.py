"""The page of names holds every name, and every name in it is one."""

import re
from pathlib import Path

import writkeeper
import writkeeper.dir_core as dc
import writkeeper.dir_core.storage as storage

PAGE = (Path(__file__).parents[4] / "docs" / "guide" / "python" / "dir-names.md").read_text(encoding="utf-8")
CODE = set(re.findall(r"`([A-Za-z_][\w.]*)", PAGE))
OTHERS = {"once", "ask", "reserves", "retries", "writkeeper", "CLOSED", "ABORTED", "INTERFACE", "STATE_DRIFT", "dir_core.storage"}


def test_every_name_is_on_it() -> None:
    assert [name for name in dc.__all__ if name not in CODE] == []


def test_every_name_on_it_exists() -> None:
    def exists(name: str) -> bool:
        head, *rest = name.removeprefix("writkeeper.").split(".")
        found = next((getattr(one, head) for one in (dc, storage, writkeeper) if hasattr(one, head)), None)
        return found is not None and all(hasattr(found, part) or part == "state" for part in rest)

    assert sorted(name for name in CODE - OTHERS if not exists(name)) == []
