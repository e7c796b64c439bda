"""What a mechanism is worth whose outcomes are sets of values that nobody lists."""

from __future__ import annotations

import math
from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact import float_below
from leakwise.leakage.measures.divergences import x_log_x
from leakwise.leakage.sets_of_values import sets_information_bounds
from leakwise.mechanism import Mechanism, SetMechanism
from leakwise.optimize.problem.utilities import FInformation, Frequencies
from leakwise.optimize.problem.utility import Utility
from leakwise.priors import Prior, PriorSet

__all__ = ["bounded_frequencies", "worth_of_sets"]


def bounded_frequencies(mechanism: Mechanism, prior: PriorSet) -> bool:
    """Return whether the accuracy of the frequencies is known from below only: sets, and values not all as likely."""
    return isinstance(mechanism, SetMechanism) and len(set(prior.nominal.fractions)) > 1


def worth_of_sets(mechanism: SetMechanism, prior: Prior, goal: Utility) -> float:
    """Return the mutual information or the accuracy of the frequencies, rounded down."""
    if isinstance(goal, FInformation) and goal.f is x_log_x:
        return sets_information_bounds(mechanism, prior)[0]
    if type(goal) is Frequencies:
        return _frequencies(mechanism, prior)
    raise InvalidInput(
        f"The outcomes of this mechanism are too many to list ({mechanism}): its worth is known for mutual_information "
        f"and frequencies. Got {goal.name!r}; use fewer values, or a mechanism with fewer outcomes."
    )


def _frequencies(mechanism: SetMechanism, prior: Prior) -> float:
    """Minus the sum of the variances of the estimator that is best for a uniform prior, exact; a bound for any other.

    With λ_x(S) the lift for the uniform prior, J = E[λλᵀ] has the eigenvalue k once and μ = (Σ_x E[λ_x²] - k)/(k-1)
    else. The estimator J⁻¹λ is unbiased whatever the frequencies are, and Σ_x E[(J⁻¹λ)_x²] = tr J⁻¹ does not depend on
    them either, because all values are treated alike. What is best for the prior at hand is never worse.
    """
    count = mechanism.shape[0]
    if count == 1:
        return 0.0
    squares = Fraction(0)
    for one in mechanism.levels:
        law = Fraction(one.outside * (count - one.size) + one.inside * one.size, count)
        if law:
            both = one.size * one.inside**2 + (count - one.size) * one.outside**2
            squares += one.scale * math.comb(count, one.size) * both / law
    spread = (squares / mechanism.denominator - count) / (count - 1)
    if spread <= 0:
        return -math.inf
    return float_below(sum(mass**2 for mass in prior.fractions) - Fraction(1, count) - (count - 1) / spread)
