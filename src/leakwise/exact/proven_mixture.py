"""Mixtures of columns that add up to one in every row, of greatest worth, exact and with the duals that prove it.

For columns λ_1, …, λ_R with worths μ_r this is a linear program,

    max Σ_r q_r μ_r   over q ≥ 0 with Σ_r q_r λ_r = 1 in every row,

whose dual is min Σ_i y_i over y with y·λ_r ≥ μ_r for every r. A basis B of columns gives q = B⁻¹1 and y = B⁻ᵀμ; where
q ≥ 0 and no column has μ_r > y·λ_r, both are optimal and Σ_i y_i = Σ_r q_r μ_r is the value. All of that is looked at
here in fractions, or with logarithms whose signs are decided (:class:`~leakwise.exact.LogSum`), for every column:
however the basis was found, it is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb_mat, ctx, fmpq_mat

from leakwise.exact.log_sums import LogSum
from leakwise.exact.rationals import from_flint, to_flint
from leakwise.exact.simplex import optimal_basis

__all__ = ["Column", "Optimum", "proven", "proven_mixture"]

Column = tuple[Fraction, ...]

_PRECISION = 256
_ROUNDS = 100


@dataclass(frozen=True)
class Optimum:
    """A basis that is proven to be optimal.

    Attributes
    ----------
    basis
        For each row a column by its place, or -1 for the unit vector of a row that the others say already.
    weights
        q of each of them; 0 for -1.
    duals
        y, one for each row.
    tight
        The places of all columns with μ(λ) = y·λ.
    """

    basis: tuple[int, ...]
    weights: tuple[Fraction, ...]
    duals: tuple[LogSum, ...]
    tight: tuple[int, ...]


def proven_mixture(columns: Sequence[Column], worths: Sequence[LogSum], likely: Sequence[int]) -> Optimum | None:
    """Return an optimal basis of all columns, those that are ``likely`` in it tried first; None where none is found.

    >>> half, most, one = Fraction(1, 2), Fraction(3, 2), Fraction(1)
    >>> found = proven_mixture([(half, most), (most, half), (one, one)], [LogSum.log(n) for n in (3, 4, 3)], [])
    >>> found.weights, [str(y) for y in found.duals], found.tight
    ((Fraction(1, 2), Fraction(1, 2)), ['3/4·log(4) - 1/4·log(3)', '-1/4·log(4) + 3/4·log(3)'], (0, 1))
    """
    size, near = len(columns[0]), [worth.near() for worth in worths]
    chosen = list(dict.fromkeys(likely)) or list(range(len(columns)))
    for _ in range(_ROUNDS):
        entries = [{row: entry for row, entry in enumerate(columns[k]) if entry} for k in chosen]
        local = optimal_basis(entries, size, [near[k] for k in chosen])
        better: Sequence[int] = range(len(columns))
        if local is not None and (-1 not in local or len(chosen) == len(columns)):
            found = proven(columns, worths, [-1 if k < 0 else chosen[k] for k in local])
            if isinstance(found, Optimum):
                return found
            better = found
        known = set(chosen)
        more = [k for k in better if k not in known]
        if not more:
            break
        chosen += more
    return None


def proven(columns: Sequence[Column], worths: Sequence[LogSum], basis: Sequence[int]) -> Optimum | list[int]:
    """Return the optimum that a basis is, or the columns that show that it is none (none where it has no weights)."""
    size = len(basis)
    units = [tuple(Fraction(int(i == row)) for i in range(size)) for row in range(size)]
    used = [units[row] if k < 0 else columns[k] for row, k in enumerate(basis)]
    matrix = fmpq_mat(size, size, [to_flint(used[c][row]) for row in range(size) for c in range(size)])
    if not matrix.det():
        return []
    inverse = matrix.inv()
    rows = [[from_flint(inverse[c, row]) for row in range(size)] for c in range(size)]
    weights = tuple(sum(row, Fraction(0)) for row in rows)
    if any(q < 0 or (k < 0 and q) for q, k in zip(weights, basis, strict=True)):
        return []
    own = [LogSum() if k < 0 else worths[k] for k in basis]
    duals = tuple(
        sum((own[c] * rows[c][row] for c in range(size) if rows[c][row]), start=LogSum()) for row in range(size)
    )
    signs = _signs(columns, worths, duals)
    better = [place for place, sign in enumerate(signs) if sign > 0]
    return better or Optimum(tuple(basis), weights, duals, tuple(k for k, sign in enumerate(signs) if not sign))


def _signs(columns: Sequence[Column], worths: Sequence[LogSum], duals: Sequence[LogSum]) -> list[int]:
    """The sign of μ(λ) - y·λ for each column, decided without rounding."""
    size = len(duals)
    table = fmpq_mat(len(columns), size, [to_flint(entry) for column in columns for entry in column])
    if all(one.rational is not None for one in (*duals, *worths)):
        prices = table * fmpq_mat(size, 1, [to_flint(one.constant) for one in duals])
        gaps = [to_flint(worth.constant) - prices[k, 0] for k, worth in enumerate(worths)]
        return [(gap > 0) - (gap < 0) for gap in gaps]
    signs = []
    with ctx.workprec(_PRECISION):
        balls = arb_mat(table) * arb_mat(size, 1, [one.ball() for one in duals])
        for place, (column, worth) in enumerate(zip(columns, worths, strict=True)):
            gap = worth.ball() - balls[place, 0]
            if gap < 0 or gap > 0:
                signs.append(1 if gap > 0 else -1)
            else:
                price = sum((y * entry for y, entry in zip(duals, column, strict=True) if entry), start=LogSum())
                signs.append((worth - price).sign())
    return signs
