r"""A bound without boxes, for adversaries who know little: the tangent of the information at one belief.

With P, P' for the beliefs u, u',

.. math:: I(u) - I(u') - ∇I(u')·(u - u') = \sum_a P(a)\,D(P_{Y|a} ‖ P'_{Y|a}) - D(P_Y ‖ P'_Y) ≤ η\,D(u ‖ u')

where η is how much of a divergence between beliefs about the others survives the noise, for one value of the record:
at most the largest total variation between two rows (Dobrushin), and at most 1 - min (Σ_y √(r_ky r_k'y))². (For a
function f of the class, E Var(f|Y) = ½ Σ u_k u_k' (f_k - f_k')² Σ_y r_ky r_k'y / P(y), and the last sum is at least the
square by Cauchy and Schwarz; divergences follow from their second derivatives.) So I + λ(H(u) + u·log m) lies below its
tangent at every u' for λ ≥ η, and since both are homogeneous,

.. math:: I ≤ \max_k\Bigl[\sum_y r_{ky} \log\frac{P'(a_k, y)}{P'(a_k) P'(y)} + λ \log\frac{m_k}{u'_k}\Bigr] - λ b.

Where a nat of entropy is worth at least η, near the largest one, the best u' is the worst adversary and the bound is
the leakage itself; elsewhere it rises above it with slope η.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.proof import TangentProof
from leakwise.records.adversaries.local import tilted
from leakwise.records.queries.problem import EPS, Problem, information, joint_law
from leakwise.types import Floats, Indices

__all__ = ["contraction", "near_uniform", "tangent_bound", "told", "worth_of"]

_ROUNDS = 400
_LEAST, _MOST = 1e-290, 1e6


def contraction(problem: Problem, group: Indices | None = None) -> float:
    """Return η, rounded up; for a group of outcomes that of the rows given that the outcome is one of them."""
    apart, alike = 0.0, 1.0
    for block in problem.blocks:
        rows = problem.rows[block]
        if group is not None:
            rows = rows[:, group]
            total = rows.sum(axis=1, keepdims=True)
            rows = rows[total[:, 0] > 0] / total[total[:, 0] > 0]
        for row in rows:
            apart = max(apart, float(0.5 * np.abs(rows - row).sum(axis=1).max()))
            alike = min(alike, float(np.sqrt(rows * row).sum(axis=1).min()))
    return min(1.0, max(0.0, min(apart, 1 - alike**2)) * (1 + 1e-12) + 1e-14)


def told(problem: Problem, u: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of the information at beliefs (B×K), and the largest number (B) that they were made of."""
    joint = joint_law(problem, u)
    law = np.log(np.maximum(joint.sum(axis=1, keepdims=True), _LEAST))
    own, joint = np.log(joint.sum(axis=2, keepdims=True)), np.log(np.maximum(joint, _LEAST))
    logs = joint - own - law
    each = np.concatenate([logs[:, a] @ problem.rows[k].T for a, k in enumerate(problem.blocks)], axis=1)
    return each, -joint.min(axis=(1, 2))


def near_uniform(problem: Problem, b: float) -> tuple[float, float]:
    """Return what the uniform belief is told, and a bound for b near the largest entropy.

    A belief with D(u ‖ uniform) ≤ δ is at most √(δ/2) away in total variation, and the information rises by that times
    the spread of the slopes, and δ.
    """
    value = float(information(problem, problem.uniform[None])[0])
    apart = math.nextafter(problem.room - b, math.inf) if b < problem.room else 0.0
    each, large = told(problem, np.maximum(problem.uniform, _LEAST)[None])
    spread = float(each.max() - each.min() + 64 * EPS * large[0])
    return value, value + 1e-14 + (spread + 1e-14) * math.sqrt(0.5 * apart) + apart


def worth_of(problem: Problem, belief: Floats) -> float:
    """Return what a nat of entropy is worth at the worst belief, where the slopes of both are proportional."""
    u = np.maximum(belief, _LEAST)
    each, _ = told(problem, u[None])
    rare = problem.log_sizes - np.log(u)
    rare = rare - u @ rare
    return max(0.0, -float(u @ (each[0] * rare)) / max(float(u @ rare**2), _LEAST))


def _value(problem: Problem, u: Floats, scale: float, b: float) -> float:
    """The bound that a belief and a multiplier give."""
    slopes, large = told(problem, u[None])
    each = slopes[0]
    rest = scale * (problem.log_sizes - np.log(u))
    size = float(np.abs(each).max() + np.abs(rest).max()) + scale * abs(b) + float(large[0])
    slack = EPS * (8 * problem.rows.shape[1] + problem.rows.shape[0] + 16) * size
    return float((each + rest).max()) - scale * b + float(slack)


def tangent_bound(problem: Problem, b: float, belief: Floats) -> tuple[float, TangentProof]:
    """Return the best bound found from a belief on, and its proof; λ is what the entropy is worth, or η."""
    least = contraction(problem) * (1 + 1e-14)  # η is 1 at most, but the checker's ball may reach beyond
    u = np.maximum(belief, _LEAST)
    best, at, worth = math.inf, u, least
    scale = least
    for step in range(_ROUNDS):
        joint = joint_law(problem, u[None])
        posterior = np.log(np.maximum(joint, _LEAST) / np.maximum(joint.sum(axis=1, keepdims=True), _LEAST))
        slope = np.concatenate([posterior[:, a] @ problem.rows[k].T for a, k in enumerate(problem.blocks)], axis=1)
        moved, entropy, growth = tilted(problem, slope, np.array([scale]))
        u = np.maximum(moved[0], _LEAST)
        found = _value(problem, u, scale, b)
        if found < best - 1e-15:
            best, at, worth = found, u, scale
        elif step > 30 and found < best + 1e-13:
            break
        # Newton on log λ for the entropy asked for; less than η proves nothing.
        miss = float(entropy[0]) - b
        scale = min(max(scale * math.exp(max(-1.0, min(1.0, -miss / max(float(growth[0]), 1e-12)))), least), _MOST)
    return best, TangentProof(tuple(at.tolist()), worth)
