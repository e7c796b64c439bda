"""Names of outcomes by the letters they raise: a sub-convex utility does not care, but a reader does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from leakwise.alphabet import Label
from leakwise.types import Bools, Floats

__all__ = ["outcome_names"]

_SHOWN = 4


def outcome_names(lifts: Floats, labels: Sequence[Label]) -> list[str]:
    """Return ``{a,c}`` for an outcome that makes a and c more likely, ``not b`` for one that makes all but b so.

    >>> import numpy as np
    >>> outcome_names(np.array([[1.5, 1.2], [0.5, 1.2], [0.5, 0.6]]), ["a", "b", "c"])
    ['{a}', 'not c']
    """
    names = [_name(lifts[:, outcome] > 1 + 1e-9, labels) for outcome in range(lifts.shape[1])]
    seen: Counter[str] = Counter()
    repeated = {name for name, count in Counter(names).items() if count > 1}
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} #{seen[name]}" if name in repeated else name)
    return unique


def _name(raised: Bools, labels: Sequence[Label]) -> str:
    up = [str(label) for label, here in zip(labels, raised, strict=True) if here]
    down = [str(label) for label, here in zip(labels, raised, strict=True) if not here]
    if not up or not down:
        return "any"
    if len(up) <= len(down):
        return "{" + _joined(up) + "}"
    return f"not {down[0]}" if len(down) == 1 else "not {" + _joined(down) + "}"


def _joined(labels: list[str]) -> str:
    if len(labels) <= _SHOWN:
        return ",".join(labels)
    return ",".join(labels[: _SHOWN - 1]) + f",+{len(labels) - _SHOWN + 1}"
