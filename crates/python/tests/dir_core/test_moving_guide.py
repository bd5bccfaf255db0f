"""The Python blocks of the guide run as they stand."""

import re
from pathlib import Path

import pytest
from test_names import run

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "from-dir.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(number: int) -> None:
    done = run(BLOCKS[number])
    assert done.returncode == 0, done.stderr


def test_the_guide_shows_doubt() -> None:
    shown = "".join(run(block).stdout for block in BLOCKS)
    assert "step pay of flow flow-1 was started and its outcome is not known" in shown


def test_every_documented_name_exists() -> None:
    import writkeeper.dir_core as dc

    named = set(re.findall(r"`([A-Z][A-Za-z]+|[a-z_]+)(?:\.[a-z_]+)?(?:\(.*?\))?`", GUIDE.read_text()))
    table = {name for name in named if name[0].isupper() and not name.isupper()}
    assert table - {"ValueError", "NotImplementedError", "None", "True"} <= set(dir(dc))
