"""The arguments of a release: refused where they contradict each other, before anything is read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Alphabet, as_alphabet
from leakwise.errors import InvalidInput, LeakwiseWarning, did_you_mean, some_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Prior, PriorByStratum, PriorSet, over_letters
from leakwise.priors.sets.noisy import checked_cost
from leakwise.tables.kinds.joint_columns import Product
from leakwise.tables.release.secret_columns import check_mechanism as check_one

__all__ = [
    "PRIOR_WORDS",
    "Accuracy",
    "asked_accuracy",
    "check_costs",
    "check_mechanism",
    "check_prior",
    "check_use",
    "declared_values",
    "prior_in_words",
    "public_prior",
]

_USES = ("statistics", "reading")
PRIOR_WORDS = ("uniform", "unknown")
"""The priors that are known by a word: every value is as likely as any other, and every prior is possible."""


def check_use(use: Any) -> None:
    """Refuse a use that there is none of."""
    if use not in _USES:
        raise InvalidInput(
            f"use (--for) must be 'statistics' or 'reading'. Got {use!r} instead.{did_you_mean(use, _USES)}"
        )


def check_mechanism(mechanism: Any) -> None:
    """Refuse what is neither a mechanism nor one by strata; None stands for one that is to be designed."""
    if mechanism is not None and not isinstance(mechanism, StratifiedMechanism):
        check_one(mechanism)


def check_prior(prior: Any, failure: Any) -> None:
    """Refuse what is no prior, and a failure probability that goes with none."""
    if prior is None:
        raise InvalidInput(
            "prior must be chosen: what is known of the secret beforehand, from public sources (a Prior, or a mapping "
            "from values to probabilities), or prior='table' with failure=… to estimate it from the table and treat "
            "that as public."
        )
    if isinstance(prior, str) and prior not in (*PRIOR_WORDS, "table"):
        raise InvalidInput(
            "prior must be a Prior, probabilities, or one of the words 'uniform', 'unknown' and 'table'. Got "
            f"{prior!r} instead.{did_you_mean(prior, (*PRIOR_WORDS, 'table'))}"
        )
    if isinstance(prior, str) and prior == "table" and failure is None:
        raise InvalidInput(
            "failure (--failure) must be given where the prior is estimated from the table: the probability that the "
            "rows mislead about it, such as 1e-6."
        )
    if failure is not None and isinstance(prior, str) and prior == "unknown":
        raise InvalidInput("failure (--failure) must not be given with prior='unknown': every prior is allowed for.")
    if failure is not None and isinstance(prior, PriorByStratum):
        raise InvalidInput("failure must not be given with priors by stratum: their sets, if any, have their own.")
    if failure is not None and isinstance(prior, PriorSet) and not isinstance(prior, Prior):
        raise InvalidInput("failure must not be given with a set of priors: the set has its own.")
    number = isinstance(failure, (int, float)) and not isinstance(failure, bool)
    if failure is not None and not (number and 0 < failure < 1):
        raise InvalidInput(f"failure must be a probability strictly between 0 and 1. Got {failure!r} instead.")


# With fewer rows one person moves a frequency by more than a percent, which rounding does not hide.
_TELLING = 100


def check_costs(prior: Any, least_rows: Any, prior_cost: Any) -> Fraction | None:
    """Return what a prior from the table may cost, exact; refuse a cost of any other."""
    if isinstance(least_rows, bool) or not isinstance(least_rows, int) or least_rows < 1:
        raise InvalidInput(f"least_rows (--least-rows) must be a whole number, at least 1. Got {least_rows!r} instead.")
    if prior_cost is None:
        if least_rows < _TELLING and isinstance(prior, str):
            warnings.warn(
                f"least_rows (--least-rows) is {least_rows}: combinations of so few rows use their own frequencies, "
                "rounded, and the mechanism, which anyone may see, then tells of single persons. Keep 1,000, or count "
                "with noise (prior_cost, --prior-cost).",
                LeakwiseWarning,
                stacklevel=3,
            )
        return None
    if not isinstance(prior, str):
        raise InvalidInput(
            "prior_cost (--prior-cost) goes with prior='table' (--prior-from-table): a prior that is public costs "
            f"nothing. Got prior_cost={prior_cost!r}."
        )
    return checked_cost(prior_cost)


def prior_in_words(prior: Any, letters: Alphabet) -> Any:
    """Return the prior that a word stands for, over the declared values; anything else as it is."""
    if isinstance(prior, str) and prior in PRIOR_WORDS:
        return Prior.uniform(letters) if prior == "uniform" else AllPriors(letters)
    return prior


def public_prior(prior: Any, letters: Alphabet) -> PriorSet | PriorByStratum | str:
    """Return the prior over the declared values; ``"table"`` where it is to be estimated."""
    if isinstance(prior, str):
        return prior
    if isinstance(prior, PriorByStratum):
        if prior.alphabet.labels != letters.labels:
            raise InvalidInput(
                f"domain must be that of the priors by stratum, in one order: {some_of(prior.labels)}. Got "
                f"{some_of(letters.labels)}. Leave it out."
            )
        return prior
    return over_letters(_as_prior(prior), letters)


def declared_values(
    domain: Any, prior: Any, mechanism: Mechanism | StratifiedMechanism | None, column: Any
) -> Alphabet:
    """Return the declared values of the secret."""
    if domain is None:
        if mechanism is not None:
            return mechanism.input_alphabet
        if isinstance(prior, str):
            raise InvalidInput(
                "domain (--domain) must be declared: every value that can occur, such as ['no', 'yes'] (--domain "
                "no,yes, or @values.csv for a file of them), lw.bins(0, 100, 10) for numbers (bins:0,100,10). One read "
                "off the private column reveals which occur."
            )
        return prior.alphabet if isinstance(prior, PriorByStratum) else _as_prior(prior).alphabet
    if isinstance(domain, Mapping):
        columns = list(column) if isinstance(column, (list, tuple)) else [column]
        if sorted(map(str, domain)) != sorted(map(str, columns)):
            raise InvalidInput(
                f"domain must name the values of each column released together: {columns}. Got {list(domain)} instead."
            )
        return Product([as_alphabet(domain[name], name=f"the domain of {name!r}") for name in columns])
    return as_alphabet(domain, name="domain")


def _as_prior(prior: Any) -> PriorSet:
    return prior if isinstance(prior, PriorSet) else Prior(prior)


@dataclass(frozen=True)
class Accuracy:
    """What is to be known of the table, and how accurately: margins as for :func:`leakwise.design`."""

    margin: Any
    values: Any = None


def asked_accuracy(margin: Any, values: Any, lift: Any, use: str, prior_cost: Any) -> Accuracy | None:
    """Return what is to be known, None where a lift is given; refuse what a margin does not go with."""
    if margin is None:
        if values is not None:
            raise InvalidInput("values (--values) go with margin (--margin): the mean of numbers is to be known.")
        return None
    if lift is not None:
        raise InvalidInput(
            "margin (--margin) does not go with lift or epsilon: it finds the least lift. Leave one of them out."
        )
    if use != "statistics":
        raise InvalidInput(
            f"margin (--margin) goes with use='statistics' (--for statistics): it is that of estimates. Got {use!r}."
        )
    if prior_cost is not None:
        raise InvalidInput(
            "margin (--margin) does not go with prior_cost (--prior-cost): each lift that is tried would count the "
            "rows again. Find the lift without it (dry_run=True), and give that lift."
        )
    return Accuracy(margin, values)
