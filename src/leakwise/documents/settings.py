"""A file of settings for a command, as TOML: its options under the names that are typed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["settings_text"]

# A number that is read as the text it was; -0 would lose its sign.
_NUMBER = re.compile(r"(?!-0\Z)-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def settings_text(command: str, name: str, settings: Mapping[str, Any]) -> str:
    """Return the text of a file called ``name`` that ``leakwise COMMAND --config`` reads.

    >>> print(settings_text("release", "ill.toml", {"column": ["ill"], "lift": "1.50", "missing": True}), end="")
    # Settings for: leakwise release TABLE --config ill.toml
    column = ["ill"]
    lift = 1.50
    missing = true
    """
    lines = [f"# Settings for: leakwise {command} TABLE --config {name}\n"]
    return "".join([*lines, *(f"{key} = {_toml(value)}\n" for key, value in settings.items())])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable) and not isinstance(value, str | Path):
        return f"[{', '.join(map(_toml, value))}]"
    text = str(value)
    return text if _NUMBER.fullmatch(text) else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
