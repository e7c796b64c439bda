"""design_from_data(): a mechanism for a prior that is only known from a sample, with a guarantee about the true one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.table import number
from leakwise.charts.words import Kept
from leakwise.errors import (
    Infeasible,
    InvalidInput,
    LeakwiseWarning,
    NotConverged,
    check_seconds,
    did_you_mean,
    some_of,
)
from leakwise.exact import level
from leakwise.guarantee import KNEW_THE_TRUE_PRIOR, at_most, lift_above, no_guess
from leakwise.leakage import sample_size
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.mechanism import Mechanism
from leakwise.optimize.design_result import lift_chart
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.sample_strategies import STRATEGIES, Alternative, Strategies
from leakwise.priors import AllPriors, Prior
from leakwise.priors.sample import coarse_prior, counts_of
from leakwise.priors.sets.around_estimate import checked_failure, unseen_letters
from leakwise.proof import NO_LIMITS, AskedLimits, Certificate, asked_limits

__all__ = ["STRATEGIES", "Alternative", "DataDesign", "design_from_data"]

# Which strategies share the failure, and whether local differential privacy stands in where it serves better.
_CHOICES = {"best": STRATEGIES[:3], "certified": ("layer-cake",)} | {name: (name,) for name in STRATEGIES}


@dataclass(frozen=True, repr=False)
class DataDesign(Drawn):
    """A mechanism designed from a sample.

    Attributes
    ----------
    mechanism
        What to release with.
    epsilon
        With probability at least 1 - ``failure`` over the sample, the mechanism is ``epsilon``-PML for the true prior.
    value
        Its utility at the estimate.
    failure
        The probability of being wrong, everything that was tried included.
    strategy
        The way that was taken.
    certificate
        What can be stored and checked again; None for a split, whose proof is the second part of the sample itself.
    alternatives
        What the other ways would have given.
    prior
        The estimate from all data.
    limits
        Everything that was asked for.
    """

    mechanism: Mechanism
    epsilon: float
    value: float
    failure: float
    strategy: str
    certificate: Certificate | None
    alternatives: tuple[Alternative, ...]
    prior: Prior
    utility: str
    limits: AskedLimits = NO_LIMITS

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        lift = lift_above(self.epsilon)
        # The same number without the rounding of its logarithm; where they differ, the certificate knows exact counts.
        if self.certificate is not None and self.certificate.epsilon_upper == self.epsilon:
            lift = self.certificate.ratio or lift
        if self.failure:
            unless = (
                f", unless the sample of {self.prior.sample_size:,} rows misleads, which has probability at most "
                f"{at_most(self.failure)}"
            )
            anyone = None if self.limits.anyone is None else ldp_ratio(self.mechanism)
            words = no_guess(lift, KNEW_THE_TRUE_PRIOR, unless=unless, anyone=anyone) + (
                " This is about secrets drawn like the sample; the rows that were used for the design are not covered "
                "themselves."
            )
        else:
            words = no_guess(lift, AllPriors(self.prior.alphabet))
        if unseen := unseen_letters(self.prior):
            words += f" Values that the sample never showed ({some_of(unseen)}) are covered as well."
        return words

    def without_counts(self) -> DataDesign:
        """Return what a receiver may have of a design with ``rounded=True``: its sample rounded, and no certificate."""
        if self.certificate is None:
            return self  # it is one already
        known = coarse_prior(counts_of(self.prior), self.prior.alphabet)
        rounded = Prior.from_integers(known.alphabet, known.weights.tolist(), self.prior.sample_size)
        options = tuple(replace(option, certificate=None) for option in self.alternatives)
        return replace(self, prior=rounded, certificate=None, alternatives=options)

    def _shown(self) -> Parts:
        rows = [
            [
                ("→ " if option.strategy == self.strategy else "") + option.strategy,
                "" if option.mechanism is None else at_most(option.epsilon, 6),
                "" if option.mechanism is None else number(option.value, 6),
                at_most(option.failure),
                option.note,
            ]
            for option in self.alternatives
        ]
        headers = ["strategy", "ε'", self.utility, "failure probability", "note"]
        return [Table(headers, rows, Kept(self.guarantee)), self.mechanism]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture of what each outcome raises and lowers at the estimate."""
        return lift_chart(self.mechanism, self.prior)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "strategy": self.strategy,
            "epsilon": self.epsilon,
            "value": self.value,
            "utility": self.utility,
            "failure": self.failure,
            "guarantee": self.guarantee,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "alternatives": [
                {
                    "strategy": option.strategy,
                    "possible": option.mechanism is not None,
                    "epsilon": option.epsilon,
                    "value": option.value,
                    "failure": option.failure,
                    "note": option.note,
                }
                for option in self.alternatives
            ],
            "mechanism": self.mechanism.to_dict(),
        }


