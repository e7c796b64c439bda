"""A second upper bound, for symmetric channels with many outputs: fix P(a), and the dual separates by output.

Where each row is κ + τ·[y = y_k], P(a, y) = κ P(a) + τ u_ay depends on one variable for each value and output. With
P = P(a = 1) in an interval, multipliers ν_0, ν_1 for Σ_y u_ay = P(a) and λ for the entropy, and
-p_y h(θ_y) ≤ c_j0 p_0y + c_j1 p_1y on cell j of a grid of posteriors,

    I ≤ max_P [ H(P) + ν·P + Σ_y max_j (κ c_j·P + λ Σ_a exp(log m_ay - 1 + (τ c_ja - ν_a)/λ)) ] - λ b.

The sum is convex in P: on an interval its chord bounds it. Three multipliers, whatever the number of outputs; branch
on P.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.records.bounds.closed_form import inverse_binary_entropy
from leakwise.records.queries.problem import EPS, Problem
from leakwise.types import Floats

__all__ = ["Separable", "separable_bound", "separable_of"]

_CELLS = 320
_MOST_INTERVALS = 200
_NARROW = 6e-3
_FAR = 1e6


@dataclass(frozen=True, eq=False)
class Separable:
    """A problem whose rows are κ + τ·[y = y_k]; ``sizes`` is log m_ay, 2×M, -inf where there is no class."""

    kappa: float
    tau: float
    sizes: Floats


def separable_of(problem: Problem) -> Separable | None:
    """Recognise the structure; None where it is not there."""
    rows = problem.rows
    if problem.letters != 2 or rows.shape[1] < 3:
        return None
    kappa = float(np.median(rows[0]))
    peak = rows.argmax(axis=1)
    tau = float(rows[0].max()) - kappa
    expected = np.full_like(rows, kappa)
    expected[np.arange(len(rows)), peak] += tau
    if kappa <= 0 or tau <= 0 or np.abs(expected - rows).max() > 8 * EPS:
        return None
    sizes = np.full((2, rows.shape[1]), -np.inf)
    sizes[problem.letter, peak] = problem.log_sizes
    if np.isfinite(sizes).sum() != len(rows):
        return None
    return Separable(kappa, tau, sizes)


def _cells(s: Separable, low: float, high: float) -> Floats:
    """c_j0 and c_j1 (2×J) on a grid of all posteriors that P in [low, high] allows.

    The grid is even in arcsin √θ, which makes the error of the chords even.
    """
    top = s.kappa + s.tau
    first = s.kappa * low / (s.kappa * low + top * (1 - low)) * (1 - 1e-12)
    last = min(1.0, top * high / (top * high + s.kappa * (1 - high)) * (1 + 1e-12))
    theta = np.sin(np.linspace(math.asin(math.sqrt(first)), math.asin(math.sqrt(last)), _CELLS + 1)) ** 2
    theta[0], theta[-1] = min(theta[0], first), max(theta[-1], last)
    with np.errstate(divide="ignore", invalid="ignore"):
        negative_h = np.where(theta > 0, theta * np.log(theta), 0.0) + np.where(
            theta < 1, (1 - theta) * np.log1p(-theta), 0.0
        )
    slope = np.diff(negative_h) / np.diff(theta)
    start = negative_h[:-1] - slope * theta[:-1]
    return np.stack([start, start + slope])


def _evaluate(x: Floats, s: Separable, cells: Floats, low: float, high: float, b: float) -> tuple[float, Floats]:
    """The bound for ν = x[:2], λ = e^{x[2]}, and a subgradient in x."""
    if not (-18 < x[2] < 18 and np.abs(x[:2]).max() < _FAR):
        return _FAR, np.zeros(3)
    nu, lam = x[:2], math.exp(float(x[2]))
    push = (s.tau * cells - nu[:, None]) / lam  # 2×J
    if push.max() > 600:
        return _FAR, np.zeros(3)
    u = np.exp(s.sizes[:, :, None] - 1 + push[:, None, :])  # 2×M×J
    base = lam * u.sum(axis=0)
    ends, chosen = [], []
    for p in (low, high):
        value = base + s.kappa * (cells[0] * (1 - p) + cells[1] * p)
        j = value.argmax(axis=1)
        chosen.append(j)
        ends.append(float(value[np.arange(len(j)), j].sum()))
    slope = (ends[1] - ends[0]) / (high - low)
    tilt = float(nu[1] - nu[0]) + slope
    p = min(max(1 / (1 + math.exp(-tilt)) if tilt > -700 else 0.0, low), high)
    entropy = -(p * math.log(p) if p > 0 else 0.0) - ((1 - p) * math.log1p(-p) if p < 1 else 0.0)
    bound = entropy + float(nu[0]) * (1 - p) + float(nu[1]) * p + ends[0] + slope * (p - low) - lam * b
    share = (p - low) / (high - low)
    gradient = np.array([1 - p, p, -b * lam])
    outputs = np.arange(s.sizes.shape[1])
    for weight, j in zip((1 - share, share), chosen, strict=True):
        used = u[:, outputs, j]
        gradient[:2] -= weight * used.sum(axis=1)
        gradient[2] += weight * lam * float((used * (1 - push[:, j])).sum())
    return bound, gradient


def _minimise(x: Floats, arguments: tuple[Any, ...]) -> tuple[float, Floats]:
    from scipy.optimize import minimize

    smooth = minimize(_evaluate, x, args=arguments, jac=True, method="L-BFGS-B", options={"maxiter": 60})
    # Kinks stop a quasi-Newton method; three variables are few enough to finish without gradients.
    rough = minimize(
        lambda v: _evaluate(v, *arguments)[0],
        smooth.x,
        method="Nelder-Mead",
        options={"maxfev": 220, "xatol": 1e-7, "fatol": 1e-9},
    )
    best = rough if rough.fun <= smooth.fun else smooth
    value, _ = _evaluate(best.x, *arguments)
    return value, best.x


def separable_bound(s: Separable, b: float, value: float, tolerance: float, deadline: float) -> float:
    """Return an upper bound on max I, by branching on P(a = 1); ``value`` is known to be reached."""
    # I ≤ H(a), so that P outside [edge, 1 - edge] cannot beat the value.
    edge = max(inverse_binary_entropy(value) * (1 - 1e-9), 1e-9)
    slack = 1e-12 * (1 + abs(b))
    done = value
    starts = [np.array([-0.02, -0.02, -3.5]), np.array([0.4, 0.4, -0.7])]
    heap: list[tuple[float, int, float, float, Floats]] = []
    count = 0

    def push(low: float, high: float, guesses: list[Floats]) -> None:
        nonlocal count
        cells = _cells(s, low, high)
        found, x = min((_minimise(g, (s, cells, low, high, b)) for g in guesses), key=lambda pair: pair[0])
        count += 1
        heapq.heappush(heap, (-found - slack, count, low, high, x))

    push(edge, 0.5, starts)
    push(0.5, 1 - edge, starts)
    while heap and count < _MOST_INTERVALS and time.monotonic() < deadline:
        bound, _, low, high, x = heap[0]
        if -bound <= value + tolerance:
            break
        heapq.heappop(heap)
        if high - low < _NARROW:
            done = max(done, -bound)  # what is left is the duality gap, which splitting does not close
            if heap and -heap[0][0] <= done:
                break
            continue
        middle = 0.5 * (low + high)
        push(low, middle, [x])
        push(middle, high, [x])
    return max([done] + [-entry[0] for entry in heap[:1]])
