"""The truth by enumeration: every dataset, every outcome, in fractions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any


def noise(ratio: Fraction, z: int) -> Fraction:
    """P(Z = z) of two-sided geometric noise."""
    return (1 - ratio) / (1 + ratio) * ratio ** abs(z) if ratio else Fraction(int(z == 0))


def joint(prior: dict[Any, Fraction], answers: dict[Any, tuple[int, ...]], m: int) -> Any:
    """P(true answer | value of the first record), over all datasets of m records."""
    found: Any = {x: defaultdict(Fraction) for x in prior}
    for data in itertools.product(prior, repeat=m):
        chance = Fraction(1)
        for x in data[1:]:
            chance *= prior[x]
        found[data[0]][tuple(map(sum, zip(*(answers[x] for x in data), strict=True)))] += chance
    return found


def released(prior: Any, answers: Any, m: int, ratio: Fraction, reach: int) -> Any:
    """P(outcome | value) for every outcome within reach of the true answers; the tails beyond are left out."""
    truth = joint(prior, answers, m)
    cells = len(next(iter(answers.values())))
    top = m * max(max(a) for a in answers.values())
    outcomes = itertools.product(range(-reach, top + reach + 1), repeat=cells)
    rows: Any = {x: {} for x in prior}
    for y in outcomes:
        for x in prior:
            total = Fraction(0)
            for s, chance in truth[x].items():
                part = chance
                for a, b in zip(y, s, strict=True):
                    part *= noise(ratio, a - b)
                total += part
            rows[x][y] = total
    return rows


def lifts(prior: Any, rows: Any) -> dict[Any, Fraction]:
    """The largest lift of each outcome that can happen."""
    found = {}
    for y in next(iter(rows.values())):
        law = sum(prior[x] * rows[x][y] for x in prior)
        if law:
            found[y] = max(rows[x][y] for x in prior if prior[x]) / law
    return found