def design_from_data(
    column: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    failure: object,
    domain: Iterable[Label] | Alphabet | None = None,
    strategy: str = "best",
    utility: Any = "mutual_information",
    anyone: object = None,
    ldp: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    compare: bool = True,
    rounded: bool = False,
    time_limit: float = 60.0,
    seed: int | None = None,
) -> DataDesign:
    """Find the best mechanism that a sample supports: at most ε for the true prior, except with ``failure``.

    Parameters
    ----------
    column
        The sample, i.i.d. rows: a list, an array, a Series or an Arrow column with ``domain``, or an empirical Prior.
    epsilon, lift
        The leakage to keep for the true prior, in nats or as a factor.
    failure
        How often the sample may mislead.
    domain
        Every value that can occur, whether it does or not.
    strategy
        ``"split"``: design on a random half, certify on the other by bounds on the outcomes alone. ``"layer-cake"``:
        design at the estimate for a smaller ε, certified for all sets of letters at once. ``"ball"``: the robust
        optimum on the l1 ball. ``"conservative"``: the design of the estimate at the ε that serves the whole ball.
        ``"best"``: the most useful of the first three, each at a third of the failure; and local differential privacy,
        which needs no sample. ``"certified"``: layer cake at the whole failure, or local differential privacy where
        that serves better: both leave a certificate.
    utility
        As for ``lw.design``; taken at the estimate.
    anyone, ldp, lift_of, ceiling, floor
        Further limits, as for ``lw.design``. That for anyone needs no sample; those of single values are kept for
        every prior that the sample leaves possible.
    compare
        Whether to work out the other strategies, too, for the table of alternatives.
    rounded
        Use nothing but frequencies rounded to about one part in √n, so that the mechanism can be published without any
        exact count: what is proven holds for every sample that rounds to them. For the strategies ``"certified"`` and
        ``"layer-cake"``; the others are not compared.
    time_limit
        Seconds that the designs share. When they run out, the best found so far is returned, with a warning.
    seed
        For tests only: how the sample is split.

    Examples
    --------
    >>> d = design_from_data(Prior.from_counts({"no": 7000, "yes": 3000}), lift=2, failure=1e-6)
    >>> d.epsilon <= 0.6931471805599453, d.strategy
    (True, 'layer-cake')
    """
    if not isinstance(strategy, str) or strategy not in _CHOICES:
        raise InvalidInput(
            f"strategy must be one of {', '.join(_CHOICES)}. Got {strategy!r} instead."
            + did_you_mean(strategy, _CHOICES)
        )
    if rounded and strategy not in ("certified", "layer-cake"):
        raise InvalidInput(
            f"rounded needs strategy='certified' or 'layer-cake': the others rest on exact counts. Got {strategy!r}."
        )
    check_seconds(time_limit)
    prior = _sample(column, domain)
    limits = asked_limits(epsilon, lift, anyone=anyone, ldp=ldp, lift_of=lift_of, ceiling=ceiling, floor=floor)
    goal, chance = as_utility(utility, averaged=True), checked_failure(failure)
    limits = limits.on(prior.alphabet)
    ways = Strategies(prior, limits, goal, np.random.default_rng(seed), rounded=rounded, seconds=time_limit)
    wanted = _CHOICES[strategy]
    tried = [ways.attempt(name, chance / len(wanted)) for name in wanted]
    fallback = ways.attempt("all priors", Fraction(0))
    anyhow = [fallback] if strategy in ("best", "certified") else []
    possible = [option for option in (*tried, *anyhow) if option.mechanism]
    if not possible and ways.limits.exhausted:
        raise NotConverged(
            f"No mechanism was found within time_limit={time_limit:g} s. Allow more time.", lower=0.0, upper=math.inf
        )
    if not possible:
        why = _no_room if limits.by_value else _too_few
        raise Infeasible(why(prior, limits, chance, tried[0].note), witness=tried[0])
    best = max(possible, key=lambda option: option.value)
    others = [option for option in (*tried, fallback) if option is not best]
    if compare and not rounded:
        done = {option.strategy for option in (best, *others)}
        left = [name for name in STRATEGIES if name not in done]
        others += [ways.attempt(name, chance) for name in left if not ways.limits.exhausted]
    if ways.limits.stopped:
        warnings.warn(
            f"The time limit of {time_limit:g} s was reached: a search was cut short, a better mechanism may exist. "
            "What it leaks is proven all the same. Allow more time (time_limit=).",
            LeakwiseWarning,
            stacklevel=2,
        )
    paid = 0.0 if best is fallback else float(chance)
    assert best.mechanism is not None
    return DataDesign(
        best.mechanism,
        best.epsilon,
        best.value,
        paid,
        best.strategy,
        best.certificate,
        (best, *others),
        prior,
        goal.name,
        limits,
    )


def _sample(column: Any, domain: Iterable[Label] | Alphabet | None) -> Prior:
    if isinstance(column, Prior):
        if domain is not None:
            raise InvalidInput("domain must not be given with a Prior: its values are the domain.")
        counts_of(column)
        return column
    if domain is None:
        raise InvalidInput("domain must be declared: the list of values that can occur, whether they do or not.")
    return Prior.from_data(column, domain)


def _no_room(prior: Prior, limits: AskedLimits, failure: Fraction, note: str) -> str:
    return (
        f"No mechanism was found that keeps {limits.describe()} for every prior that the {prior.sample_size:,} rows "
        f"leave possible, except with probability {at_most(failure)}: {note.removesuffix('.')}. More rows or a larger "
        "failure probability leave fewer priors possible."
    )


def _too_few(prior: Prior, limits: AskedLimits, failure: Fraction, note: str) -> str:
    samples, asked = prior.sample_size, level(limits.level)
    try:
        needed = sample_size(len(prior), asked.epsilon / 2, asked.epsilon, failure=failure)
        more = f" From {needed:,} samples on half of the leakage can be spent at the estimate."
    except InvalidInput:
        more = ""
    return (
        f"{samples:,} samples over {len(prior)} letters are too few for {asked.words} at failure {float(failure):g} "
        f"({note}).{more} Local differential privacy needs no sample: lw.randomized_response(labels, epsilon)."
    )
