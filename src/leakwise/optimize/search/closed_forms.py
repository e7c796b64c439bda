"""Closed-form optima of [EX], built in integers so that the promise holds by construction.

Theorem 2 (two letters) and Theorem 3 (high privacy) have as many extreme rays as letters, linearly independent: the
mechanism is the only one made of extreme rays, hence optimal for every sublinear utility. Theorem 4 (uniform prior)
holds for utilities that treat the letters alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.mechanism import CommonLawKernel, DenseKernel, Kernel
from leakwise.mechanism.catalog import BITS
from leakwise.priors import Prior, PriorSet
from leakwise.proof import least_mass_prover

__all__ = ["LARGEST", "ClosedForm", "binary_kernel", "closed_form", "wider"]

_UNIT = 1 << BITS
LARGEST = Fraction(_UNIT, 2)
"""Of two values an outcome with a larger lift is too rare for integers over 2^60."""


@dataclass(frozen=True)
class ClosedForm:
    """A kernel on the letters of the support, and the theorem that makes it optimal."""

    kernel: Kernel
    theorem: str


def wider(ratio: Fraction) -> Fraction:
    """Return the ratio at which the integers of two values hold all that is optimal at a smaller one.

    What is shown of the likelier value, 1 - 1/t of what could be, is rounded down to units of 2^-60.
    """
    return ratio * (1 + ratio / LARGEST)


def closed_form(prior: Prior, lift: Fraction, *, symmetric: bool) -> ClosedForm | None:
    """Return the closed-form optimum for a prior of full support at e^ε = ``lift``, or None when no theorem speaks.

    ``symmetric`` says that the utility treats letters of equal mass alike, as Theorem 4 needs.
    """
    size = len(prior)
    if lift == 1 or size == 1:
        return ClosedForm(DenseKernel(np.full((size, 1), _UNIT), _UNIT), "ε = 0: only a constant release leaks nothing")
    if lift * prior.least_probability >= 1:
        kernel = CommonLawKernel(np.zeros(size, dtype=np.int64), _UNIT)
        return ClosedForm(kernel, "ε ≥ ε_max: the secret itself may be released")
    if lift * (1 - prior.least_probability) <= 1:
        return ClosedForm(_high_privacy(prior, lift), "[EX] Theorem 3 (high privacy)" if size > 2 else "[EX] Theorem 2")
    if size == 2:
        return ClosedForm(_binary(prior, lift), "[EX] Theorem 2")
    if symmetric and len(set(prior.weights.tolist())) == 1 and size <= 1 << 12:
        return ClosedForm(_uniform(size, lift), "[EX] Theorem 4 (uniform prior)")
    return None


def _high_privacy(prior: Prior, lift: Fraction) -> Kernel:
    """p_ij = t π_j off the diagonal, 1 - t(1-π_i) on it ([EX] Theorem 3): a common law with a negative diagonal.

    A column has the largest lift c_j / (c_j - d π_j) with d the negated diagonal, within t iff c_j ≥ d π_j t/(t-1).
    Rounding those up needs (t-1)·N units less of d than the real optimum t-1.
    """
    weights, total = prior.weights.tolist(), prior.denominator
    size = len(weights)
    rise = lift.numerator - lift.denominator  # t - 1 = rise / denominator
    depth = max((_UNIT - size) * rise // lift.denominator, 0)
    # c_j = ceil(depth · π_j · t/(t-1)); their sum is at most unit + depth, and the rest only lowers lifts.
    scale = rise * total
    common = [-(-depth * weight * lift.numerator // scale) for weight in weights]
    spare = _UNIT + depth - sum(common)
    common[common.index(max(common))] += spare
    return CommonLawKernel(np.array(common, dtype=np.object_), _UNIT)


def _binary(prior: Prior, lift: Fraction) -> Kernel:
    """The second case of [EX] (10): the likelier letter may be disclosed, the other one is always masked."""
    first, second = (int(weight) for weight in prior.weights)
    likely = 0 if first >= second else 1
    mass = Fraction(max(first, second), prior.denominator)
    # The masking outcome has lift 1 / (1 - aπ) for the rarer letter: a rounded down keeps it within t.
    shown = int((lift - 1) / (lift * mass) * _UNIT)
    weights = np.zeros((2, 2), dtype=np.int64)
    weights[likely] = (shown, _UNIT - shown)
    weights[1 - likely] = (0, _UNIT)
    return DenseKernel(weights if likely == 0 else weights[:, ::-1], _UNIT)


def _uniform(size: int, lift: Fraction) -> Kernel:
    """[EX] (11): each outcome raises N-k letters around a circle fully, one partly, and excludes the others.

    Rows and columns have the same entries, so that rows sum exactly and every outcome has probability 1/N.
    """
    top = int(lift * _UNIT / size)
    raised = _UNIT // top
    partly = _UNIT - raised * top
    weights = np.zeros((size, size), dtype=np.int64)
    places = np.arange(size)
    for step in range(raised):
        weights[(places + 1 + step) % size, places] = top
    weights[places, places] += partly
    return DenseKernel(weights, _UNIT)


def binary_kernel(priors: PriorSet, ratio: Fraction, anyone: Fraction | None = None) -> DenseKernel:
    """The optimum for two letters, every ε and every set: only the least and the largest mass of a letter matter.

    With l ≤ Q_1 ≤ u, k_1 = max(0, (1-tl)/(t(1-l))), k_2 = max(0, (1-t(1-u))/(tu)):  p_11 = (1-k_2)/(1-k_1k_2) and
    p_21 = k_1 p_11. The integers round p_11 down and p_21 up, which keeps both columns inside. A limit for anyone keeps
    k_1 and k_2 from falling below one over it.
    """
    # For a layer cake the checker's word is below the set's own, and it is what a certificate rests on.
    prove = least_mass_prover(priors)
    least, most = prove([1, 0]), 1 - prove([0, 1])
    first = Fraction(0) if least == 1 else max(Fraction(0), (1 - ratio * least) / (ratio * (1 - least)))
    second = Fraction(0) if most == 0 else max(Fraction(0), (1 - ratio * (1 - most)) / (ratio * most))
    if anyone is not None:
        first, second = max(first, 1 / anyone), max(second, 1 / anyone)
    if first * second >= 1:
        return DenseKernel(np.full((2, 1), _UNIT, dtype=np.int64), _UNIT)
    upper = (1 - second) / (1 - first * second)
    lower = first * upper
    p11, p21 = int(upper * _UNIT), -int(-lower * _UNIT // 1)
    weights = np.array([[p11, _UNIT - p11], [p21, _UNIT - p21]], dtype=np.int64)
    return DenseKernel(weights[:, weights.sum(axis=0) > 0], _UNIT)
