"""Configuration from a YAML file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def load_yaml_config(path: str | Path) -> dict[str, Any]:
    """The mapping in the file; {} for an empty file."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as missing:
        raise ImportError("load_yaml_config needs PyYAML: pip install PyYAML") from missing
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"configuration file {file} not found")
    loaded: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ValueError(f"{file} must hold a mapping, not a {type(loaded).__name__}")
    return dict(loaded)
