"""A release compared with randomized response at the same leakage: what each is worth to the analyst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.leakage import mutual_information
from leakwise.mechanism import Mechanism, randomized_response
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Comparison", "Worth", "compare", "worth"]


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
    """This mechanism, randomized response at the same leakage, and no randomization."""

    ours: Worth
    randomized_response: Worth
    plain_standard_error: list[float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "this_release": self.ours.to_dict(),
            "randomized_response_at_the_same_leakage": self.randomized_response.to_dict(),
            "unrandomised_standard_error": self.plain_standard_error,
        }


def compare(mechanism: Mechanism, prior: Prior, epsilon: float, rows: int) -> Comparison:
    """Return what the release is worth compared with randomized response that leaks as much ([EX] (9))."""
    other = randomized_response(prior.alphabet.labels, pml=epsilon, prior=prior)
    p = prior.probabilities
    plain = np.sqrt(p * (1 - p) / rows)
    return Comparison(worth(mechanism, prior, rows), worth(other, prior, rows), plain.tolist())


def worth(mechanism: Mechanism, prior: Prior, rows: int) -> Worth:
    r"""Return what a mechanism is worth when the values follow the prior.

    From n rows the most likely frequencies have asymptotic covariance :math:`(J^{-1} - pp^T)/n` with
    :math:`J = \sum_j P_j P_j^T / q_j`.
    """
    p = prior.probabilities
    errors = _variances(mechanism.matrix, p)
    index = {label: place for place, label in enumerate(mechanism.outputs)}
    agreement = None
    if set(mechanism.outputs) <= set(mechanism.inputs):
        agreement = float(
            sum(p[i] * mechanism.matrix[i, index[x]] for i, x in enumerate(mechanism.inputs) if x in index)
        )
    information = mutual_information(mechanism, prior)
    if errors is None:
        return Worth(None, None, agreement, information)
    plain = float((p * (1 - p)).sum())
    total = float(errors.sum())
    return Worth(np.sqrt(errors / rows).tolist(), plain / total if total > 0 else 1.0, agreement, information)


def _variances(matrix: Floats, p: Floats) -> Floats | None:
    """The variances of the frequencies for one row, or None where the outcomes do not determine them."""
    law = p @ matrix
    columns = matrix[:, law > 0]
    information = (columns / law[law > 0]) @ columns.T
    values, vectors = np.linalg.eigh(information)
    if values[0] <= 1e-10 * values[-1]:
        return None
    variances: Floats = np.maximum((vectors**2 / values).sum(axis=1) - p**2, 0.0)
    return variances
