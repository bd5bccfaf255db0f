"""Standing in under the reference's own name."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys

ORIGINAL = "dir_core"


def install() -> None:
    """Make `import dir_core` mean this package, for programs that keep their imports.

    RuntimeError where the original is installed, or was imported already.
    """
    here = __name__.rpartition(".")[0]
    known = sys.modules.get(ORIGINAL)
    if known is sys.modules[here]:
        return
    if known is not None or importlib.util.find_spec(ORIGINAL) is not None:
        raise RuntimeError(
            "dir_core itself is installed here; uninstall it, or import writkeeper.dir_core"
        )
    package = sys.modules[here]
    found = pkgutil.walk_packages(package.__path__, prefix=f"{here}.")
    names = [here, *(module.name for module in found)]
    modules = {ORIGINAL + name.removeprefix(here): importlib.import_module(name) for name in names}
    sys.modules.update(modules)
