"""The leakage of a mechanism for the true prior, from a sample, without a set of priors.

For a fixed mechanism only the M numbers q_j = E p(y_j | X) must be bounded from below: a sample that had no part in
choosing the mechanism bounds them at level δ/M each, and ε' = max_j log(max_i p_ij / bound_j).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.guarantee import KNEW_THE_TRUE_PRIOR, at_most, lift_above, no_guess
from leakwise.leakage.bounds.mean import BOUNDS, best_bet, betting, clopper_pearson
from leakwise.leakage.measures.arguments import checked
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, as_prior
from leakwise.priors.sample import counts_of, log_up
from leakwise.priors.sets.around_estimate import checked_failure
from leakwise.types import Counts, Floats

__all__ = ["SampleLeakage", "epsilon_from_sample"]


# Entries of a column that differ by less than this, relatively to its span, are the same up to rounding.
_SAME = 1e-9


@dataclass(frozen=True, repr=False)
class SampleLeakage(Shown):
    """What a sample proves about a mechanism.

    Attributes
    ----------
    mechanism
        The mechanism, chosen without looking at the sample.
    epsilon
        ε', in nats: with probability at least 1 - ``failure`` over the sample the mechanism is ε'-PML for the true
        prior. It is itself random: with a target, release only if it is within.
    output_bounds
        For each outcome the lower bound on its probability under the true prior.
    failure, samples, method
        The probability of being wrong, the size of the sample, and the bound that was used.
    """

    mechanism: Mechanism
    epsilon: float
    output_bounds: Floats
    failure: float
    samples: int
    method: str

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        if math.isinf(self.epsilon):
            return f"The {self.samples:,} samples bound the leakage of this mechanism by nothing: more are needed."
        unless = f", unless the {self.samples:,} samples mislead, which has probability at most {at_most(self.failure)}"
        return no_guess(lift_above(self.epsilon), KNEW_THE_TRUE_PRIOR, unless=unless)

    def _shown(self) -> Parts:
        rows = [
            ["ε' (nats, rounded up)", at_most(self.epsilon, 6)],
            ["failure probability", at_most(self.failure)],
            ["samples", f"{self.samples:,}"],
            ["bound", self.method],
        ]
        return [Table(["", "from a sample"], rows, self.sentence, align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon": self.epsilon,
            "output_bounds": self.output_bounds.tolist(),
            "failure": self.failure,
            "samples": self.samples,
            "method": self.method,
            "sentence": self.sentence,
        }


def epsilon_from_sample(
    mechanism: Mechanism,
    sample: Any,
    failure: object,
    *,
    method: str = "auto",
    candidates: int = 1,
    plan: Any = None,
    generator: np.random.Generator | None = None,
) -> SampleLeakage:
    """Return the ε' that an i.i.d. sample proves for the true prior, whatever that is.

    The mechanism must have been chosen without the sample: by other data, by another part of the data, or in advance.

    Parameters
    ----------
    mechanism
        The mechanism.
    sample
        The sample as an empirical prior (``Prior.from_data`` or ``Prior.from_counts``), letters never seen included.
    failure
        How often the sample may mislead; shared evenly among the outcomes.
    method
        ``"betting"``, ``"clopper-pearson"`` (after Bernoulli rounding), ``"chernoff"``, ``"maurer-pontil"``,
        ``"hoeffding"``; or ``"auto"``: Clopper-Pearson for outcomes with two values, where it is the best
        possible, betting for the rest.
    candidates
        How many mechanisms are compared on this sample; the failure is shared among them, too.
    plan
        What is expected of the sample, from other data (a prior): sharpens the bets, never the promise.
    generator
        For Bernoulli rounding in tests.

    Examples
    --------
    >>> from leakwise import Prior, k_singular
    >>> found = epsilon_from_sample(k_singular(4, 2), Prior.from_counts([2500] * 4), failure=1e-5)
    >>> print(f"{found.epsilon:.4f}")
    0.7400
    """
    known = as_prior(align_prior(as_prior(sample, name="sample"), checked(mechanism)), name="sample")
    counts = np.array(counts_of(known), dtype=np.int64)
    chance = checked_failure(failure)
    if method != "auto" and method not in BOUNDS:
        raise InvalidInput(
            f"method must be 'auto' or one of {', '.join(BOUNDS)}. Got {method!r} instead."
            + did_you_mean(method, BOUNDS)
        )
    if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        raise InvalidInput(f"candidates must be a whole number of at least 1. Got {candidates!r} instead.")
    expected = None if plan is None else as_prior(align_prior(as_prior(plan, name="plan"), mechanism), name="plan")
    columns = mechanism.matrix.T
    largest, smallest = columns.max(axis=1), columns.min(axis=1)
    uneven = int((largest > smallest).sum())
    log_level = -log_up(Fraction(max(uneven, 1) * candidates) / chance) * (1 + 2.0**-50)
    bounds = np.zeros(len(columns))
    for place, (column, low, high) in enumerate(zip(columns, smallest, largest, strict=True)):
        if high == low:
            bounds[place] = low * (1 - 2.0**-50)
            continue
        upper = column >= high - _SAME * (high - low)
        if (upper | (column <= low + _SAME * (high - low))).all():
            # Two values but for the last digits: rounded down to exactly two, for which there is a sharper bound.
            high = float(column[upper].min())
            column = np.where(upper, high, low)
        values = np.clip((column - low) / (high - low), 0.0, 1.0)
        mean = _bound(values, counts, log_level, method, expected, generator)
        bounds[place] = (low + (high - low) * mean) * (1 - 2.0**-45)
    possible = largest > 0
    with np.errstate(divide="ignore"):
        leakage = np.log(largest[possible] / bounds[possible])
    found = max(0.0, float(leakage.max())) * (1 + 2.0**-45)
    found = 0.0 if not uneven else found + 2.0**-48
    return SampleLeakage(mechanism, found, bounds, float(chance), int(counts.sum()), method)


def _bound(
    values: Floats,
    counts: Counts,
    log_level: float,
    method: str,
    plan: Prior | None,
    generator: np.random.Generator | None,
) -> float:
    two_valued = bool(((values == 0) | (values == 1)).all())
    if method == "clopper-pearson" or (method == "auto" and two_valued):
        return clopper_pearson(values, counts, log_level, generator)
    if method in ("auto", "betting"):
        bet = None
        if plan is not None:
            # A letter that the plan never saw is given a little: a bet on certainty would lose everything.
            law = (plan.probabilities + 1e-6) / (1 + 1e-6 * len(plan))
            bet = best_bet(values, law, int(counts.sum()), log_level)
        return betting(values, counts, log_level, bet)
    return BOUNDS[method](values, counts, log_level)
