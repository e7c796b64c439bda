"""Both sides of the information density, and what a level of leakage allows a column to look like."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from leakwise.exact import log_upper
from leakwise.leakage.measures.arguments import TINY, ULP, checked, is_small, single_prior
from leakwise.leakage.measures.pointwise import epsilon as pml_epsilon
from leakwise.mechanism import Mechanism
from leakwise.priors import as_prior

__all__ = ["InformationPrivacy", "local_information_privacy", "zeros_allowed"]


class InformationPrivacy(NamedTuple):
    """How far the information density log λ strays from 0, in nats: upwards, and downwards."""

    upper: float
    lower: float

    @property
    def epsilon(self) -> float:
        """The ε of ε-local information privacy: the larger of both sides."""
        return max(self.upper, self.lower)


def local_information_privacy(mechanism: Mechanism, prior: Any) -> InformationPrivacy:
    """Return both sides of the information density log λ_ij over the support, in nats, never below the truth.

    ``upper`` is max log λ, the ε of PML: how much more likely a letter can become. ``lower`` is max -log λ: by how much
    it can become less likely, infinite when an outcome rules a letter out. ε-local information privacy holds for
    ε = max of both, and implies 2ε-LDP among the letters of the support. Letters of mass zero are not looked at: where
    the prior has such, ``lw.ldp``, which compares all letters, can be larger, even infinite.

    >>> from leakwise import Prior, randomized_response
    >>> both = local_information_privacy(randomized_response(2, lift=3), Prior.uniform(2))
    >>> print(f"{both.upper:.4f} {both.lower:.4f}")
    0.4055 0.6931
    """
    known = single_prior(prior, checked(mechanism))
    kernel = mechanism.kernel
    upper = float(pml_epsilon(mechanism, known))
    smallest, largest = kernel.column_min(known.support), kernel.column_max(known.support)
    if bool(((smallest == 0) & (largest > 0)).any()):
        return InformationPrivacy(upper, math.inf)
    mass = kernel.output_law_floats(known.weights, known.denominator)
    if is_small(mechanism) or bool(((mass < TINY) & (largest > 0)).any()):
        masses = kernel.output_law(known.weights)
        ratios = [
            Fraction(total, int(least) * known.denominator)
            for total, least in zip(masses, smallest, strict=True)
            if total
        ]
        return InformationPrivacy(upper, log_upper(max(ratios)))
    possible = largest > 0
    ratio = float((mass[possible] / (smallest[possible] / kernel.denominator)).max())
    slack = (mechanism.shape[0] + 32) * ULP
    return InformationPrivacy(upper, float(np.log(max(ratio, 1.0))) * (1 + 2 * ULP) + slack)


def zeros_allowed(prior: Any, epsilon: object = None, *, lift: object = None) -> int:
    """Return how many letters an outcome may rule out while its leakage stays within ε ([EX] Lemma 2).

    One less than the privacy region of ε: in region k a column has at most k-1 zeros, over the letters of the support.

    >>> from leakwise import Prior
    >>> zeros_allowed(Prior.uniform(4), lift=1.9), zeros_allowed(Prior.uniform(4), lift=2)
    (1, 2)
    """
    return as_prior(prior).region(epsilon, lift=lift) - 1
