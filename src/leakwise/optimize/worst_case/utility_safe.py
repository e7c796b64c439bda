"""The utility-safe mechanism of [WC]: uniform on what is allowed, in linear time, and whether that is optimal here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.words import Kept
from leakwise.exact import round_integer_rows
from leakwise.guarantee import at_most
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.problem.utility_matrix import utility_matrix
from leakwise.optimize.worst_case.least_leakage import LeastLeakage, on_mask
from leakwise.optimize.worst_case.mask import Levels, Mask
from leakwise.priors import PriorSet, as_prior_set
from leakwise.proof import Certificate, certify

__all__ = ["UtilitySafe", "safe_on", "utility_safe"]

# Two leakages closer than this are the same for the question whether the mechanism is optimal.
_SAME = 1e-9


@dataclass(frozen=True, repr=False)
class UtilitySafe(Drawn):
    """The utility-safe mechanism for a threshold.

    Attributes
    ----------
    mechanism
        Row i is uniform on its n_i allowed outputs, exact (over the least common multiple of the n_i where that is
        below 2^60). For a release use ``mechanism.dyadic(60)`` and certify it again.
    epsilon
        What it leaks, proven, rounded up: max_j log(max_{i∈A_j} (1/n_i) / Σ_{i∈A_j} π_i/n_i). Where all n_i are equal
        this is -log min_j π(A_j) ([WC] Corollary 1).
    certificate
        The proof of it.
    optimal
        Whether no mechanism on the same mask leaks less (by more than 1e-9): decided by a lower bound where that is
        enough, else by :func:`least_leakage`.
    least
        The mechanism that leaks least on the same mask.
    """

    mechanism: Mechanism
    certificate: Certificate
    mask: Mask
    prior: PriorSet

    @property
    def epsilon(self) -> float:
        """What it leaks, in nats, rounded up."""
        return self.certificate.epsilon_upper

    @cached_property
    def optimal(self) -> bool:
        """Whether no mechanism on the same mask leaks less."""
        return self.epsilon <= self._bottleneck + _SAME or self.epsilon <= self.least.epsilon + _SAME

    @cached_property
    def least(self) -> LeastLeakage:
        """The mechanism that leaks least on the same mask."""
        return on_mask(self.prior, self.mask)

    @property
    def _bottleneck(self) -> float:
        """log max_i min_{j allowed} 1/π(A_j): no mechanism on the mask leaks less."""
        support = np.asarray(self.prior.support, dtype=np.bool_)
        mass = self.prior.least_mass(self.mask.allowed.astype(np.float64))
        with np.errstate(divide="ignore"):
            ratio = np.where(mass > 0, 1.0 / mass, np.inf)
        best = np.where(self.mask.allowed[support], ratio, np.inf).min(axis=1)
        # The masses are rounded down, so that the bound is high by some units in the last place: far below _SAME.
        return math.log(float(best.max())) if np.isfinite(best).all() else math.inf

    def _shown(self) -> Parts:
        rows = [
            ["mask", self.mask.words],
            ["proven ε (nats)", at_most(self.epsilon, 6)],
            ["optimal on its mask", "yes" if self.optimal else f"no: least ε is {at_most(self.least.epsilon, 6)}"],
        ]
        title = Kept(f"Utility-safe mechanism. {self.certificate.sentence}")
        return [Table(["", "utility-safe"], rows, title), self.mechanism]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture of the mechanism."""
        return self.mechanism.chart()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the numbers, the certificate and the mechanism."""
        return {
            "epsilon": float(self.epsilon),
            "optimal": self.optimal,
            "mask": self.mask.words,
            "certificate": self.certificate.to_dict(),
            "mechanism": self.mechanism.to_dict(),
        }


def utility_safe(prior: Any, utility: Any, threshold: object, *, by: str = "value", outputs: Any = None) -> UtilitySafe:
    """Return the mechanism that is uniform on the outputs at or above a threshold ([WC] Theorem 1), with what it leaks.

    Parameters
    ----------
    prior
        A prior, or a set of priors.
    utility
        u_ij, what output j is worth when the letter is i: values, or an order matrix with ranks (1 is worst).
    threshold
        Outputs with u_ij at or above it are allowed.
    by
        ``"value"`` compares the entries as they are (also right for a matrix of ranks); ``"order"`` ranks them first.
    outputs
        Labels of the outputs; the letters themselves for a square matrix.

    Examples
    --------
    >>> safe = utility_safe([0.5, 0.25, 0.25], [[3, 2, 1], [1, 3, 2], [2, 1, 3]], threshold=2)
    >>> safe.mechanism.matrix.tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    >>> print(f"{safe.epsilon:.6f}", safe.optimal)
    0.693147 True
    """
    priors = as_prior_set(prior)
    values, names = utility_matrix(utility, outputs)
    return safe_on(priors, Levels(values, by, names).checked(threshold, priors))


def safe_on(priors: PriorSet, mask: Mask) -> UtilitySafe:
    """Return the utility-safe mechanism on a checked mask."""
    counts = mask.allowed.sum(axis=1).tolist()
    common = 1
    for count in set(counts):
        common = math.lcm(common, count)
        if common > 1 << BITS:
            break
    used = np.flatnonzero(mask.allowed.any(axis=0))
    allowed = mask.allowed[:, used]
    if common <= 1 << BITS:
        weights = np.where(allowed, np.array([common // count for count in counts], dtype=np.int64)[:, None], 0)
        kernel = DenseKernel(weights, common)
    else:
        rows = [round_integer_rows(row[None, :].astype(np.object_), int(row.sum()), BITS)[0] for row in allowed]
        kernel = DenseKernel(np.array(rows), 1 << BITS)
    mechanism = mask.mechanism(kernel, used, priors.alphabet)
    return UtilitySafe(mechanism, certify(mechanism, priors), mask, priors)
