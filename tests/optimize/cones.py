"""Cones by name, priors with ties, and the linear program that each constraint defines."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.leakage.measures.divergences import DIVERGENCES
from leakwise.optimize.problem.cones import Intersection, LDPCone, LiftBox, pml_cone
from leakwise.optimize.problem.utilities import FInformation

__all__ = [
    "CONES",
    "FUNCTIONS",
    "cone_of",
    "lifts_asked",
    "linear_program",
    "names",
    "priors",
    "seeds",
]

FUNCTIONS = {name: FInformation(f, name).f for name, f in DIVERGENCES.items()}
names = st.sampled_from(sorted(FUNCTIONS))
lifts_asked = st.fractions(Fraction(101, 100), 6, max_denominator=100)
seeds = st.integers(0, 10**6)


def priors(most=8, largest=6):
    """Small whole weights: ties are common."""
    return st.lists(st.integers(1, largest), min_size=2, max_size=most).map(lw.Prior)


def cone_of(kind, prior, lift):
    if kind == "pml":
        return pml_cone(prior, lift)
    if kind == "lip":
        return LiftBox(prior, 1 / lift, lift)
    if kind == "ldp":
        return LDPCone(prior, lift)
    return Intersection([pml_cone(prior, lift), LDPCone(prior, lift**2)])


CONES = ["pml", "lip", "ldp", "both"]


def linear_program(cone, objective):
    """max c·λ over the lift vectors, from the definition of each constraint, by SciPy."""
    p = cone.prior.probabilities
    size = len(p)
    eye = np.eye(size)
    rows = []
    for part in cone.cones if isinstance(cone, Intersection) else (cone,):
        if isinstance(part, LiftBox):
            rows += [row - float(part.high) * p for row in eye] + [float(part.low) * p - row for row in eye]
        else:
            rows += [eye[i] - float(part.ratio) * eye[k] for i, k in itertools.permutations(range(size), 2)]
    answer = linprog(-objective, np.array(rows), np.zeros(len(rows)), p[None, :], [1.0], method="highs")
    assert answer.status == 0
    return -answer.fun
