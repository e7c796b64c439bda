"""Mechanisms whose outcomes are the values and come as often: whether one is, and what bounds them all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["frequencies_kept", "kept_bound"]


def frequencies_kept(within: Fraction, mechanism: Mechanism, prior: Prior) -> bool:
    """Return whether each outcome is a value and as likely as it, up to ``within``: exact, on the integers."""
    law = dict(zip(mechanism.outputs, mechanism.kernel.output_law(prior.weights), strict=True))
    weights = dict(zip(prior.labels, prior.weights.tolist(), strict=True))
    if not law.keys() <= weights.keys():
        return False
    unit = mechanism.denominator
    most = within * prior.denominator * unit
    return all(abs(int(law.get(label, 0)) - int(weight) * unit) <= most for label, weight in weights.items())


def kept_bound(start: float, largest: Sequence[float], p: Floats, within: float) -> float:
    """Σ y + Σ_j q_j L_j at its largest over all q within a distance of π: L_j bounds the reduced cost of column j."""
    if not all(map(math.isfinite, largest)):
        return math.inf
    terms = [mass * most for mass, most in zip(p.tolist(), largest, strict=True)]
    size = math.fsum(map(abs, largest))
    error = (abs(start) + size) * (len(terms) + 16) * 2.0**-52
    return start + math.fsum(terms) + within * size * (1 + 2.0**-50) + error
