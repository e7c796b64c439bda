"""Yes-or-no questions about an answer (a bit, a part, a threshold), and those that tell inputs apart best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.blackbox.parts import Parts
from leakwise.types import Bools, Floats

__all__ = ["Features"]

SHAPE = 1_000  # answers to each input that say what parts there are
MOST_FEATURES = 160
FEW_VALUES, THRESHOLDS, OFTEN = 12, 15, 0.02


class Features:
    """Questions learned from the answers to each input; :meth:`ask` puts them to any others."""

    def __init__(self, answers: Sequence[Sequence[Any]]) -> None:
        self.parts = Parts([answer for own in answers for answer in own[:SHAPE]])
        rows = [self.parts.read(own) for own in answers]
        column, value, kind = self._questions(np.concatenate(rows))
        shares = np.stack([_asked(one, column, value, kind).mean(axis=0) for one in rows])
        spread = shares.max(axis=0) - shares.min(axis=0)
        least = min(len(one) for one in rows)
        told = spread / np.sqrt(shares.mean(axis=0) * (1 - shares.mean(axis=0)) + 1 / least)
        best = np.sort(np.argsort(-told, kind="stable")[:MOST_FEATURES])
        self._column, self._value, self._kind = column[best], value[best], kind[best]

    def __len__(self) -> int:
        return len(self._column)

    @property
    def names(self) -> list[str]:
        """The questions in words."""
        found = []
        for column, value, kind in zip(self._column, self._value, self._kind, strict=True):
            said = {"=": "is", "+": "is at least", "-": "is below", "?": "is missing"}[str(kind)]
            found.append(f"{self.parts.names[column]} {said} {self.parts.value(value) if kind != '?' else ''}".strip())
        return found

    def ask(self, answers: Sequence[Any]) -> Bools:
        """Return one row for each answer, one column for each question."""
        return _asked(self.parts.read(answers), self._column, self._value, self._kind)

    def _questions(self, rows: Floats) -> tuple[Any, Floats, Any]:
        found: list[tuple[int, float, str]] = []
        for place, column in enumerate(rows.T):
            there = column[~np.isnan(column)]
            if 0 < len(there) < len(column):
                found.append((place, 0.0, "?"))
            values, counts = np.unique(there, return_counts=True)
            if len(values) <= FEW_VALUES:
                found += [(place, float(value), "=") for value in values] if len(values) > 1 else []
                continue
            often = values[counts > OFTEN * len(column)]
            found += [(place, float(value), "=") for value in often[:FEW_VALUES]]
            at = np.linspace(0, 1, THRESHOLDS + 2)[1:-1]
            edges = np.unique(np.quantile(there, [0.002, 0.01, *at, 0.99, 0.998], method="nearest"))
            found += [(place, float(edge), side) for edge in edges for side in "+-"]
        column, value, kind = zip(*found, strict=True) if found else ((), (), ())
        return np.array(column, dtype=np.intp), np.array(value, dtype=np.float64), np.array(kind, dtype="<U1")


def _asked(rows: Floats, column: Any, value: Floats, kind: Any) -> Bools:
    found = np.zeros((len(rows), len(column)), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        for name, test in (("=", np.equal), ("+", np.greater_equal), ("-", np.less)):
            these = np.flatnonzero(kind == name)
            found[:, these] = test(rows[:, column[these]], value[these])
    missing = np.flatnonzero(kind == "?")
    found[:, missing] = np.isnan(rows[:, column[missing]])
    return found
