"""Mechanisms whose outcome is a set of values, in which the true one is more often than any other.

An outcome is written as its bits, one for each value in their order: ``b0110`` is the set of the second and the third.
Few sets are listed, each with its integers over 2^60. Many are not: then the same probabilities are exact as products,
and the mechanism answers for each size of a set (:class:`~leakwise.mechanism.SetMechanism`).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.mechanism.catalog.simple import BITS, Letters
from leakwise.mechanism.catalog.two_levels import two_levels
from leakwise.mechanism.kernel import DenseKernel
from leakwise.mechanism.mechanism import Mechanism
from leakwise.mechanism.set_mechanism import EachValue, SetMechanism, SoMany, set_names
from leakwise.types import Bools

__all__ = ["optimized_unary_encoding", "subset_selection", "symmetric_unary_encoding"]

_UNIT = 1 << BITS
_LISTED = 1 << 18  # entries of a matrix up to which sets are listed


def symmetric_unary_encoding(letters: Letters, epsilon: object = None, *, lift: object = None) -> Mechanism:
    """Write the value as one bit among zeros and flip each bit alike: basic RAPPOR ([EPK], SUE in [WBLJ]).

    A bit stays with probability p = √t/(√t+1) and flips with q = 1 - p; t = e^ε is the local differential privacy that
    the integers satisfy. The frequency f of a value, estimated from its bit, has the variance
    [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n, which is √t/(√t-1)² / n whatever f is.

    >>> m = symmetric_unary_encoding(["a", "b"], lift=4)
    >>> dict(zip(m.outputs, m.matrix[0].round(4).tolist()))
    {'b00': 0.2222, 'b01': 0.1111, 'b10': 0.4444, 'b11': 0.2222}
    """
    asked = level(epsilon, lift).below
    # p/q = √t; the least q over 2^60 with (1-q)² ≤ t·q².
    flip = _UNIT - _most_kept(asked)
    return _unary(as_alphabet(letters, name="letters"), _UNIT - flip, flip, asked)


def _most_kept(ratio: Fraction) -> int:
    """The largest p over 2^60 with p² ≤ t·(2^60-p)², the other bits being as likely the wrong ones."""
    root = Fraction(math.isqrt((ratio.numerator << 256) // ratio.denominator), 1 << 128)  # at most √t
    return min(math.floor(_UNIT * root / (1 + root)), _UNIT - 1)


def optimized_unary_encoding(letters: Letters, epsilon: object = None, *, lift: object = None) -> Mechanism:
    """Write the value as one bit among zeros; keep a 1 with probability 1/2 and a 0 with t/(t+1) (OUE in [WBLJ]).

    t = e^ε is the local differential privacy that the integers satisfy. With p = 1/2 and q = 1/(t+1), the frequency f
    of a value, estimated from its bit, has the variance [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n, which is 4t/(t-1)² / n
    for f near 0.

    >>> m = optimized_unary_encoding(["a", "b"], lift=3)
    >>> dict(zip(m.outputs, m.matrix[0].tolist()))
    {'b00': 0.375, 'b01': 0.125, 'b10': 0.375, 'b11': 0.125}
    """
    asked = level(epsilon, lift).below
    return _unary(as_alphabet(letters, name="letters"), _UNIT // 2, math.ceil(_UNIT / (1 + asked)), asked)


def subset_selection(
    letters: Letters, epsilon: object = None, *, lift: object = None, size: int | None = None
) -> Mechanism:
    """Return a set of d of the k values, those with the true one e^ε times as often ([YB], [WH]).

    t = e^ε is the local differential privacy that the integers satisfy. d is ``size``, or k/(t+1) rounded to
    the better side: the optimum for estimating frequencies where the prior is uniform. A value is in the set with
    probability p = d·t / (d·t + k - d) if it is the true one, and with q = [p(d-1) + (1-p)d] / (k-1) otherwise; its
    frequency f, estimated from that, has the variance [q(1-q)/(p-q)² + f(1-p-q)/(p-q)] / n.

    >>> m = subset_selection(["a", "b", "c"], lift=2, size=2)
    >>> dict(zip(m.outputs, m.matrix[0].tolist()))
    {'b011': 0.2, 'b101': 0.4, 'b110': 0.4}
    """
    alphabet = as_alphabet(letters, name="letters")
    asked, count = level(epsilon, lift).below, len(alphabet)
    chosen = _best_size(count, asked) if size is None else _checked_size(size, count)
    if count * math.comb(count, chosen) > _LISTED:
        return _many_sets(alphabet, chosen, asked)
    sets = np.zeros((math.comb(count, chosen), count), dtype=np.bool_)
    for row, members in zip(sets, itertools.combinations(range(count), chosen), strict=True):
        row[list(members)] = True
    sets = sets[::-1]  # in the order of their bits
    return Mechanism.from_kernel(two_levels(sets.T, asked), alphabet, _names(sets))


def _best_size(count: int, ratio: Fraction) -> int:
    """k/(t+1) rounded down or up, whichever has the smaller variance where all values are as frequent."""
    if count == 1:
        return 1

    def variance(d: int) -> Fraction:
        total = d * ratio + count - d
        p, apart = d * ratio / total, d * (count - d) / ((count - 1) * total)  # apart: (p - q) / (t - 1)
        q = (p * (d - 1) + (1 - p) * d) / (count - 1)
        return q * (1 - q) / apart**2 + (1 - p - q) * (ratio - 1) / (count * apart)

    down = math.floor(count / (1 + ratio))
    return min((d for d in (down, down + 1) if 1 <= d < count), key=variance)


def _checked_size(size: object, count: int) -> int:
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 1 <= size <= count:
        raise InvalidInput(
            f"size must be a whole number of values from 1 to {count}, all there are. Got {size!r} instead."
        )
    return int(size)


def _unary(alphabet: Alphabet, keep: int, rise: int, ratio: Fraction) -> Mechanism:
    """Unary encoding with P(1 stays) = keep/2^60 and P(0 becomes 1) = rise/2^60, of which keep·(1-rise) is the more."""
    count = len(alphabet)
    if count > 63 or count << count > _LISTED:
        return SetMechanism(alphabet, EachValue(keep, rise))
    inside, outside = _levels(count, keep, rise, ratio)
    numbers = np.arange(1 << count)
    sets = (numbers[:, None] >> np.arange(count)[::-1]) & 1 == 1
    ones = sets.sum(axis=1)
    weights = np.where(sets.T, np.array(inside)[ones], np.array(outside)[ones])
    return Mechanism.from_kernel(DenseKernel(weights, _UNIT), alphabet, _names(sets))


def _levels(count: int, keep: int, rise: int, ratio: Fraction) -> tuple[list[int], list[int]]:
    """What a set of s values weighs for a value inside and for one outside, s = 0 … k, over 2^60.

    Rounded down, and inside never more than t times outside. The empty set and that of all values weigh the same for
    every value, whatever it is: they take what the others leave, the empty one as the more likely of both.
    """
    down = _UNIT ** (count - 1)
    inside, outside = [0] * (count + 1), [0] * (count + 1)
    for s in range(1, count):
        others = rise ** (s - 1) * (_UNIT - rise) ** (count - 1 - s)
        outside[s] = max(1, (_UNIT - keep) * rise * others // down)
        inside[s] = min(max(1, keep * (_UNIT - rise) * others // down), math.floor(ratio * outside[s]))
    left = _UNIT - sum(
        math.comb(count - 1, s - 1) * inside[s] + math.comb(count - 1, s) * outside[s] for s in range(1, count)
    )
    if left < 2:  # everything but the true value alone is all but impossible, and rounded up
        inside[1], left = inside[1] - (2 - left), 2
    inside[count] = min(max(1, keep * rise ** (count - 1) // down), left - 1)
    outside[0] = left - inside[count]
    return inside, outside


def _names(sets: Bools) -> Alphabet:
    return Alphabet(set_names(sets), name="outcomes")


def _many_sets(alphabet: Alphabet, size: int, ratio: Fraction) -> SetMechanism:
    """Subset selection without a list: the true value is in the set with a probability over 2^60, rounded down."""
    count = len(alphabet)
    having, others = math.comb(count - 1, size - 1), math.comb(count - 1, size)
    own = math.floor(_UNIT * ratio * having / (ratio * having + others))
    # Closer to 1 than different integers can be: any set, for all values alike.
    silent = own * others <= (_UNIT - own) * having
    return SetMechanism(alphabet, SoMany(size, None if silent else own))
