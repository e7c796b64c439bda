"""The most likely mixture of known laws, with a certified gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leakwise.types import Floats

__all__ = ["Mixture", "likelihood_gap", "mixture_proportions", "room"]


_STEPS = 100
_ENOUGH = 1e-14  # far below what is promised: an error d in the gap is an error √d in the proportions


class Mixture(NamedTuple):
    """Proportions on the simplex and how far their log-likelihood per row can be from the largest."""

    proportions: Floats
    gap: float
    iterations: int


def likelihood_gap(laws: Floats, weights: Floats, proportions: Floats) -> float:
    r"""Return an upper bound on how much log-likelihood per row a better mixture could gain.

    The log-likelihood :math:`L(p) = \sum_j w_j \log (pP)_j` is concave with gradient
    :math:`g_i = \sum_j w_j P_{ij} / (pP)_j` and :math:`p \cdot g = 1`, so
    :math:`L^* - L(p) \le \max_i g_i - 1` (the condition of Kiefer and Wolfowitz).
    """
    q = proportions @ laws
    if not (q > 0).all():
        return float("inf")
    return max(float((laws @ (weights / q)).max() - 1.0), 0.0)


def mixture_proportions(laws: Floats, weights: Floats) -> Mixture:
    r"""Maximise :math:`\sum_j w_j \log (pP)_j` over the simplex.

    With :math:`\sum w = 1` the constraint :math:`\sum p = 1` may be traded for the term
    :math:`-\sum_i p_i` in the objective, since the optimum of the homogeneous problem lies on the
    simplex by itself. What is left, with only p ≥ 0, goes to a primal-dual interior point method (quadratic at the end,
    where EM is linear or worse); a Newton iteration on the letters it keeps then makes the zeros exact. Where several p
    are equally likely the answer is near the analytic centre of them all. Always ends; the gap says how well.

    Parameters
    ----------
    laws
        P, one law per row, each column with a positive entry.
    weights
        w > 0, the observed law of the outcomes, sum 1.
    """
    count = laws.shape[0]
    p = np.full(count, 1.0 / count)
    for _ in range(20):  # EM: far from the optimum nothing is cheaper
        p *= laws @ (weights / (p @ laws))
    p = 0.9 * p + 0.1 / count
    s = np.maximum(_slack(laws, weights, p), 0.1)
    best, best_gap = p / p.sum(), likelihood_gap(laws, weights, p / p.sum())
    step, taken = 0.0, 0
    while taken < _STEPS:
        taken += 1
        shrink = 0.01 if step > 0.9 else 0.2
        moved = _interior_step(laws, weights, p, s, target=shrink * float(p @ s) / count)
        if moved is None:
            break
        p, s, step = moved
        gap = likelihood_gap(laws, weights, p / p.sum())
        if gap < best_gap:
            best, best_gap = p / p.sum(), gap
        if best_gap <= _ENOUGH or float(p @ s) <= _ENOUGH:
            break
    polished = _on_support(laws, weights, np.where(p > s, p, 0.0))
    if polished is not None and likelihood_gap(laws, weights, polished) <= max(best_gap, _ENOUGH):
        best, best_gap = polished, likelihood_gap(laws, weights, polished)
    return Mixture(best, best_gap, taken)


def _slack(laws: Floats, weights: Floats, p: Floats) -> Floats:
    """The gradient of Σ p - Σ w log(pP), which at the optimum is the slack of p ≥ 0."""
    return np.asarray(1.0 - laws @ (weights / (p @ laws)))


def _interior_step(
    laws: Floats, weights: Floats, p: Floats, s: Floats, target: float
) -> tuple[Floats, Floats, float] | None:
    """One damped Newton step towards slack(p) = s, p·s = target; None when no progress is left in floats."""
    slack = _slack(laws, weights, p)
    # Scaled by √p on both sides the system stays well conditioned as letters leave.
    root = np.sqrt(p)
    half = laws * (np.sqrt(weights) / (p @ laws)) * root[:, None]
    system = half @ half.T
    system[np.diag_indices_from(system)] += s
    try:
        dp = root * np.linalg.solve(system, root * (target / p - slack))
    except np.linalg.LinAlgError:
        return None
    ds = (target - s * dp) / p - s
    length = min(1.0, 0.99 * room(p, dp), 0.99 * room(s, ds))
    if not (np.isfinite(dp).all() and np.isfinite(ds).all()):
        return None
    size = np.hypot(np.linalg.norm(slack - s), np.linalg.norm(p * s - target))
    while length > 1e-10:
        p_new, s_new = p + length * dp, s + length * ds
        missing = np.hypot(np.linalg.norm(_slack(laws, weights, p_new) - s_new), np.linalg.norm(p_new * s_new - target))
        if missing <= (1 - 0.01 * length) * size + 1e-15:
            return p_new, s_new, length
        length /= 2
    return None


def room(value: Floats, change: Floats) -> float:
    """Return how far one may go before an entry becomes zero."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf))


def _on_support(laws: Floats, weights: Floats, p: Floats) -> Floats | None:
    """Newton on the positive letters alone, without those that it takes to zero."""
    out = np.zeros_like(p)
    keep = np.flatnonzero(p)
    x, size = p[keep], np.inf
    for _ in range(20):
        part = laws[keep]
        if not keep.size or not (part.max(axis=0) > 0).all():
            return None
        root = np.sqrt(x)
        half = part * (np.sqrt(weights) / (x @ part)) * root[:, None]
        system = half @ half.T
        # Where the proportions are not unique the system is singular; the ridge keeps the change small.
        system[np.diag_indices_from(system)] += 1e-13 * system.diagonal().max()
        change = -root * np.linalg.solve(system, root * _slack(part, weights, x))
        stay = x + change > 0
        x, keep = (x + change)[stay], keep[stay]
        size, last = float(np.abs(change).max()), size
        if stay.all() and (size <= 1e-15 or size > 0.5 * last):
            break
    if not keep.size:
        return None
    out[keep] = x / x.sum()
    return out
