r"""A bound on how well frequencies can be recovered under LDP, by what is known for uniform priors on some letters.

For a mechanism P the trace of J⁻¹ is the least Σ_i Σ_j q_j W_ij² of all W with W Pᵀ = I (Gauss and Markov): linear in
q = πP, so that the least is concave in π. Under LDP the mechanisms do not depend on the prior, and the least of all of
them is concave, too: a prior π_1 ≥ … ≥ π_N is the mixture of the uniform priors U_k on the first k letters with shares
k (π_k - π_{k+1}), and

.. math:: F(\pi) \ge \sum_k k\,(\pi_k - \pi_{k+1})\, F(U_k), \qquad F(U_k) \ge F(U_i) \text{ for } i \le k.

At U_k letters within are alike, and so are the n = N - k others. Averaged over their orders J has four eigenspaces, and

.. math:: F(U_k) = \frac1k + \frac{k-1}{E\,\alpha} + \frac{n-1}{E\,\beta} + \frac{1/k + 1/n}{E\,(b-1)^2},

where b is the mean lift of the others, E b = 1, and α and β are the variances of the lifts on both sides (with k-1 and
n-1 below). All are convex in a column, and extreme ones have the lifts m and am: r of the k raised, and a share σ of
the others. As c/x ≥ 2√(cd) - dx, four numbers prove a bound: a d for each of the three, and the dual of E b = 1.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.exact import float_above
from leakwise.optimize.problem.cones import Cone
from leakwise.types import Floats

__all__ = ["mixture_bound", "ratio_of"]

_SIZES = 24  # of k, about, spread evenly over their logarithm
_EACH = 24  # numbers of raised letters on each side, of columns from which the multipliers are found
_STEPS = 14
_FINEST = 1e-5  # relative, to which it is solved
_CUTS = 60
_GOLDEN = 0.6180339887498949


def ratio_of(cone: Cone) -> float | None:
    """Return the ratio of LDP where it is all that a cone asks for."""
    where = cone.lift_range()
    if where is None or len(where.pieces) != 1 or where.pieces[0][0]:
        return None
    return float_above(where.pieces[0][1])


def mixture_bound(p: Floats, ratio: float) -> tuple[float, Floats]:
    """Return a number below trace J⁻¹ of every mechanism with rows within the ratio, and four multipliers for each k.

    They are zeros for those k whose bound is that of a smaller one.
    """
    size = len(p)
    ordered = np.append(np.sort(p)[::-1], 0.0)
    shares = np.arange(1, size + 1) * (ordered[:-1] - ordered[1:])
    chosen = np.arange(1, size + 1)
    if size > _SIZES:
        chosen = np.unique(np.rint(np.geomspace(1, size, _SIZES)).astype(int))
    multipliers, least = np.zeros((size, 4)), np.zeros(size)
    for k in chosen.tolist():
        if shares[k - 1 :].sum() > 0:
            multipliers[k - 1] = _multipliers(k, size - k, ratio)
            least[k - 1] = _least(k, size - k, ratio, multipliers[k - 1])
    least = np.maximum.accumulate(least)
    value = math.fsum(shares * least) - float(least.max()) * ((8 * size + 64) * 2.0**-50 + 2.0**-38)
    return value, multipliers.ravel()


def _counts(k: int, n: int) -> Floats:
    """What the three moments divide."""
    return np.array([k - 1.0, max(n - 1.0, 0.0), 1 / k + 1 / n if n else 0.0])


def _moments(k: int, n: int, ratio: float, rho: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """α, β and (b - 1)² of columns that raise the shares ρ and σ, and b - 1."""
    low = 1 / (1 + (ratio - 1) * rho)
    spread = (low * (ratio - 1)) ** 2
    within = spread * rho * (1 - rho) * (k / (k - 1) if k > 1 else 0.0)
    others = spread * sigma * (1 - sigma) * (n / (n - 1) if n > 1 else 0.0)
    beyond = low * (ratio - 1) * (sigma - rho) if n else np.zeros(len(rho))
    return np.stack([within, others, beyond**2]), beyond


def _least(k: int, n: int, ratio: float, multipliers: Floats) -> float:
    """The number below F(U_k) that the multipliers prove."""
    d, y = multipliers[:3], float(multipliers[3])
    return 1 / k + 2 * float(np.sqrt(_counts(k, n) * d).sum()) - _largest(k, n, ratio, d, y)


def _largest(k: int, n: int, ratio: float, d: Floats, y: float) -> float:
    """The largest of what the multipliers weigh, over all columns."""
    rho = np.arange(k + 1) / k
    low = 1 / (1 + (ratio - 1) * rho)
    # At each ρ it is a parabola in σ: the ends, or the numbers of letters on both sides of its top.
    spread = (low * (ratio - 1)) ** 2
    own = d[1] * (n / (n - 1) if n > 1 else 0.0)
    bend = (d[2] - own) * spread
    slope = (own - 2 * d[2] * rho) * spread - y * low * (ratio - 1)
    top = np.divide(-slope, 2 * bend, out=np.zeros(k + 1), where=bend < 0)
    number = np.clip(top, 0.0, 1.0) * n
    values = []
    for raised in (np.zeros(k + 1), np.full(k + 1, n), np.floor(number), np.ceil(number)):
        moments, beyond = _moments(k, n, ratio, rho, raised / max(n, 1))
        values.append(float((d @ moments - y * beyond).max()))
    return max(values)


def _multipliers(k: int, n: int, ratio: float) -> Floats:
    """Multipliers from a barrier method over some columns; the dual of E b = 1 by cuts in the golden ratio."""
    counts = _counts(k, n)
    best = round(k / (1 + ratio))  # where nothing else is raised
    inside = np.unique([*_spread(k), *(min(max(one, 1), k) for one in (best, best + 1))]) / k
    outside = _spread(n) / max(n, 1)
    raised, others = (part.ravel() for part in np.meshgrid(inside, outside))
    moments, beyond = _moments(k, n, ratio, raised, others)
    d = _slopes(counts, moments, beyond)
    if not n:
        return np.append(d, 0.0)
    reach = 4 * float((d * np.abs(moments).max(axis=1)).sum()) + 1.0
    first, last = -reach, reach
    left, right = last - _GOLDEN * (last - first), first + _GOLDEN * (last - first)
    found = {y: _largest(k, n, ratio, d, y) for y in (left, right)}
    for _ in range(_CUTS):
        if found[left] <= found[right]:
            last, right, left = right, left, right - _GOLDEN * (right - first)
            found[left] = _largest(k, n, ratio, d, left)
        else:
            first, left, right = left, right, left + _GOLDEN * (last - left)
            found[right] = _largest(k, n, ratio, d, right)
    y = min(found, key=found.__getitem__)
    gained, taken = float(np.sqrt(counts * d).sum()), found[y]
    scale = gained / taken  # of √d: the best of 2 s·gained - s²·taken
    return np.append(d, y) * scale**2


def _spread(most: int) -> Floats:
    """Numbers from 0 to the most, spread evenly."""
    return np.unique(np.rint(np.linspace(0, most, min(most + 1, _EACH))))


def _slopes(counts: Floats, moments: Floats, beyond: Floats) -> Floats:
    """Minus the slopes of Σ c/x at the least of it, x being the moments' means over weights with a mean b of one."""
    used = counts > 0
    moments, c = moments[used], counts[used]
    weights = np.full(moments.shape[1], 1 / moments.shape[1])
    lines = np.stack([np.ones(len(beyond)), beyond])
    barrier = float((c / (moments @ weights)).sum()) / len(weights)
    for _ in range(_STEPS):
        for _ in range(_STEPS):
            x = moments @ weights
            # In units of the weights themselves the Hessian is a multiple of the identity and three outer products.
            across = (moments * weights) * np.sqrt(2 * c / x**3)[:, None]
            inner = np.linalg.inv(barrier * np.eye(len(c)) + across @ across.T)
            right = np.vstack([(c / x**2) @ moments * weights + barrier, lines * weights])
            solved = (right - (right @ across.T) @ inner @ across) / barrier
            missing = np.array([1.0, 0.0]) - lines @ weights
            rows = (lines * weights) @ solved[1:].T
            duals = np.linalg.lstsq(rows, missing - (lines * weights) @ solved[0], rcond=None)[0]
            step = solved[0] + duals @ solved[1:]
            length = min(1.0, 0.9 / max(-float(step.min()), 1e-300))
            weights = weights * (1 + length * step)
            if length == 1.0 and float(np.abs(step).max()) < 0.1:
                break
        value = float((c / (moments @ weights)).sum())
        if barrier * len(weights) < _FINEST * value:
            break
        barrier /= 6
    d = np.zeros(len(counts))
    d[used] = c / (moments @ weights) ** 2
    return d
