"""Pointwise maximal leakage: the largest lift of each outcome ([EX] (2), [ED] Corollary 1 for sets)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.exact import log_upper, ratio_array
from leakwise.leakage.many_releases.largest_lift import largest_lift
from leakwise.leakage.measures.arguments import checked
from leakwise.leakage.sets_of_values import is_of_sets, sets_epsilon
from leakwise.mechanism import Composition, Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet, as_prior_set
from leakwise.priors.support import over_support
from leakwise.types import Bools, Floats

__all__ = ["epsilon", "lifts", "pml"]


# Up to so many entries the integers themselves are fast enough, and give the least float above the truth.
_SMALL = 20_000
# Below this, products of a prior and a kernel may be subnormal and lose digits: then the integers are used, too.
_TINY = 1e-280
# Beyond so many bits the common divisor takes longer than anything else, and no float tells the difference.
_LONG = 2_048
# Branch and bound over the outcomes of many releases is done where both its ends are as close as this.
_CLOSE = 1e-9


def pml(mechanism: Mechanism, prior: Any, *, every_letter: bool = False) -> Floats:
    """Return the pointwise maximal leakage of each outcome, in nats, never below the truth.

    ℓ_j = log max_i p_ij / q_j over the letters of the support, q = πP ([EX] (2)); for a set of priors the largest
    over the set. Between 0 and ``prior.epsilon_max``. An outcome that cannot occur leaks 0. Floats are rounded up by
    their error bound; ``lw.certify`` gives the exact rational.

    ``every_letter=True`` takes the largest over every declared letter, those of mass zero included: what the bounds
    around an estimate need (``lw.measures.estimation_bound`` and its relatives), because the true prior may give mass
    to a letter that the sample never showed. Infinite for an outcome that only such letters can cause.

    >>> from leakwise import Prior, randomized_response
    >>> pml(randomized_response(2, lift=3), Prior([0.5, 0.5])).round(6).tolist()
    [0.405465, 0.405465]
    """
    known = align_prior(prior, checked(mechanism))
    letters = None if every_letter else known.support
    rows, columns = mechanism.shape
    if rows * columns <= _SMALL:
        return _exact_pml(mechanism, known, letters)
    kernel = mechanism.kernel
    largest = ratio_array(kernel.column_max(letters), kernel.denominator)
    if isinstance(known, Prior):
        mass = kernel.output_law_floats(known.weights, known.denominator)
        most = np.inf if every_letter else known.epsilon_max
    else:
        mass, most = known.least_mass(mechanism.matrix), np.inf
    if ((mass < _TINY) & (largest > 0)).any():
        return _exact_pml(mechanism, known, letters)
    # Relative errors: the mass (N+8)/2, the ratio and its numerator 2, the logarithm 2 units of 2^-52, and some to
    # spare.
    slack = (rows + 16) * 2.0**-52
    ratio = np.divide(largest, mass, out=np.ones(columns), where=largest > 0)
    leakage = np.log(np.maximum(ratio, 1.0)) * (1 + 2.0**-51) + slack
    return np.where(largest > 0, np.minimum(leakage, most), 0.0)


def _exact_pml(mechanism: Mechanism, prior: PriorSet, letters: Bools | None) -> Floats:
    """The same in integers; only the logarithm is rounded, upwards."""
    ratios = largest_lifts(mechanism, prior, letters)
    return np.array([np.inf if ratio is None else log_upper(ratio) for ratio in ratios])


def largest_lifts(mechanism: Mechanism, prior: PriorSet, letters: Bools | None) -> list[Fraction | None]:
    """Return e^ℓ of each outcome, exact (of long integers a short fraction just above); None where nothing bounds it.

    For a set of priors the largest over the set; 1 for an outcome that cannot occur.
    """
    kernel = mechanism.kernel
    largest = [int(weight) for weight in kernel.column_max(letters)]
    if isinstance(prior, Prior):
        masses = [Fraction(mass, prior.denominator) for mass in kernel.output_law(prior.weights)]
    else:
        masses = [prior.exact_least_mass(column) for column in kernel.weights.T.tolist()]
    one = Fraction(1)
    return [
        one if weight == 0 else max(_ratio_above(weight, mass), one) if mass else None
        for weight, mass in zip(largest, masses, strict=True)
    ]


def _ratio_above(weight: int, mass: Fraction) -> Fraction:
    """weight/mass, or for the long integers of a composition a short fraction just above it."""
    top, bottom = weight * mass.denominator, mass.numerator
    excess = min(top.bit_length(), bottom.bit_length()) - _LONG
    if excess <= 0:
        return Fraction(top, bottom)
    return Fraction((top >> excess) + 1, bottom >> excess)


def epsilon(mechanism: Mechanism, prior: Any, *, every_letter: bool = False) -> float:
    """Return the ε of ε-PML: the leakage of the worst outcome, in nats, never below the truth.

    For a set of priors this is the local leakage capacity of [ED]: the largest ε over the set. ``every_letter=True``
    counts letters of mass zero, too, as in :func:`pml`; without it the number of a prior that has such letters
    remembers them (``left_out``), and the bounds around an estimate refuse it.

    Of many releases (``m.repeat(n)``, ``lw.compose``) the worst joint outcome is found by branch and bound, however
    many there are; ``lw.measures.composition_bounds`` also tells how close that is from below.

    >>> from leakwise import Prior, identity
    >>> print(f"{epsilon(identity(2), Prior([0.75, 0.25])):.6f}")
    1.386294
    """
    if isinstance(mechanism, Composition) and not every_letter:
        known = align_prior(prior, mechanism)
        if isinstance(known, Prior) and (math.prod(mechanism.shape) > _SMALL or not mechanism.enumerable):
            found = largest_lift(mechanism, known)
            if found.upper - found.lower <= _CLOSE or not mechanism.enumerable:
                return over_support(found.upper, known)
    if is_of_sets(mechanism):
        known = align_prior(prior, mechanism)
        worst = sets_epsilon(mechanism, known, None if every_letter else known.support)
    else:
        worst = float(pml(mechanism, prior, every_letter=every_letter).max())
    return worst if every_letter else over_support(worst, as_prior_set(prior))


def lifts(mechanism: Mechanism, prior: Any) -> Floats:
    """The lift of every pair, posterior over prior: λ_ij = p_ij / q_j; 1 in the column of an impossible outcome."""
    known = align_prior(prior, mechanism).nominal
    mass = mechanism.kernel.output_law_floats(known.weights, known.denominator)
    matrix = mechanism.matrix
    ratio = np.ones_like(matrix)
    with np.errstate(over="ignore"):  # a lift beyond floats is infinite here
        np.divide(matrix, mass, out=ratio, where=mass > 0)
    return ratio
