"""Sums of independent whole numbers with two-sided geometric noise, in integers over one denominator."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["clamped_noisy_law", "law_of_sum"]


def law_of_sum(weights: Sequence[int], terms: int) -> list[int]:
    """Return the distribution of a sum of independent terms: weight s over ``sum(weights) ** terms``.

    A term is k with weight ``weights[k]``: the coefficients of a power of a polynomial.

    >>> law_of_sum([1, 1], 4)
    [1, 4, 6, 4, 1]
    """
    from flint import fmpz_poly

    length = (len(weights) - 1) * terms + 1
    found = [int(weight) for weight in (fmpz_poly(list(map(int, weights))) ** terms).coeffs()]
    return found + [0] * (length - len(found))


def clamped_noisy_law(
    law: Sequence[int], total: int, ratio: Fraction, shifts: Sequence[int], last: int
) -> tuple[list[list[int]], int]:
    """Return P(clamp(g + S + Z) = y) for each shift g and y = 0 … last, as integers over the denominator returned.

    S is s with weight ``law[s]`` over ``total``, Z is z with probability (1-α)/(1+α) α^|z|, and what falls outside
    0 … last is put on the ends. Every shift is at least 0, and no g + S is above ``last``.

    >>> clamped_noisy_law([1], 1, Fraction(1, 2), [0, 1], 1)
    ([[4, 2], [2, 4]], 6)
    """
    if ratio == 0:
        return [[0] * g + list(law) + [0] * (last - g - len(law) + 1) for g in shifts], total
    a, b = ratio.numerator, ratio.denominator
    shares = [1]  # a, a², …: how much is left at such a distance beyond the ends
    top, room = len(law) - 1, last - (len(law) - 1)
    # U(y) = Σ_{s≤y} law(s) α^{y-s} b^y and V(y) = Σ_{s≥y} law(s) α^{s-y} b^{top-y}: only additions of what is positive.
    powers = [1]
    for _ in range(last):
        powers.append(powers[-1] * b)
        shares.append(shares[-1] * a)
    up, down = [0] * (top + 1), [0] * (top + 1)
    for y in range(top + 1):
        up[y] = (a * up[y - 1] if y else 0) + law[y] * powers[y]
        down[top - y] = (a * down[top - y + 1] if y else 0) + law[top - y] * powers[y]
    inside = [
        up[y] * powers[top - y] + down[y] * powers[y] - law[y] * powers[top] for y in range(top + 1)
    ]  # Σ_s law(s) α^{|y-s|} b^top

    def at(z: int) -> int:
        """Σ_s law(s) α^{|z-s|} b^{top+room}."""
        beyond = max(-z, z - top, 0)
        return inside[min(max(z, 0), top)] * shares[beyond] * powers[room - beyond]

    rows = []
    for g in shifts:
        row = [at(y - g) * (b - a) for y in range(last + 1)]
        row[0], row[last] = at(-g) * b, at(last - g) * b
        rows.append(row)
    return rows, total * powers[last] * (a + b)
