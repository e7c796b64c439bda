"""Extreme columns as functions of the limit t = e^ε.

An extreme column has entries 0, t, and at most one in between, (1 - t Σ_{i at t} π_i) / π_f, so that it is linear in t
for as long as that entry stays in between, and the weights of a basis B(t), B(t)⁻¹1, are rational functions of t.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact import Linear
from leakwise.exact.proven_mixture import Column

__all__ = ["columns_in_lift"]


def columns_in_lift(p: Sequence[Fraction], columns: Sequence[Column], t: Fraction) -> list[list[Linear]]:
    """Return the columns as linear functions of t, each entry a + b t."""
    zero, one = Fraction(0), Fraction(1)
    found = []
    for column in columns:
        free = [i for i, entry in enumerate(column) if entry not in (0, t)]
        if not free:
            raise InvalidInput(
                f"At a lift of {t} an outcome has no entry between 0 and the lift: it is where two regions of the "
                "prior meet, and the weights are other functions of the lift on either side. Design for a lift a "
                "little smaller or larger (prior.regions() lists where regions meet)."
            )
        top = [i for i, entry in enumerate(column) if entry == t]
        entries = [(zero, one) if i in top else (zero, zero) for i in range(len(column))]
        entries[free[0]] = (1 / p[free[0]], -sum((p[i] for i in top), zero) / p[free[0]])
        found.append(entries)
    return found
