"""A release compared with randomized response at the same leakage: what each is worth to the analyst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakwise.leakage import epsilon as epsilon_of
from leakwise.leakage import mutual_information
from leakwise.mechanism import Mechanism, randomized_response
from leakwise.priors import Prior
from leakwise.types import Bools, Floats

__all__ = [
    "Comparison",
    "Part",
    "Worth",
    "compare",
    "compare_parts",
    "outcome_weights",
    "pooled_worth",
    "response",
    "worth",
]

# More people than there will be: nobody gathers so many rows.
_MOST_ROWS_NEEDED = 10**12


@dataclass(frozen=True)
class Worth:
    """What a mechanism is worth.

    Attributes
    ----------
    standard_error
        Expected for the estimated frequency of each value; None where the outcomes do not determine all of them.
    rows_worth
        How many rows without randomization say as much about the frequencies as one released row.
    agreement
        How often the outcome is the true value, where the outcomes are values at all.
    information
        The mutual information of value and outcome in nats.
    """

    standard_error: list[float] | None
    rows_worth: float | None
    agreement: float | None
    information: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "standard_error": self.standard_error,
            "rows_worth": self.rows_worth,
            "agreement": self.agreement,
            "information": self.information,
        }


@dataclass(frozen=True)
class Comparison:
    """This mechanism, randomized response at the same leakage, and no randomization.

    Attributes
    ----------
    frequencies
        How often each value is expected among all rows, by the priors.
    rows
        How many rows there are.
    """

    ours: Worth
    randomized_response: Worth
    plain_standard_error: list[float]
    frequencies: list[float]
    rows: int

    @property
    def told(self) -> list[bool] | None:
        """Whether each value is told from none at all: twice its standard error is at most its frequency."""
        errors = self.ours.standard_error
        if errors is None:
            return None
        return [mass > 0 and 2 * error <= mass for error, mass in zip(errors, self.frequencies, strict=True)]

    @property
    def rows_needed(self) -> list[int | None] | None:
        """From about how many rows each value is told, rounded up to two digits; None for one that never is."""
        errors = self.ours.standard_error
        if errors is None:
            return None
        return [_needed(self.rows, error, mass) for error, mass in zip(errors, self.frequencies, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "this_release": self.ours.to_dict(),
            "randomized_response_at_the_same_leakage": self.randomized_response.to_dict(),
            "unrandomised_standard_error": self.plain_standard_error,
            "rows_needed": self.rows_needed,
        }


@dataclass(frozen=True)
class Part:
    """Rows that one mechanism draws for: the prior of their values, how many rows, and which values they can have."""

    mechanism: Mechanism
    prior: Prior
    rows: int
    support: Bools | None = None

    @property
    def matrix(self) -> Floats:
        """The probabilities of the outcomes for the values that can occur."""
        matrix: Floats = self.mechanism.matrix
        return matrix if self.support is None else matrix[self.support]

    @property
    def masses(self) -> Floats:
        """The prior of the values that can occur."""
        masses: Floats = self.prior.probabilities
        return masses if self.support is None else masses[self.support]

    def spread(self, values: Floats) -> Floats:
        """Return numbers for the values that can occur over all values, zero elsewhere."""
        if self.support is None:
            return values
        found = np.zeros(self.support.size)
        found[self.support] = values
        return found


def compare(mechanism: Mechanism, prior: Prior, epsilon: float, rows: int) -> Comparison:
    """Return what the release is worth compared with randomized response that leaks as much ([EX] (9))."""
    return compare_parts([Part(mechanism, prior, rows)], epsilon, rows)


def compare_parts(parts: Sequence[Part], epsilon: float, rows: int) -> Comparison:
    """Return the same for a table whose strata have mechanisms of their own, over all rows together."""
    plain = sum(part.rows * part.prior.probabilities * (1 - part.prior.probabilities) for part in parts)
    others = [replace(part, mechanism=response(part.mechanism, part.prior, epsilon)) for part in parts]
    masses = np.asarray(sum(part.rows * part.prior.probabilities for part in parts)) / rows
    errors = np.sqrt(plain) / rows
    return Comparison(pooled_worth(parts, rows), pooled_worth(others, rows), errors.tolist(), masses.tolist(), rows)


def _needed(rows: int, error: float, mass: float) -> int | None:
    """The rows at which twice a standard error is the frequency: it falls with the square root of the rows."""
    relative = 2 * error / mass if mass > 0 else math.inf
    least = rows * relative * relative
    if not least <= _MOST_ROWS_NEEDED:
        return None
    step: int = 10 ** max(0, len(str(math.ceil(least))) - 2)
    return max(1, math.ceil(least / step) * step)


def response(mechanism: Mechanism, prior: Prior, limit: float) -> Mechanism:
    """Return randomized response that leaks what the mechanism does at this prior.

    That may be less than the limit: a mechanism that holds for every prior that the rows leave possible keeps away from
    it at the likeliest one, and randomized response at the full limit there would break it elsewhere.
    """
    own = min(limit, epsilon_of(mechanism, prior))
    return randomized_response(prior.alphabet.labels, pml=own, prior=prior)


def worth(mechanism: Mechanism, prior: Prior, rows: int) -> Worth:
    """Return what a mechanism is worth when the values follow the prior."""
    return pooled_worth([Part(mechanism, prior, rows)], rows)


def pooled_worth(parts: Sequence[Part], rows: int) -> Worth:
    r"""Return what mechanisms of several strata are worth together, with the strata's sizes known.

    The most likely frequencies have asymptotic covariance :math:`\sum_u (n_u/n)^2 (J_u^{-1} - p_u p_u^T)/n_u` with
    :math:`J = \sum_j P_j P_j^T / q_j` (the mathematics, section 8).
    """
    variances = [_variances(part.matrix, part.masses) for part in parts]
    agreements = [_agreement(part) for part in parts]
    information = sum(part.rows * mutual_information(part.mechanism, part.prior) for part in parts) / rows
    agreement = None
    if all(one is not None for one in agreements):
        agreement = sum(part.rows * (one or 0.0) for part, one in zip(parts, agreements, strict=True)) / rows
    if any(one is None for one in variances):
        return Worth(None, None, agreement, information)
    errors = sum(part.rows * part.spread(one) for part, one in zip(parts, variances, strict=True) if one is not None)
    plain = sum(part.rows * float((part.masses * (1 - part.masses)).sum()) for part in parts)
    total = float(np.sum(errors))
    return Worth((np.sqrt(errors) / rows).tolist(), plain / total if total > 0 else 1.0, agreement, float(information))


def _agreement(part: Part) -> float | None:
    """How often the outcome is the true value; None where outcomes are not values."""
    mechanism, p = part.mechanism, part.prior.probabilities
    if not set(mechanism.outputs) <= set(mechanism.inputs):
        return None
    index = {label: place for place, label in enumerate(mechanism.outputs)}
    return float(sum(p[i] * mechanism.matrix[i, index[x]] for i, x in enumerate(mechanism.inputs) if x in index))


def _variances(matrix: Floats, p: Floats) -> Floats | None:
    """The variances of the frequencies for one row, or None where the outcomes do not determine them."""
    inverse = _inverse_information(matrix, p)
    return None if inverse is None else np.maximum(np.diag(inverse) - p**2, 0.0)


def outcome_weights(matrix: Floats, p: Floats) -> Floats | None:
    """Return a weight of each outcome (column) for each value (row), whose mean over released rows is its frequency.

    At the prior no other weights have less variance. None where the outcomes do not determine the frequencies.
    """
    inverse, law = _inverse_information(matrix, p), p @ matrix
    return None if inverse is None else inverse @ np.divide(matrix, law, out=np.zeros_like(matrix), where=law > 0)


def _inverse_information(matrix: Floats, p: Floats) -> Floats | None:
    law = p @ matrix
    columns = matrix[:, law > 0]
    values, vectors = np.linalg.eigh((columns / law[law > 0]) @ columns.T)
    if values[0] <= 1e-10 * values[-1]:
        return None
    inverse: Floats = (vectors / values) @ vectors.T
    return inverse
