"""utility(): what any mechanism is worth, in the same numbers as a design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput
from leakwise.exact import float_below
from leakwise.leakage.measures.arguments import checked
from leakwise.mechanism import AnyMechanism, CodeKernel, CommonLawKernel, Kernel, SetMechanism, StratifiedMechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.optimize.comparison.sets import worth_of_sets
from leakwise.optimize.problem.labelled_utilities import Guessing
from leakwise.optimize.problem.utilities import FInformation, Frequencies, as_utility
from leakwise.optimize.problem.utility import Utility, with_mass
from leakwise.optimize.search.frequencies.codes import unbiased_value
from leakwise.priors import Prior, PriorByStratum, as_prior_set
from leakwise.types import Indices

__all__ = ["utility"]

_INVERTED = 1200  # letters, up to which the frequencies are a matter of a matrix and its inverse


def utility(mechanism: AnyMechanism, prior: Any, utility: Any = "mutual_information") -> float:
    """Return what a mechanism is worth for a prior, rounded down: the number that a design of it reports.

    Parameters
    ----------
    mechanism
        Any mechanism; a :class:`StratifiedMechanism` with a :class:`PriorByStratum`, for the mean over the strata.
    prior
        A Prior, a list of probabilities, or a mapping from labels; of a set of priors the nominal one counts.
    utility
        By name or object, as for :func:`leakwise.design`. ``"frequencies"`` is minus the sum of the variances of the
        estimated frequencies for one released row (divide by the number of rows), and -∞ where the outcomes do not
        tell them. ``lw.Expected`` and ``lw.WorstCase`` value what an outcome says; where outcomes have other names
        than the utility's, what is best said after each.

    Examples
    --------
    >>> from leakwise import randomized_response
    >>> m = randomized_response(["a", "b", "c"], lift=3)
    >>> print(f"{utility(m, [0.5, 0.3, 0.2], 'frequencies'):.4f}")
    -4.1200
    >>> print(f"{utility(m, [0.5, 0.3, 0.2], 'guessing'):.4f}")
    0.6000
    """
    goal = as_utility(utility)
    if isinstance(mechanism, StratifiedMechanism):
        return _over_strata(mechanism, prior, goal)
    if isinstance(mechanism, SetMechanism):
        return worth_of_sets(mechanism, align_prior(as_prior_set(prior).nominal, mechanism).nominal, goal)
    known, kernel = as_prior_set(prior).nominal, checked(mechanism).kernel
    if isinstance(goal, FInformation | Guessing) or type(goal) is Frequencies:  # for these values have no order
        return _worth(kernel, align_prior(known, mechanism).nominal, goal)
    order = known.alphabet.positions_in(mechanism.input_alphabet, mine="prior", theirs="mechanism")
    return _worth(kernel if order is None else kernel.take_rows(order), known, goal, mechanism.outputs)


@np.errstate(all="ignore")  # as for a design: infinities that come of tiny masses are worth nothing
def _worth(kernel: Kernel, known: Prior, goal: Utility, outcomes: Sequence[Label] = ()) -> float:
    """Return what a kernel is worth for a prior in the order of its rows, rounded down."""
    value = -math.inf
    if type(goal) is Frequencies and isinstance(kernel, CodeKernel | CommonLawKernel):
        value = unbiased_value(kernel, known)  # exact for a common law, else a number that the truth is not below
        if len(known) > _INVERTED:
            return value
    if isinstance(kernel, CommonLawKernel) and goal.structured:
        value = goal.interval(kernel, known)[0]  # a value without mass adds nothing
    else:
        says, restricted = _said(outcomes, known, goal), goal.restricted(known)
        rows = kernel if known.support.all() else kernel.take_rows(np.flatnonzero(known.support))
        value = max(value, restricted.interval(rows, with_mass(known), says)[0])
    return -math.inf if math.isnan(value) else value


def _said(outcomes: Sequence[Label], known: Prior, goal: Utility) -> Indices | None:
    """What the outcomes say, for utilities of what is said; None where some have other names."""
    if not goal.said:
        return None
    places = {label: place for place, label in enumerate(goal.says(known).labels)}
    found = [places.get(label, -1) for label in outcomes]
    return None if -1 in found else np.array(found)


def _over_strata(mechanism: StratifiedMechanism, priors: Any, goal: Utility) -> float:
    if not isinstance(priors, PriorByStratum) or priors.given_columns != mechanism.given_columns:
        raise InvalidInput(
            "prior must be a lw.PriorByStratum by the given columns of the mechanism, "
            f"{mechanism.given_columns.words}. Got {type(priors).__name__} instead."
        )
    values = {key: utility(mechanism[key], priors[key], goal) for key in priors}
    if not all(map(math.isfinite, values.values())):
        return sum(values.values())
    return float_below(sum((priors.weights[key] * Fraction(value) for key, value in values.items()), Fraction(0)))
