"""An adversary that outlives a change of the mechanism: its belief over (value of the record, state of the others)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.records.queries.problem import Problem
from leakwise.records.queries.spaces import Space, View, reduce
from leakwise.types import Floats

__all__ = ["Belief", "Reduction", "log_ratios", "reductions"]


def log_ratios(joint: Floats, own: Floats) -> Floats:
    """Return log P(a, y) / (P(a) P(y)) of joint laws …×A×M with ``own`` P(a), …×A; 0 where nothing is seen."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.log(joint / own[..., None] / joint.sum(axis=-2, keepdims=True))
    return np.asarray(np.where(joint > 1e-290, ratio, 0.0))


@dataclass(frozen=True, eq=False)
class Belief:
    """P(X_i = a, others in state t) for the records of one view of a space."""

    view: int
    weights: Floats  # A×T

    def state_weights(self, space: Space) -> Floats:
        """Return P(X_i = a, state s), A×S."""
        successor = space.views[self.view].successor
        result = np.zeros((len(successor), len(space)))
        for a, states in enumerate(successor):
            np.add.at(result[a], states, self.weights[a])
        return result

    def information(self, space: Space, q: Floats) -> float:
        """Return I(X_i; Y) under the mechanism q."""
        return float((self.gradient(space, q) * q).sum())

    def gradient(self, space: Space, q: Floats) -> Floats:
        """Return ∂I/∂q(y|s) = Σ_a P(a, s) log(P(a,y) / (P(a) P(y))) ([PR] (35), summed over the datasets of a state).

        I is convex and homogeneous in q, so that this G at any q' gives I(q) ≥ G·q for all q, with equality at q'.
        """
        w = self.state_weights(space)
        return np.asarray(w.T @ log_ratios(w @ q, w.sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Reduction:
    """One view under one mechanism: the reduced problem and its classes."""

    index: int
    view: View
    problem: Problem
    members: list[tuple[int, tuple[int, ...]]]

    def spread(self, u: Floats) -> Belief:
        """Return a belief over classes, uniform within each."""
        weights = np.zeros(self.view.successor.shape)
        for k, (a, inside) in enumerate(self.members):
            size = self.problem.multiplicities[k]
            for t in inside:
                weights[a, t] = u[k] * float(Fraction(self.view.others[t], size))
        return Belief(self.index, weights)

    def gather(self, belief: Belief) -> Floats:
        """Return the same belief summed over the classes of this mechanism."""
        return np.array([belief.weights[a, list(inside)].sum() for a, inside in self.members])


def reductions(space: Space, q: Floats) -> list[Reduction]:
    """Return the reduced problem of every view."""
    found = []
    for index, view in enumerate(space.views):
        problem, members = reduce(view, q)
        found.append(Reduction(index, view, problem, members))
    return found
