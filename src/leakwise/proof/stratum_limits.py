"""The limits of one stratum: less what its noisy counts cost, and without values that cannot occur there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from leakwise.exact import exp_upper
from leakwise.priors import PriorSet
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.proof.limits import AskedLimits

__all__ = ["limits_in_stratum", "paid_factor", "prior_cost"]


def prior_cost(priors: PriorSet) -> Fraction:
    """Return what the counts behind a set of priors cost, in nats: 0 where no noise was paid for."""
    return priors.cost if isinstance(priors, NoisyLayerCake) else Fraction(0)


def paid_factor(priors: PriorSet) -> Fraction:
    """Return e^cost, rounded up: noisy counts make every guess at most so many times as likely, with any outcome."""
    return exp_upper(prior_cost(priors))


def limits_in_stratum(limits: AskedLimits, priors: PriorSet) -> AskedLimits:
    """Return the limits that a stratum's mechanism must keep: less what was paid for its noisy counts.

    Those of values that cannot occur in the stratum would say nothing and are left out.
    """
    limits = limits.less(paid_factor(priors)) if prior_cost(priors) else limits
    if not limits.by_value:
        return limits
    found = limits.on(priors.alphabet)
    possible = {label for label, here in zip(priors.labels, priors.support, strict=True) if here}
    return replace(
        found,
        lift_of=tuple(one for one in found.lift_of if one[0] in possible),
        ceiling=tuple(one for one in found.ceiling if possible.intersection(one[0])),
        floor=tuple(one for one in found.floor if one[0] in possible),
    )
