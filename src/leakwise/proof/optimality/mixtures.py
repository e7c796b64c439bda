r"""What frequencies cost at least under LDP, by a prior's being a mixture of uniform ones on its heaviest letters.

With decoders W that recover the frequencies (W Pᵀ = I) trace J⁻¹ is the least Σ_ij q_j W_ij², linear in the prior: the
least over all W and all mechanisms with rows within a ratio is concave in it. So it is at least Σ_k k (π_k - π_{k+1})
F(U_k), the U_k being uniform on the k heaviest letters; and F(U_k), which is at least every F(U_i) with i ≤ k, is

.. math:: \frac1k + \frac{k-1}{E\,\alpha} + \frac{n-1}{E\,\beta} + \frac{1/k + 1/n}{E\,(b-1)^2}, \qquad n = N - k,

for mechanisms symmetric within the k letters and within the others: α and β are the variances (over k-1 and n-1) of
the lifts on both sides, b is the mean of the others' lifts, and E b = 1. Multipliers e, f, g ≥ 0 and y prove a bound by
c/x ≥ 2√(c·e) - e·x, as e·α + f·β + g·(b-1)² - y·(b-1) is convex in a column: its largest value is at one of two lifts
only, low and ratio·low, and depends on how many of each side are raised.
"""

from __future__ import annotations

import math

import numpy as np

from leakwise.types import Floats

__all__ = ["mixture_trace"]


def mixture_trace(multipliers: Floats, p: Floats, ratio: float) -> float:
    """Return a number below trace J⁻¹ of all mechanisms with rows within the ratio; four multipliers for each k."""
    size = len(p)
    each = np.array([_uniform_on(k, size - k, ratio, *multipliers[4 * k - 4 : 4 * k]) for k in range(1, size + 1)])
    if not np.isfinite(each).all():
        return -math.inf
    each = np.maximum.accumulate(each)
    ordered = [*sorted(p.tolist(), reverse=True), 0.0]
    shares = [k * (ordered[k - 1] - ordered[k]) for k in range(1, size + 1)]
    # The shares are known to N units of their sum, which is one.
    lost = float(each[-1]) * (4 * size + 32) * 2.0**-50
    return math.fsum(share * one for share, one in zip(shares, each.tolist(), strict=True)) - lost


def _uniform_on(k: int, n: int, ratio: float, e: float, f: float, g: float, y: float) -> float:
    """A number below F(U_k): 1/k at least, as J⁻¹ is at least ππᵀ."""
    if not min(e, f, g) >= 0:
        return -math.inf
    if not (e or f or g):
        return (1 - 2.0**-50) / k
    gained = [math.sqrt((k - 1) * e), math.sqrt(max(n - 1, 0) * f), math.sqrt((1 / k + 1 / n) * g) if n else 0.0]
    r = np.arange(k + 1.0)
    step = (ratio - 1) * k / (k + (ratio - 1) * r)  # between both lifts; the low one is 1 - step·r/k
    own = e * step**2 * r * (k - r) / (k * (k - 1.0)) if k > 1 else np.zeros(k + 1)
    largest, sizes = -math.inf, 0.0
    for s in _counts(step, r / k, n, f, g, y):
        beyond = step * (s / n - r / k) if n else np.zeros(k + 1)
        spread = s * (n - s) * step**2 / (n * (n - 1.0)) if n > 1 else np.zeros(k + 1)
        largest = max(largest, float((own + f * spread + g * beyond**2 - y * beyond).max()))
        sizes = max(sizes, float((own + f * spread + g * step**2 + abs(y) * step).max()))
    total = math.fsum(gained)
    return 1 / k + 2 * total - largest - (total + sizes) * 2.0**-42


def _counts(step: Floats, share: Floats, n: int, f: float, g: float, y: float) -> list[Floats]:
    """How many of the n others are raised where that is worth most: none, all, or those around the top of a parabola.

    As b - 1 is step·(s/n - r/k), the sum is f·step²·s(n - s)/(n(n - 1)) + g·(b - 1)² - y·(b - 1).
    """
    none = np.zeros(len(step))
    if not n:
        return [none]
    curve = f / (n - 1) if n > 1 else 0.0
    falls = 2 * step**2 * (curve - g / n)  # minus n times the second derivative in s
    rises = step**2 * (curve * n - 2 * g * share) - y * step  # n times the first one at none
    top = np.clip(np.divide(rises, falls, out=np.zeros(len(step)), where=falls > 0), 0.0, float(n))
    return [none, np.full(len(step), float(n)), np.floor(top), np.ceil(top)]
