"""What several releases of one secret reveal together. PML ε of single releases are never added.

Three uniform letters released twice at ε = log 1.5 can reveal log 3, not log 2.25 ([ED] calls it linear; it is not).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leakwise.exact import log_upper
from leakwise.leakage import epsilon, ldp
from leakwise.leakage.many_releases.largest_lift import largest_lift
from leakwise.leakage.measures.arguments import single_prior
from leakwise.mechanism import Composition, Mechanism, compose
from leakwise.priors import Prior, PriorSet

__all__ = ["MOST_OF_ONE", "Together", "rounded_sum", "together"]

MOST_OUTCOMES = 1_000_000

# Count vectors are listed outcome by outcome, as deep as there are outcomes.
MOST_OF_ONE = 400

# Of one prior, more joint outcomes than this are searched instead of listed, where the mechanisms have so few entries.
_LISTED, _ENTRIES = 2_000, 200_000
# Boxes that the search splits at most; what is left open is a few thousandths of a nat, on the safe side.
_BOXES = 10
_CLOSE = 1e-9


@dataclass(frozen=True)
class Together:
    """The leakage of several releases of one secret, for one prior or set of priors.

    Attributes
    ----------
    epsilon
        In nats, rounded up.
    exact
        Whether all releases were composed outcome by outcome; otherwise ``epsilon`` is a bound.
    outcomes
        The joint outcomes that were looked at.
    """

    epsilon: float
    exact: bool
    outcomes: int


def together(
    mechanisms: Sequence[Mechanism], prior: PriorSet, others: Sequence[Mechanism] = (), *, capped: bool = True
) -> Together:
    """Return what all the outcomes together reveal about the secret.

    For one prior the worst joint outcome is searched for, and bounded where the search is stopped. For a set of priors,
    exact where the joint outcomes number at most 10⁶ (releases by one mechanism are counted by types). Beyond that,
    with A the releases composed exactly and B the rest, an outcome of B multiplies a lift by at most max_x
    P(y|x) / min_x P(y|x), so that ε ≤ ε(A) + Σ_B LDP (the mathematics, section 5). For one prior it is also at most
    -log(π + (1-π)e^-L) with L = Σ LDP and π the least mass, which is at most ε_max.

    Parameters
    ----------
    mechanisms
        Those over the letters of the prior.
    prior
        What is known of the secret beforehand.
    others
        Releases that depend on the secret and on more, such as one of a joint secret: only their LDP speaks.
    capped
        Whether only guesses about the secret of the prior are asked for, whose leakage is at most ε_max.

    Examples
    --------
    >>> from leakwise import Mechanism, Prior
    >>> m = Mechanism([["0", "1/2", "1/2"], ["1/2", "0", "1/2"], ["1/2", "1/2", "0"]])
    >>> [f"{together([m] * n, Prior.uniform(3)).epsilon:.6f}" for n in (1, 2)]
    ['0.405465', '1.098612']
    """
    if len(mechanisms) == 1 and not others:
        return Together(float(epsilon(mechanisms[0], prior)), True, mechanisms[0].shape[1])
    if isinstance(prior, Prior) and mechanisms and not others and _is_small(mechanisms):
        everything = compose(*mechanisms)
        if everything.count_vectors > _LISTED:
            worst = largest_lift(everything, single_prior(prior, everything), boxes=_BOXES)
            return Together(worst.upper, worst.upper - worst.lower <= _CLOSE, everything.count_vectors)
    costs = {place: ldp(mechanism) for place, mechanism in enumerate(mechanisms)}
    composed: Composition | None = None
    rest = [ldp(mechanism) for mechanism in others]
    # What the bound cannot speak of comes first, so that it is composed exactly if anything is.
    for place in sorted(costs, key=lambda place: -costs[place]):
        more = _with_one_more(composed, mechanisms[place])
        if more is None:
            rest.append(costs[place])
        else:
            composed = more
    found = 0.0 if composed is None else float(epsilon(composed, prior))
    if any(rest):
        # Every sum of so few floats is within an ulp or two for each of them.
        limits = [*costs.values(), *(ldp(mechanism) for mechanism in others)]
        found = min(math.fsum([found, *rest]), math.fsum(limits)) * (1 + 2.0**-50)
        if capped and prior is prior.nominal:
            found = min(found, _whatever_is_told(prior.nominal, rounded_sum(limits)))
    return Together(found, not any(rest), 1 if composed is None else composed.count_vectors)


def _whatever_is_told(prior: Prior, limit: float) -> float:
    """The most that outcomes of so much LDP tell: P(y) ≥ P(y|x)·(π_x + (1-π_x)e^-L), rounded up."""
    rarest = min(mass for mass in prior.fractions if mass)
    never_less = Fraction(math.exp(-limit) * (1 - 2.0**-50))
    return min(prior.epsilon_max, log_upper(1 / (rarest + (1 - rarest) * never_less)))


def _is_small(mechanisms: Sequence[Mechanism]) -> bool:
    return sum(math.prod(one.shape) for one in mechanisms) <= _ENTRIES


def _with_one_more(composed: Composition | None, mechanism: Mechanism) -> Composition | None:
    """The composition with another release in it; None where it would have too many outcomes to list."""
    if mechanism.shape[1] > MOST_OF_ONE:
        return None
    more = compose(mechanism) if composed is None else compose(composed, mechanism)
    return more if more.count_vectors <= MOST_OUTCOMES and more.enumerable else None


def rounded_sum(limits: Iterable[float]) -> float:
    """Return the sum of leakages, rounded up by more than the additions can be off."""
    total = math.fsum(limits)
    return total * (1 + 2.0**-50) if math.isfinite(total) else total
