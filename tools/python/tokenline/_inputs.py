"""Inputs as a path or as YAML text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Mapping, Union

Source = Union[str, "os.PathLike[str]"]


def read(source: Source) -> tuple[str, bytes]:
    """The absolute name of an input and its bytes. A ``str`` with a line break is YAML text, whose
    relative paths are those of the working directory."""
    if isinstance(source, str) and "\n" in source:
        return os.path.join(os.getcwd(), "<text>"), source.encode()
    path = os.path.abspath(source)
    return path, Path(path).read_bytes()


def assignments(changes: Mapping[str, Any]) -> tuple[str, ...]:
    """``key=value`` for each, as ``--set`` of the command line takes it."""
    return tuple(_assignment(key, value) for key, value in changes.items())


def _assignment(key: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{key}={value}"
    if value is None or not isinstance(value, (bool, int, float, list, tuple, dict)):
        raise TypeError(f"{key}: a {type(value).__name__} is no value of a scenario")
    return f"{key}={json.dumps(value)}"
